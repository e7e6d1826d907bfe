/**
 * Clients of a fleet that ask all its nodes for the objects of a World, and check every byte of
 * every answer. An answer is *wrong* if it looks whole and is not right. A request *failed* if it
 * had a status of 500 or more, broke off, or had no answer. A request whose node was killed
 * meanwhile is neither: its client lost its node. Nor is an answer that broke off while its object
 * changed at the origin: the rest of the old version is nowhere to be had. In a run of 336,754
 * answers under faults there was one of these.
 *
 * A node may close an idle connection at any time (RFC 9112, 9.5: "a client, server, or proxy MAY
 * close the transport connection at any time"), and a request may cross that. A client then asks
 * again once, if the request is idempotent (RFC 9110, 9.2.2), and so does this one, on a new
 * connection. It must be new: connections that became idle together are closed together, and in a
 * soak of an hour two requests went from one closed connection to the next and were counted as
 * failed. It asks again only if the connection was idle for about as long as the node announced.
 * A node that closes a connection earlier, without an answer, failed.
 *
 * Without a rate, each client asks again as soon as it has its answer. With one, a client that is
 * late does not catch up, so the load is constant and no flood follows a pause.
 */

import type { Agent } from 'node:http';
import type { FleetNode } from '../fleet/fleet-node.ts';
import type { AskError, World } from '../origins/chaos-world.ts';

/** The parts of a node that its clients see. */
type AskedNode = Pick<FleetNode, 'name' | 'port' | 'agent' | 'isServing' | 'kills'>;

export interface CheckedCrowdOptions {
  readonly world: World;
  readonly nodes: readonly AskedNode[];
  readonly clients: number;
  /** Numbers from 0 to 1, without 1. */
  readonly random: () => number;
  /** Requests in a second, of all clients together. Default: as many as come. */
  readonly perSecond?: number;
  /** The agent for nodes without one of their own. Default: a connection for each request. */
  readonly agent?: Agent;
  /** Share of the requests whose client leaves in the middle. Default: none. */
  readonly leaving?: number;
}

/** Share of the requests that are for a range, and its most bytes. */
const RANGES = 0.05;
const MOST_RANGE = 50_000;
const MOST_NOTES = 100;

export class CheckedCrowd implements AsyncDisposable {
  readonly wrong: string[] = [];
  readonly failed: string[] = [];
  answers = 0;
  bytes = 0;
  hits = 0;
  wrongAnswers = 0;
  failures = 0;
  /** Requests whose node was killed meanwhile. */
  orphans = 0;
  /** Answers that ended before their length because the object changed. They are no failures. */
  cut = 0;
  /** Requests that were asked again because their kept connection was closed. */
  repeated = 0;
  /** Times to the first byte, of all answers since `takeFirstBytes`. */
  #firstBytes: number[] = [];
  readonly #options: CheckedCrowdOptions;
  readonly #clients: Promise<void>[];
  readonly #watchers = new Set<() => void>();
  #isOver = false;

  constructor(options: CheckedCrowdOptions) {
    this.#options = options;
    this.#clients = Array.from({ length: options.clients }, () => this.#live());
  }

  /** Waits for this many more answers. */
  async more(answers: number): Promise<void> {
    const enough = this.answers + answers;
    await new Promise<void>((resolve) => {
      const look = () => {
        if (this.answers < enough && !this.#isOver) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
    });
  }

  takeFirstBytes(): number[] {
    const taken = this.#firstBytes;
    this.#firstBytes = [];
    return taken;
  }

  /** Ends after the answers that are under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #live(): Promise<void> {
    const { nodes, random, clients, perSecond } = this.#options;
    const pauseMs = perSecond === undefined ? 0 : (1000 * clients) / perSecond;
    let due = performance.now() + pauseMs * random();
    while (!this.#isOver) {
      const now = performance.now();
      if (due > now) await new Promise((resolve) => setTimeout(resolve, due - now));
      due = Math.max(due, now) + pauseMs;
      const serving = nodes.filter(({ isServing }) => isServing);
      await this.#ask(serving[Math.floor(random() * serving.length)]!);
      for (const look of this.#watchers) look();
    }
  }

  async #ask(node: AskedNode, isSecond = false): Promise<void> {
    const { world, random, leaving = 0 } = this.#options;
    const { kills, agent = this.#options.agent } = node;
    // Some are popular.
    const id = Math.floor(world.objects * random() ** 2);
    const first = Math.floor(random() * world.size(id, world.version(id)));
    const isRange = random() < RANGES;
    const isLeaving = !isRange && leaving > 0 && random() < leaving / (1 - RANGES);
    try {
      const { wrong, cut, isOutdated, status, hit, bytes, firstByteMs } = await world.ask(node.port, id, {
        ...(agent === undefined ? {} : { agent, isFresh: isSecond }),
        ...(isRange ? { range: [first, first + Math.floor(random() * MOST_RANGE)] } : {}),
        ...(isLeaving ? { leaveAfter: first } : {}),
      });
      this.answers++;
      this.bytes += bytes;
      if (hit) this.hits++;
      if (wrong !== null) this.#noteWrong(`${node.name}: ${wrong}`);
      else if (node.kills !== kills) this.orphans++;
      else if (cut && isOutdated) this.cut++;
      else if (cut || status >= 500) this.#noteFailed(`${node.name}: ${status} for ${id}, ${bytes} bytes`);
      else this.#firstBytes.push(firstByteMs);
    } catch (error) {
      if (node.kills !== kills) this.orphans++;
      else if (!isSecond && (error as AskError).mayBeIdle) {
        this.repeated++;
        await this.#ask(node, true);
      } else this.#noteFailed(`${node.name}: no answer for ${id}: ${error}`);
    }
  }

  #noteWrong(what: string): void {
    this.wrongAnswers++;
    if (this.wrong.length < MOST_NOTES) this.wrong.push(`${new Date().toISOString()} ${what}`);
  }

  #noteFailed(what: string): void {
    this.failures++;
    if (this.failed.length < MOST_NOTES) this.failed.push(`${new Date().toISOString()} ${what}`);
  }
}
