/**
 * Plays a trace against a fleet of real nodes: each request goes to the node that the trace names,
 * at the time that the trace names, whether earlier ones have been answered or not. Every byte of
 * every answer is checked.
 *
 * Requests follow the clock of the trace, and not each other, because a simulation does the same:
 * what overlaps in the trace overlaps in both. We refused to send each request when the one before
 * is answered. Then the summaries, which are paced by time, would be as old as the machine is
 * slow. A request is never sent early. On a busy machine some are late, and `latestMs` says how
 * much: a run whose latest request is later than summaries are old measures the machine.
 */

import { Agent } from 'node:http';
import { knownPath } from '../origins/known-body.ts';
import { checkedGet } from './checked-get.ts';

/** One request of a trace, as the simulation of the cache has it. */
export interface PlayedRequest {
  readonly timeMs: number;
  readonly node: number;
  readonly object: number;
  readonly bytes: number;
}

export interface PlayedTrace {
  readonly requests: number;
  readonly bytes: number;
  /** Answers that were cut, or had another status than 200. */
  readonly broken: number;
  /** Faults of answers that looked whole. */
  readonly wrong: readonly string[];
  /** Time from the first request to the last answer. */
  readonly tookMs: number;
  /** The longest time by which a request was sent later than the trace says. */
  readonly latestMs: number;
}

export async function playTrace(
  nodes: readonly { readonly port: number }[],
  trace: Iterable<PlayedRequest>,
): Promise<PlayedTrace> {
  const agent = new Agent({ keepAlive: true });
  const answers: Promise<void>[] = [];
  const wrong: string[] = [];
  let bytes = 0;
  let broken = 0;
  let latestMs = 0;
  const began = performance.now();
  for (const { timeMs, node, object, bytes: size } of trace) {
    const early = began + timeMs - performance.now();
    if (early > 0) await pause(early);
    latestMs = Math.max(latestMs, performance.now() - began - timeMs);
    const asked = checkedGet(nodes[node]!.port, tracePath(object, size), { agent });
    answers.push(
      asked.then((answer) => {
        bytes += answer.bytes;
        if (answer.status !== 200 || !answer.isWhole) broken++;
        if (answer.wrong !== null) wrong.push(answer.wrong);
      }),
    );
  }
  await Promise.all(answers);
  const tookMs = performance.now() - began;
  agent.destroy();
  return { requests: answers.length, bytes, broken, wrong, tookMs, latestMs };
}

/** The path of an object of a trace. */
export function tracePath(object: number, bytes: number): string {
  return knownPath(`object/${object}`, bytes);
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
