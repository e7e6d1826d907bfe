/**
 * A node of a network that finds things: it announces the keys that it holds, and locates those of
 * others. One core, and a fallback that is always right:
 *
 *     const plan = planRoutes({ objectsPerNode: 50 });
 *     const node = new RouteNode({ transport, clock: systemClock, plan });
 *     await node.announce('/layers/7f3a');
 *     const answer = await node.locate('/layers/91bc');   // found, absent or unknown
 *
 * What it promises. "found" names a member that says it holds the key. If filters led to that
 * member, the nodes between have passed on its answer. Members are trusted to do so correctly.
 * "absent" is said only by a directory that has heard from all members
 * (decisions/owner-records.ts): after `announce` has resolved with true, no node of the same
 * members answers "absent" until the key is withdrawn. Everything else is "unknown": a question
 * that could not be completed in time is never "absent".
 *
 * How. Filters lead to copies within as many hops as there are levels, over the nearest way
 * (decisions/choose-hop.ts). A query that they do not answer goes to the directory. Each of the two
 * tiers gets half of the time of a question.
 *
 * Neighbours are chosen from the members by rendezvous order, `degree` of them, unless the caller
 * names them. They need not choose each other: a node follows the arrays of its own neighbours.
 */

import { type Cancel, type Clock, rendezvousOrder, type Transport } from '@bloomery/transport';
import { type HashScheme, hashKey, hashScheme, type Key, type KeyHash, type SecretKey } from 'bloomery';
import { ArrayExchange } from './array-exchange.ts';
import { chooseHop, newPath } from './decisions/choose-hop.ts';
import type { RoutePlan } from './decisions/route-plan.ts';
import { RouteTable } from './decisions/route-table.ts';
import type { Directory } from './directory/directory.ts';
import { RendezvousDirectory } from './directory/rendezvous-directory.ts';
import {
  type LocateAnswer,
  type LocateQuestion,
  readAnswer,
  readQuestion,
  writeAnswer,
  writeQuestion,
} from './wire/locate-message.ts';
import { RouteError } from './wire/route-error.ts';

export interface RouteNodeOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  /** The same for all nodes of the network. */
  readonly plan: RoutePlan;
  /** The secret under which keys are hashed, the same for all nodes. */
  readonly key?: SecretKey | undefined;
  /** Neighbours to choose. Default 4. */
  readonly degree?: number | undefined;
  /** Chooses the neighbours from the ids of the members that are up. */
  readonly neighbours?: ((members: readonly string[]) => readonly string[]) | undefined;
  /** Time between two publications of this node's array. Default 1 s. */
  readonly intervalMs?: number | undefined;
  /** Whether the node passes on what it hears. Default true. */
  readonly forwards?: boolean | undefined;
  /** The second tier. Default: owners among the members. */
  readonly directory?: Directory | undefined;
}

export type Located =
  | {
      readonly status: 'found';
      /** The id of the node that holds the key. */
      readonly node: string;
      /** The address of that node, or null if it is this one. */
      readonly address: string | null;
      readonly by: 'self' | 'filters' | 'directory';
      /** Hops that the query travelled along filters. */
      readonly hops: number;
    }
  | { readonly status: 'absent'; readonly hops: number }
  | { readonly status: 'unknown'; readonly why: string; readonly hops: number };

export interface LocateOptions {
  /** Default 2 s. */
  readonly timeoutMs?: number | undefined;
}

const LOCATE_TOPIC = 'route-locate';
const DEFAULT_DEGREE = 4;
const INTERVAL_MS = 1000;
const TIMEOUT_MS = 2000;
/** A question is not worked on for longer than this, whatever it says. */
const LONGEST_MS = 30_000;
interface Confirmation {
  readonly holder: { readonly id: string; readonly address: string } | null;
  /** Whether every node that was named answered that it does not hold the key. */
  readonly allDeny: boolean;
}

/** Holders that are asked at once, of those that a directory names. The others wait for a turn. */
const ASKED_HOLDERS = 3;

export class RouteNode {
  readonly table: RouteTable;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #options: RouteNodeOptions;
  readonly #scheme: HashScheme;
  readonly #arrays: ArrayExchange;
  readonly #directory: Directory;
  readonly #cancels: Cancel[];
  #isClosed = false;

  constructor(options: RouteNodeOptions) {
    const { transport, clock, plan, key, forwards, intervalMs = INTERVAL_MS } = options;
    this.#options = options;
    this.#transport = transport;
    this.#clock = clock;
    this.#scheme = key?.scheme ?? hashScheme();
    this.table = new RouteTable({ plan, key, forwards });
    this.#arrays = new ArrayExchange({ transport, clock, table: this.table, key, intervalMs });
    this.#directory = options.directory ?? new RendezvousDirectory({ transport, clock });
    this.#cancels = [
      transport.serve(LOCATE_TOPIC, (body) => this.#serve(body)),
      transport.watchPeers(() => this.#chooseNeighbours()),
    ];
    this.#chooseNeighbours();
  }

  /** Bytes of arrays that this node has published. */
  get publishedBytes(): number {
    return this.#arrays.publishedBytes;
  }

  /** Ids of the neighbours whose arrays are known. */
  neighbours(): string[] {
    return [...this.table.neighbours()];
  }

  /** Says that this node holds a key. Resolves with true when the directory has confirmed it. */
  announce(key: Key, options: LocateOptions = {}): Promise<boolean> {
    return this.change([key], [], options);
  }

  /** Says that this node no longer holds a key. Resolves as `announce` does. */
  withdraw(key: Key, options: LocateOptions = {}): Promise<boolean> {
    return this.change([], [key], options);
  }

  /** Announces and withdraws many keys at once, which costs as much as doing so with one. */
  async change(
    announced: Iterable<Key>,
    withdrawn: Iterable<Key>,
    { timeoutMs = TIMEOUT_MS }: LocateOptions = {},
  ): Promise<boolean> {
    const added = Array.from(announced, (key) => this.#hash(key));
    const removed = Array.from(withdrawn, (key) => this.#hash(key));
    let isChanged = false;
    // A key that is not here may still be entered, because an earlier withdrawal was not confirmed.
    for (const hash of removed) if (this.table.withdraw(hash)) isChanged = true;
    for (const hash of added) if (this.table.announce(hash)) isChanged = true;
    if (isChanged) this.#arrays.changed();
    return this.#directory.change(added, removed, timeoutMs);
  }

  /** Finds a node that holds a key: this one, the nearest by filters, or one of the directory. */
  async locate(key: Key, { timeoutMs = TIMEOUT_MS }: LocateOptions = {}): Promise<Located> {
    const hash = this.#hash(key);
    const endMs = this.#clock.monotonic() + timeoutMs;
    if (this.table.holds(hash))
      return { status: 'found', node: this.#transport.self.id, address: null, by: 'self', hops: 0 };
    const { levels } = this.table.plan;
    const path = newPath(Math.floor(this.#clock.random() * 65_536));
    const question = { hash, reach: levels, hopsLeft: levels, timeLeftMs: timeoutMs / 2, path };
    const { holder, hops } = await this.#search(question);
    // A caller cannot use the name of a node that is no member, or this node's own name.
    const address = holder === null ? null : this.#addressOf(holder);
    if (holder !== null && address !== null)
      return { status: 'found', node: holder, address, by: 'filters', hops };
    const answer = await this.#directory.find(hash, Math.max(1, endMs - this.#clock.monotonic()));
    if (answer.status !== 'holders') return { ...answer, hops };
    const found = await this.#confirm(hash, answer.holders, endMs);
    if (found.holder !== null) {
      const { id, address } = found.holder;
      return { status: 'found', node: id, address, by: 'directory', hops };
    }
    if (found.allDeny && answer.isComplete) return { status: 'absent', hops };
    return { status: 'unknown', why: 'the holders that are known did not confirm it', hops };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const cancel of this.#cancels) cancel();
    this.#arrays.close();
    this.#directory.close();
  }

  #hash(key: Key): KeyHash {
    if (this.#isClosed)
      throw new RouteError('closed', 'Cannot use the node: expected an open one, got a closed one');
    return hashKey(key, this.#scheme);
  }

  /**
   * Asks the holders that a directory named, some at a time: the first that confirms, or whether
   * all deny. Those that do not answer get a share of the time, so that dead ones do not hide a
   * holder that runs.
   */
  async #confirm(hash: KeyHash, holders: readonly string[], endMs: number): Promise<Confirmation> {
    let [next, denials] = [0, 0];
    let confirmed: Confirmation['holder'] = null;
    const askOne = async (id: string, timeoutMs: number) => {
      const address = this.#addressOf(id);
      // This node has looked at its own keys before, and a node that left is no member.
      if (address === null) return void denials++;
      const body = writeQuestion({ hash, reach: 0, hopsLeft: 0, timeLeftMs: timeoutMs, path: newPath(0) });
      try {
        const answer = readAnswer(await this.#transport.request(address, LOCATE_TOPIC, body, { timeoutMs }));
        if (answer.holder === id) confirmed ??= { id, address };
        else if (answer.holder === null) denials++;
      } catch {
        // It does not answer, so it neither confirms nor denies.
      }
    };
    const askNext = async () => {
      while (confirmed === null && next < holders.length) {
        const turns = Math.ceil((holders.length - next) / ASKED_HOLDERS);
        const leftMs = endMs - this.#clock.monotonic();
        if (leftMs <= 0 && next >= ASKED_HOLDERS) return;
        await askOne(holders[next++], Math.max(1, leftMs / turns));
      }
    };
    let settle = () => {};
    const first = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const workers = Array.from({ length: ASKED_HOLDERS }, () =>
      askNext().then(() => {
        if (confirmed !== null) settle();
      }),
    );
    await Promise.race([first, Promise.all(workers)]);
    return { holder: confirmed, allDeny: confirmed === null && denials === holders.length };
  }

  async #serve(body: Uint8Array): Promise<Uint8Array> {
    const asked = readQuestion(body);
    const { levels } = this.table.plan;
    const question: LocateQuestion = {
      ...asked,
      reach: Math.min(asked.reach, levels),
      hopsLeft: Math.min(asked.hopsLeft, levels),
      timeLeftMs: Math.min(asked.timeLeftMs, LONGEST_MS),
    };
    return writeAnswer(await this.#search(question));
  }

  /** Follows leads from this node until the key is found, or no lead, hop or time is left. */
  async #search(question: LocateQuestion): Promise<LocateAnswer> {
    const { hash: bits, reach, timeLeftMs } = question;
    const hash: KeyHash = { scheme: this.#scheme, ...bits };
    const endMs = this.#clock.monotonic() + timeLeftMs;
    let { hopsLeft, path } = question;
    let hops = 0;
    path.visit(this.#transport.self.id);
    const isUp = (neighbour: string) => this.#arrays.addressOf(neighbour) !== undefined;
    for (;;) {
      const hop = chooseHop(this.table, { hash, reach, hopsLeft, path }, isUp);
      const leftMs = endMs - this.#clock.monotonic();
      if (hop.kind === 'here') return { holder: this.#transport.self.id, hopsLeft, hops, path };
      if (hop.kind === 'back' || leftMs <= 0) return { holder: null, hopsLeft, hops, path };
      hopsLeft--;
      hops++;
      try {
        // The neighbour ends a little before this node, so that its answer comes in time.
        const body = writeQuestion({ hash, reach: hop.reach, hopsLeft, timeLeftMs: 0.8 * leftMs, path });
        const address = this.#arrays.addressOf(hop.to)!;
        const answer = readAnswer(
          await this.#transport.request(address, LOCATE_TOPIC, body, { timeoutMs: leftMs }),
        );
        hops += answer.hops;
        // Hops are never given back, whatever a neighbour says.
        hopsLeft = Math.min(hopsLeft, answer.hopsLeft);
        path = answer.path;
        if (answer.holder !== null) return { holder: answer.holder, hopsLeft, hops, path };
      } catch {
        path.visit(hop.to);
      }
      if (!path.has(hop.to)) path.visit(hop.to);
      hops++;
    }
  }

  #chooseNeighbours(): void {
    const { degree = DEFAULT_DEGREE, neighbours } = this.#options;
    const up = this.#transport.peers().filter(({ state, id }) => state === 'up' && id !== null);
    const ids = up.map(({ id }) => id!);
    const chosen = neighbours?.(ids) ?? chooseNeighbours(this.#transport.self.id, ids, degree);
    this.#arrays.follow(
      new Map(up.filter(({ id }) => chosen.includes(id!)).map(({ id, address }) => [id!, address])),
    );
  }

  #addressOf(id: string): string | null {
    return this.#transport.peers().find((peer) => peer.id === id)?.address ?? null;
  }
}

/** The neighbours of a node: those members that come first in the rendezvous order of its id. */
export function chooseNeighbours(self: string, members: readonly string[], degree: number): string[] {
  const others = members.filter((member) => member !== self);
  return rendezvousOrder(hashKey(self), others).slice(0, degree);
}
