/**
 * One node of a simulated fleet that cooperates by summaries. These files of production run in it,
 * as they are:
 *
 * - what it tells: `peers/own-summary.ts`, `decisions/summary-keeper.ts` with its ledger, wheel and
 *   universe, the library's `SetPublisher` and `shouldSend`;
 * - what it knows: `peers/peer-hub.ts`, `neighbour-link.ts`, `neighbour-summaries.ts`,
 *   `decisions/peer-score.ts`, the library's `SetSubscriber` and `FilterTable`;
 * - a miss: `peers/keyed-neighbours.ts`, `decisions/peer-choice.ts`, `neighbour-search.ts`,
 *   `hedge-budget.ts`, `hot-objects.ts`, `running-asks.ts`;
 * - owners: `decisions/owner-question.ts` and `owner-tracker.ts`, and `rendezvousOrder`;
 * - eviction: `store/memory/s3-fifo.ts` and `copy-queue.ts`, through object-cache.ts.
 *
 * All messages about summaries and owners are real ones, over the port `Transport`. Modelled are
 * the question for an object and its answer (simulated-ask.ts, simulated-entry.ts), the source of a
 * fetch (`peers/neighbour-source.ts`, of which only "found, or else the origin" is left), and the
 * feed of the summary: objects are fresh for years and may always be shared, copies are left out as
 * in `peers/summary-feed.ts`.
 */

import type { Clock, FleetKeyring, Transport } from '@bloomery/transport';
import { hashScheme, type KeyHash } from 'bloomery';
import type { SendLimits } from 'bloomery/wire';
import { HotObjects } from '../../peers/decisions/hot-objects.ts';
import { KeyedNeighbours } from '../../peers/keyed-neighbours.ts';
import type { NeighbourPlan } from '../../peers/neighbour-port.ts';
import { NeighbourSearch } from '../../peers/neighbour-search.ts';
import type { AskKind } from '../../peers/objects/object-request.ts';
import { OwnSummaries } from '../../peers/own-summaries.ts';
import { type HubFollowing, PeerHub } from '../../peers/peer-hub.ts';
import { RunningAsks } from '../../peers/running-asks.ts';
import type { FleetGround } from '../fleet-ground.ts';
import type { FetchedFrom } from '../fleet-policy.ts';
import type { ObjectCache } from '../object-cache.ts';
import { keyOfObject } from '../trace.ts';
import type { BloomForm } from './bloom-form.ts';
import { SimulatedAsk } from './simulated-ask.ts';
import { SimulatedEntry } from './simulated-entry.ts';

/** The way of a node to objects that no node of its group gives (policies/groups). */
export interface BeyondGroup {
  /** Whether the owner inside the group is asked before this way is taken. */
  asksOwner(object: number, node: number): boolean;
  /** Gets an object for a node. Calls exactly one of the two, once. */
  fetch(node: number, object: number, bytes: number, on: BeyondAnswer): void;
  /** The group knows of these changes of a node from now on. */
  told?(node: number, added: readonly number[], removed: readonly number[]): void;
}

export interface BeyondAnswer {
  /** A node of another group gave the object. `origin`: it got it from there for this question. */
  got(from: FetchedFrom): void;
  /** The node asks the origin itself. */
  none(): void;
}

export interface CooperatingNodeOptions {
  readonly ground: FleetGround;
  readonly index: number;
  readonly id: string;
  readonly clock: Clock;
  readonly transport: Transport;
  readonly keyring: FleetKeyring;
  /** The way to follow neighbours, or undefined for that of production. */
  readonly following: HubFollowing | undefined;
  /** Part of the store for copies; 1 keeps and publishes everything. */
  readonly copies: number;
  readonly asksOwner: boolean;
  readonly neighbours: number;
  /** The way to other groups, or null if there are none. */
  readonly beyond: BeyondGroup | null;
  readonly limits: Partial<SendLimits>;
  readonly falseCandidates: number | undefined;
  /** The same contents in another form, or null for the set alone. */
  readonly bloomForm: BloomForm | null;
  /** The node with an id, as it is now, or undefined if none runs there. */
  readonly nodeOf: (id: string) => CooperatingNode | undefined;
  /** Bytes of a question for an object, and of its refusal. */
  readonly askBytes: (object: number) => { readonly query: number; readonly reply: number };
}

/** The defaults of `--peer-budget` and of the time that the origin has for its head. */
export const BUDGET_MS = 250;
const HEAD_TIMEOUT_MS = 60_000;
/** Memory for summaries: enough for every fleet that is simulated. */
const MEMORY_BYTES = 2 ** 33;
/** Objects stay fresh for as long as the wheel of the keeper counts: ten years. */
const PLAIN_SCHEME = hashScheme();
const FRESH_MS = 10 * 365 * 86_400_000;

export class CooperatingNode {
  readonly index: number;
  readonly id: string;
  readonly cache: ObjectCache;
  readonly entry: SimulatedEntry;
  readonly #options: CooperatingNodeOptions;
  readonly #hub: PeerHub;
  readonly #summary: OwnSummaries;
  readonly #port: KeyedNeighbours;
  readonly #running = new RunningAsks();
  readonly #hot = new HotObjects<number>();
  /** Objects that neighbours do not know yet, and the sum of the times at which they came. */
  #untold = 0;
  #untoldSinceMs = 0;
  #isClosed = false;
  /** The changes that neighbours do not know yet, for other groups. */
  #changes: { added: number[]; removed: number[] } = { added: [], removed: [] };

  constructor(options: CooperatingNodeOptions) {
    const { ground, index, id, clock, transport, keyring, copies } = options;
    this.#options = options;
    this.index = index;
    this.id = id;
    this.#hub = new PeerHub({
      transport,
      clock,
      keyring,
      budgetMs: BUDGET_MS,
      memoryBytes: MEMORY_BYTES,
      event: () => {},
      following: options.following,
    });
    this.#summary = new OwnSummaries({
      transport,
      clock,
      work: this.#hub.work,
      keyring,
      neighbours: options.neighbours,
      bandwidth: Number.POSITIVE_INFINITY,
      limits: options.limits,
      falseCandidates: options.falseCandidates,
      event: () => {},
      published: () => this.#told(),
    });
    this.#port = new KeyedNeighbours({
      directory: this.#hub,
      keyring,
      mayName: () => true,
      mayShare: () => true,
      isBarren: () => false,
    });
    this.cache = ground.newCache({
      copiesShare: copies === 1 ? 0 : copies,
      listener: {
        added: (object, isCopy) => this.#stored(object, isCopy),
        adopted: (object) => this.#stored(object, false),
        removed: (object, wasCopy) => {
          if (wasCopy) return;
          const hash = this.#port.hashes(keyOfObject(object))[0]!;
          this.#summary.drop(hash);
          this.#options.bloomForm?.removed(unkeyed(hash));
          this.#changes.removed.push(object);
        },
      },
    });
    this.entry = new SimulatedEntry({
      clock,
      cache: this.cache,
      hot: this.#hot,
      flights: ground.flights[index]!,
      summary: () => this.#summary.versions[0]!,
      isWaitingFor: (node, object) => this.#running.has(keyOfObject(object), node),
    });
  }

  /** Gets an object from a neighbour, or else from the origin, and stores it. */
  fetch(object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    const { ground, clock } = this.#options;
    const key = keyOfObject(object);
    const search = new NeighbourSearch<SimulatedAsk>({
      clock,
      headTimeoutMs: HEAD_TIMEOUT_MS,
      port: this.#port,
      key,
      plan: this.#plan(key, object),
      rest: null,
      budgetMs: BUDGET_MS,
      lost: null,
      avoid: [],
      newAsk: (neighbour, ask, listener) =>
        new SimulatedAsk(neighbour, ask, listener, {
          clock,
          wayMs: ground.wayMs(clock),
          bodyMs: ground.bodyMs(bytes),
          bytes,
          keyId: this.#options.keyring.first.id,
          report: (report) => {
            if (report.kind === 'answered' && report.end === 'hit') this.#hot.took();
            this.#port.report(report);
          },
          running: () => this.#running.begin(key, neighbour.id!),
          put: (answer) => {
            const holder = this.#options.nodeOf(neighbour.id!);
            // No node answers, and the deadline of the question decides.
            if (holder === undefined) return () => {};
            ground.counts.asked(holder.index);
            ground.counts.waited();
            return holder.entry.answerAsk(this.id, object, ask, answer);
          },
          refused: () => this.#countRefusal(object, ask.kind),
        }),
      accept: () => true,
      sent: () => {},
      waits: () => ground.flights[this.index]!.root(object),
      found: ({ ask }) => {
        ask.whole = (isHot) => {
          ground.counts.transferred(bytes);
          this.#keep(object, bytes, 'neighbour', isHot);
          landed('neighbour');
        };
      },
      none: () => {
        ground.flights[this.index]!.root(object);
        this.#fetchBeyond(object, bytes, landed);
      },
    });
    search.start();
  }

  /** Gets an object that no neighbour gives: from another group, or else from the origin. */
  #fetchBeyond(object: number, bytes: number, landed: (from: FetchedFrom) => void): void {
    const { ground, beyond } = this.#options;
    const none = () =>
      ground.askOrigin(object, bytes, () => {
        this.#keep(object, bytes, 'origin');
        landed('origin');
      });
    if (beyond === null) none();
    else
      beyond.fetch(this.index, object, bytes, {
        got: (from) => {
          this.#keep(object, bytes, 'neighbour');
          landed(from);
        },
        none,
      });
  }

  /** Ends all timers. Objects that come from now on are given to their clients and not kept. */
  close(): void {
    this.#isClosed = true;
    this.#summary.close();
    this.#hub.close();
  }

  /** Tells other groups all changes, as a group notices them when the process is gone. */
  tellChanges(): void {
    const { added, removed } = this.#changes;
    this.#changes = { added: [], removed: [] };
    this.#options.beyond?.told?.(this.index, added, removed);
  }

  #plan(key: string, object: number): NeighbourPlan {
    const plan = this.#port.plan({ method: 'GET', key, headers: [] }) as NeighbourPlan;
    const { asksOwner, beyond } = this.#options;
    return asksOwner && (beyond?.asksOwner(object, this.index) ?? true)
      ? plan
      : { ...plan, afterwards: 'origin' };
  }

  #keep(object: number, bytes: number, from: FetchedFrom, isHot = false): void {
    if (this.#isClosed) return;
    const { ground, copies } = this.#options;
    const cost = ground.size.costOf(object, bytes, from);
    const isKept = this.cache.put(object, cost, from === 'neighbour' && copies < 1 && !isHot);
    // The owner hears that this node has nothing for others.
    if (!isKept)
      this.#port.fetched({ key: keyOfObject(object), kind: 'joinable', landing: null, ended: true });
  }

  #stored(object: number, isCopy: boolean): void {
    const { clock } = this.#options;
    const key = keyOfObject(object);
    this.#port.stored(key);
    if (isCopy) return;
    // A simulated fleet has one secret.
    const hash = this.#port.hashes(key)[0]!;
    this.#summary.keep(hash, clock.now() + FRESH_MS);
    this.#options.bloomForm?.added(unkeyed(hash));
    this.#changes.added.push(object);
    this.#untold++;
    this.#untoldSinceMs += clock.monotonic();
  }

  #told(): void {
    const { ground, clock } = this.#options;
    const heardMs = clock.monotonic() + ground.times.neighbourMs / 2;
    ground.counts.told(this.#untold, this.#untold * heardMs - this.#untoldSinceMs);
    this.#untold = this.#untoldSinceMs = 0;
    this.tellChanges();
  }

  /** A node that the owner named and that refuses is no fault of a summary. */
  #countRefusal(object: number, kind: AskKind): void {
    const { counts } = this.#options.ground;
    const { query, reply } = this.#options.askBytes(object);
    if (kind === 'stored') counts.falseHit();
    counts.sent('query', query);
    counts.sent('reply', reply);
  }
}

/** The same 64 bits under the scheme of a filter without a key. */
function unkeyed({ low, high }: Pick<KeyHash, 'low' | 'high'>): KeyHash {
  return { scheme: PLAIN_SCHEME, low, high };
}
