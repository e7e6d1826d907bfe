/**
 * Chooses the next request: which block, and from which source. The caller passes in the sources
 * and their blocks, and gets requests. There is no clock, no randomness and no I/O here, so tests
 * and simulations run the code of production. docs/spec/delivery.md has the rules.
 *
 * - Blocks that peers have: rarest first. Random order would leave the last blocks with one holder.
 * - Blocks that no peer has: only their owner asks the origin. Random choice would make 20 nodes
 *   that begin together ask for many blocks twice, because they learn of each other's requests
 *   after 200 ms.
 * - A peer that failed does not count as a holder until it delivers again. Otherwise one that says
 *   it has everything, and sends nothing, would keep all nodes from the origin.
 */

import { BlockSet } from './block-set.ts';
import { blockLength, type FileShape } from './file-shape.ts';
import { ownerScore } from './owner-score.ts';

/** The name of the origin among the sources. */
export const ORIGIN = 'origin';

export interface PlanLimits {
  /**
   * Limits of the requests under way: in all, at one peer, at the origin, and at the origin while
   * there are no peers.
   */
  readonly inFlight: number;
  readonly perPeer: number;
  readonly atOrigin: number;
  readonly atOriginAlone: number;
  /** Time without work after which a node takes over a block of another owner. */
  readonly takeOverMs: number;
  /** The longest such time, however long blocks take. It is below the patience of a fetch. */
  readonly longestTakeOverMs: number;
  /** Age after which a second source may be asked for a block, and after which the origin may. */
  readonly slowMs: number;
  readonly slowForOriginMs: number;
  /** Age after which a peer's message that it fetches a block no longer counts. */
  readonly fetchingMs: number;
  readonly firstRestMs: number;
  readonly longestRestMs: number;
}

export const PLAN_LIMITS: PlanLimits = {
  inFlight: 16,
  perPeer: 2,
  atOrigin: 2,
  atOriginAlone: 4,
  takeOverMs: 1500,
  longestTakeOverMs: 15_000,
  slowMs: 1000,
  slowForOriginMs: 5000,
  fetchingMs: 30_000,
  firstRestMs: 1000,
  longestRestMs: 30_000,
};

export interface BlockRequest {
  readonly source: string;
  readonly block: number;
}

export interface PeerFacts {
  /** The name that the node drew. */
  readonly node: string;
  readonly isComplete: boolean;
  readonly asksOrigin: boolean;
}

interface Source {
  readonly id: string;
  readonly has: BlockSet;
  readonly fetching: Map<number, number>;
  facts: PeerFacts | null;
  inFlight: number;
  bytesPerMs: number | null;
  restUntil: number;
  failures: number;
  refusals: number;
}

const SCANNED = 512;
const REFUSALS_PER_FAILURE = 8;
const RATE_WEIGHT = 0.3;
const TIMES = 32;

export class DeliveryPlan {
  readonly shape: FileShape;
  readonly #limits: PlanLimits;
  readonly #random: () => number;
  readonly #self: string;
  readonly #has: BlockSet;
  readonly #peers = new Map<string, Source>();
  #origin: Source | null = null;
  /** Blocks that are missing and not under way, in random order, and the place of each. */
  readonly #open: number[] = [];
  readonly #placeOf: Int32Array;
  /** The sources that are asked for a block, with the time when they were. */
  readonly #underWay = new Map<number, Map<string, number>>();
  #inFlight = 0;
  /** The peers with each block that deliver what they have. */
  readonly #holders: Uint16Array;
  /** 1 if this node owns the block, 2 if another does, 0 if that is not computed. */
  readonly #ownership: Uint8Array;
  readonly #times: number[] = [];
  #idleSince: number | null = null;

  constructor(options: {
    readonly shape: FileShape;
    readonly self: string;
    readonly random: () => number;
    readonly has?: BlockSet | undefined;
    readonly limits?: Partial<PlanLimits> | undefined;
  }) {
    this.shape = options.shape;
    this.#self = options.self;
    this.#random = options.random;
    this.#limits = { ...PLAN_LIMITS, ...options.limits };
    const { blocks } = options.shape;
    this.#has = new BlockSet(blocks, options.has?.words);
    this.#placeOf = new Int32Array(blocks).fill(-1);
    this.#holders = new Uint16Array(blocks);
    this.#ownership = new Uint8Array(blocks);
    for (let block = 0; block < blocks; block++) if (!this.#has.has(block)) this.#openBlock(block);
  }

  get isDone(): boolean {
    return this.#has.isFull;
  }

  get missing(): number {
    return this.shape.blocks - this.#has.size;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The blocks that the origin is being asked for. */
  get fetching(): number[] {
    return [...this.#underWay].filter(([, sources]) => sources.has(ORIGIN)).map(([block]) => block);
  }

  addOrigin(): void {
    this.#origin ??= newSource(ORIGIN, this.shape.blocks);
    this.#ownership.fill(0);
  }

  removeOrigin(): void {
    this.#origin = null;
    this.#ownership.fill(0);
  }

  addPeer(id: string): void {
    if (!this.#peers.has(id)) this.#peers.set(id, newSource(id, this.shape.blocks));
  }

  /** Forgets a peer. Its requests end by `failed`, as the caller ends them. */
  removePeer(id: string): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    this.#countHolder(peer, -1);
    this.#peers.delete(id);
    this.#ownership.fill(0);
  }

  describePeer(id: string, facts: PeerFacts): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    const { facts: before } = peer;
    peer.facts = facts;
    if (
      before?.node !== facts.node ||
      before.isComplete !== facts.isComplete ||
      before.asksOrigin !== facts.asksOrigin
    )
      this.#ownership.fill(0);
  }

  /** The peer has these blocks, and may be asked for them. */
  peerHas(id: string, blocks: Iterable<number>): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    for (const block of blocks)
      if (peer.has.add(block)) {
        if (peer.failures === 0) this.#holders[block]! += 1;
        peer.fetching.delete(block);
      }
  }

  /** The peer may no longer be asked for these blocks. */
  peerLacks(id: string, blocks: Iterable<number>): void {
    const peer = this.#peers.get(id);
    if (peer === undefined) return;
    for (const block of blocks) if (peer.has.delete(block) && peer.failures === 0) this.#holders[block]! -= 1;
  }

  /** The peer is now asking the origin for exactly these blocks. */
  peerFetches(id: string, blocks: readonly number[], now: number): void {
    const fetching = this.#peers.get(id)?.fetching;
    if (fetching === undefined) return;
    const since = blocks.map((block): [number, number] => [block, fetching.get(block) ?? now]);
    fetching.clear();
    for (const [block, ms] of since) fetching.set(block, ms);
  }

  /** The next request, which counts as under way from now on; null if there is none for now. */
  next(now: number): BlockRequest | null {
    if (this.isDone || this.#inFlight >= this.#limits.inFlight) return null;
    const request =
      this.#fromOrigin(now) ??
      this.#rarest(now, true) ??
      this.#rarest(now, false) ??
      this.#takenOver(now) ??
      this.#second(now);
    if (request === null) {
      if (this.#inFlight === 0) this.#idleSince ??= now;
      return null;
    }
    this.#start(request, now);
    return request;
  }

  /**
   * A block came and is right. Returns the other sources that are asked for it; the caller ends
   * these requests, and they count as ended.
   */
  received(source: string, block: number, now: number): string[] {
    const sources = this.#underWay.get(block);
    const started = sources?.get(source);
    if (started !== undefined) {
      const ms = Math.max(1, now - started);
      this.#times.push(ms);
      if (this.#times.length > TIMES) this.#times.shift();
      this.#delivered(source, blockLength(this.shape, block) / ms);
    }
    const others = [...(sources?.keys() ?? [])].filter((id) => id !== source);
    for (const id of [...(sources?.keys() ?? [])]) this.#end(id, block);
    this.#closeBlock(block);
    this.#has.add(block);
    this.#idleSince = null;
    return others;
  }

  /**
   * A request ended without its block: the source is busy for `busyMs`, or it failed if that is
   * null.
   */
  failed(source: string, block: number, now: number, busyMs: number | null = null): void {
    if (this.#underWay.get(block)?.has(source) !== true) return;
    this.#end(source, block);
    const state = this.#source(source);
    if (state === undefined) return;
    if (busyMs !== null && ++state.refusals < REFUSALS_PER_FAILURE) {
      state.restUntil = now + busyMs;
      return;
    }
    state.refusals = 0;
    if (state.failures === 0) this.#countHolder(state, -1);
    state.failures++;
    const { firstRestMs, longestRestMs } = this.#limits;
    state.restUntil = now + Math.min(longestRestMs, firstRestMs * 2 ** (state.failures - 1));
  }

  /** A block that was here is not right, and is to be fetched again. */
  drop(block: number): void {
    if (this.#has.delete(block)) this.#openBlock(block);
  }

  #source(id: string): Source | undefined {
    return id === ORIGIN ? (this.#origin ?? undefined) : this.#peers.get(id);
  }

  #fromOrigin(now: number): BlockRequest | null {
    if (!this.#isOriginFree(now)) return null;
    return this.#originBlock(now, (block) => this.#isOwn(block));
  }

  #takenOver(now: number): BlockRequest | null {
    if (!this.#isOriginFree(now) || this.#inFlight > 0) return null;
    // Where blocks take long, owners that seem idle are only slow.
    const { takeOverMs, longestTakeOverMs } = this.#limits;
    const patienceMs = Math.max(takeOverMs, Math.min(longestTakeOverMs, 4 * medianOf(this.#times)));
    if (this.#idleSince === null || now - this.#idleSince < patienceMs) return null;
    return this.#originBlock(now, () => true);
  }

  #isOriginFree(now: number): boolean {
    const origin = this.#origin;
    if (origin === null || now < origin.restUntil) return false;
    const { atOrigin, atOriginAlone } = this.#limits;
    return origin.inFlight < (this.#peers.size === 0 ? atOriginAlone : atOrigin);
  }

  /** A block that no peer has or fetches, of those that `mayAsk` accepts. */
  #originBlock(now: number, mayAsk: (block: number) => boolean): BlockRequest | null {
    const start = Math.floor(this.#random() * this.#open.length);
    for (let i = 0; i < this.#open.length; i++) {
      const block = this.#open[(start + i) % this.#open.length]!;
      if (this.#holders[block] === 0 && mayAsk(block) && !this.#isFetched(block, now))
        return { source: ORIGIN, block };
    }
    return null;
  }

  #isFetched(block: number, now: number): boolean {
    for (const { fetching } of this.#peers.values()) {
      const since = fetching.get(block);
      if (since !== undefined && now - since < this.#limits.fetchingMs) return true;
    }
    return false;
  }

  #isOwn(block: number): boolean {
    if (this.#ownership[block] === 0) {
      const own = ownerScore(block, this.#self);
      let isMine = true;
      for (const { facts, failures } of this.#peers.values())
        if (facts?.asksOrigin === true && !facts.isComplete && failures === 0)
          if (ownerScore(block, facts.node) > own) isMine = false;
      this.#ownership[block] = isMine ? 1 : 2;
    }
    return this.#ownership[block] === 1;
  }

  /** The block that fewest peers have, of those that a free peer has. */
  #rarest(now: number, counted: boolean): BlockRequest | null {
    const free = [...this.#peers.values()].filter(
      ({ inFlight, restUntil, failures, has }) =>
        has.size > 0 &&
        inFlight < (failures === 0 ? this.#limits.perPeer : 1) &&
        now >= restUntil &&
        (failures === 0) === counted,
    );
    if (free.length === 0 || this.#open.length === 0) return null;
    const start = Math.floor(this.#random() * this.#open.length);
    let best = -1;
    let fewest = Number.POSITIVE_INFINITY;
    for (let i = 0, scanned = 0; i < this.#open.length && scanned < SCANNED; i++) {
      const block = this.#open[(start + i) % this.#open.length]!;
      const count = this.#holders[block]!;
      if (counted && count === 0) continue;
      scanned++;
      if (count >= fewest || !free.some(({ has }) => has.has(block))) continue;
      best = block;
      fewest = count;
    }
    if (best < 0) return null;
    return { source: this.#quickest(free.filter(({ has }) => has.has(best))).id, block: best };
  }

  /** The peer with the fewest requests for its rate. An unknown rate counts as the best. */
  #quickest(peers: readonly Source[]): Source {
    const best = Math.max(1, ...peers.map(({ bytesPerMs }) => bytesPerMs ?? 0));
    const load = ({ inFlight, bytesPerMs }: Source) => (inFlight + 1) / (bytesPerMs ?? best);
    let chosen = peers[0]!;
    let least = Number.POSITIVE_INFINITY;
    for (const peer of peers) {
      // Two peers whose loads differ by less than a quarter take turns.
      const own = load(peer) * (1 + 0.25 * this.#random());
      if (own < least) {
        least = own;
        chosen = peer;
      }
    }
    return chosen;
  }

  /** A second source for a block that is slow to come, when nothing else is left to ask for. */
  #second(now: number): BlockRequest | null {
    if (this.#open.length > 0) return null;
    const { slowMs, slowForOriginMs, perPeer } = this.#limits;
    const slow = Math.max(slowMs, 2 * medianOf(this.#times));
    for (const [block, sources] of this.#underWay) {
      const [[first, started]] = sources as unknown as [[string, number]];
      if (sources.size > 1 || now - started < slow) continue;
      const others = [...this.#peers.values()].filter(
        ({ id, has, inFlight, restUntil, failures }) =>
          id !== first && failures === 0 && has.has(block) && inFlight < perPeer && now >= restUntil,
      );
      if (others.length > 0) return { source: this.#quickest(others).id, block };
      if (first !== ORIGIN && now - started > slowForOriginMs && this.#isOriginFree(now))
        return { source: ORIGIN, block };
    }
    return null;
  }

  #start({ source, block }: BlockRequest, now: number): void {
    this.#closeBlock(block);
    const sources = this.#underWay.get(block) ?? new Map<string, number>();
    sources.set(source, now);
    this.#underWay.set(block, sources);
    this.#inFlight++;
    this.#source(source)!.inFlight++;
  }

  #end(source: string, block: number): void {
    const sources = this.#underWay.get(block);
    if (sources?.delete(source) !== true) return;
    this.#inFlight--;
    const state = this.#source(source);
    if (state !== undefined) state.inFlight--;
    if (sources.size > 0) return;
    this.#underWay.delete(block);
    if (!this.#has.has(block)) this.#openBlock(block);
  }

  #delivered(id: string, bytesPerMs: number): void {
    const source = this.#source(id);
    if (source === undefined) return;
    const before = source.bytesPerMs;
    source.bytesPerMs = before === null ? bytesPerMs : before + RATE_WEIGHT * (bytesPerMs - before);
    source.refusals = 0;
    if (source.failures > 0) {
      source.failures = 0;
      this.#countHolder(source, 1);
    }
  }

  #countHolder({ id, has, failures }: Source, by: 1 | -1): void {
    if (id === ORIGIN || failures > 0) return;
    for (const block of has) this.#holders[block]! += by;
    this.#ownership.fill(0);
  }

  #openBlock(block: number): void {
    if (this.#placeOf[block]! >= 0) return;
    // A random place keeps the order random.
    const place = Math.floor(this.#random() * (this.#open.length + 1));
    const moved = this.#open[place];
    this.#open.push(block);
    if (moved !== undefined) {
      this.#open[place] = block;
      this.#open[this.#open.length - 1] = moved;
      this.#placeOf[moved] = this.#open.length - 1;
    }
    this.#placeOf[block] = moved === undefined ? this.#open.length - 1 : place;
  }

  #closeBlock(block: number): void {
    const place = this.#placeOf[block]!;
    if (place < 0) return;
    const last = this.#open.pop()!;
    if (last !== block) {
      this.#open[place] = last;
      this.#placeOf[last] = place;
    }
    this.#placeOf[block] = -1;
  }
}

function newSource(id: string, blocks: number): Source {
  return {
    id,
    has: new BlockSet(blocks),
    fetching: new Map(),
    facts: null,
    inFlight: 0,
    bytesPerMs: null,
    restUntil: 0,
    failures: 0,
    refusals: 0,
  };
}

function medianOf(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[times.length >> 1] ?? 0;
}
