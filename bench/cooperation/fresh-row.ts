/**
 * Freshness: a client stores an object through node A; how long until node B serves it from A,
 * without the origin? B is asked as soon as its status says that A's summary has one object more
 * (looked at every 5 ms), so the time includes the gathering of changes, the stream, and the
 * transfer of the object.
 *
 * A second measurement asks B at once, before it can know: then the owner of the key names A.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { checkedGet } from '../../packages/testkit/src/fleet/checked-get.ts';
import type { Fleet } from '../../packages/testkit/src/fleet/fleet.ts';
import { knownPath } from '../../packages/testkit/src/origins/known-body.ts';
import { ThrottledOrigin } from '../../packages/testkit/src/origins/throttled-origin.ts';
import { met, quantile, startBenchFleet } from './bench-fleet.ts';

const LOOK_MS = 5;
const OBJECT_BYTES = 10_000;
const MOST_MS = 500;

export async function freshTable(isQuick: boolean): Promise<string[]> {
  await using origin = await ThrottledOrigin.start();
  await using fleet = await startBenchFleet({ nodes: isQuick ? 4 : 16, origin: origin.url });
  const trials = isQuick ? 40 : 400;
  const told = await tried(fleet, origin, trials, true);
  const atOnce = await tried(fleet, origin, trials, false);
  const row = (name: string, { ms, touched }: Trials, wanted: string) =>
    `| ${name} | ${ms.length} | ${quantile(ms, 0.5).toFixed(0)} | ${quantile(ms, 0.99).toFixed(0)} | ${Math.max(...ms).toFixed(0)} | ${touched} | ${wanted} |`;
  const isMet = quantile(told.ms, 0.99) <= MOST_MS;
  return [
    `${fleet.nodes.length} processes. From the end of A's answer to the end of B's.`,
    '',
    '| B is asked | objects | p50, ms | p99, ms | slowest, ms | origin asked again | p99 wanted |',
    '|---|---:|---:|---:|---:|---:|---|',
    row('when its summary of A has the object', told, `at most ${MOST_MS} ms: ${met(isMet)}`),
    row('at once', atOnce, '–'),
  ];
}

interface Trials {
  readonly ms: readonly number[];
  /** Objects for which B asked the origin. */
  readonly touched: number;
}

async function tried(fleet: Fleet, origin: ThrottledOrigin, trials: number, waits: boolean): Promise<Trials> {
  const ms: number[] = [];
  let touched = 0;
  for (let trial = 0; trial < trials; trial++) {
    const count = fleet.nodes.length;
    const holder = fleet.nodes[trial % count];
    const asker = fleet.nodes[(trial + 1 + (Math.floor(trial / count) % (count - 1))) % count];
    const known = async () => (await asker.peer(holder.name))?.objects ?? 0;
    const before = await known();
    const path = knownPath(`fresh.${waits}/${trial}`, OBJECT_BYTES);
    await checkedGet(holder.port, path);
    const began = performance.now();
    while (waits && (await known()) <= before) await sleep(LOOK_MS);
    const answer = await checkedGet(asker.port, path);
    if (answer.wrong !== null)
      throw new Error(`Cannot measure: expected the right bytes, got ${answer.wrong}`);
    ms.push(performance.now() - began);
    if (origin.fetches(path) > 1) touched++;
    // The change of the next trial must not be taken for one of this one.
    while ((await known()) <= before) await sleep(LOOK_MS);
  }
  return { ms, touched };
}
