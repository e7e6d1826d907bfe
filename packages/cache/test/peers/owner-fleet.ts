/**
 * A model of a fleet that wants one object at once, in virtual time and without I/O. The decisions
 * are the real ones: `OwnerTracker` and the bytes of its questions. The model has the rest of a
 * node: a flight, a search for a source within a budget, at most two readers, beats, and the loss
 * of a source. A node refuses a neighbour from which it expects bytes itself. Messages take 0.2 to
 * 2 ms. Questions to owners may get lost, nodes may be killed (with or without a reset that tells
 * their readers), and lists of members may disagree and change.
 */

import type { Random } from '@bloomery/testkit/statistics';
import {
  decodeAnswer,
  decodeQuestion,
  encodeAnswer,
  encodeQuestion,
  type OwnerAnswer,
  type OwnerQuestion,
} from '../../src/peers/decisions/owner-question.ts';
import { OwnerTracker } from '../../src/peers/decisions/owner-tracker.ts';

export interface FleetOptions {
  readonly random: Random;
  readonly nodes: number;
  /** Time in which all nodes begin to want the object. */
  readonly spreadMs: number;
  readonly kills?: number;
  /** Time before which no node is killed. */
  readonly killsAfterMs?: number;
  /** Share of the questions to owners, and of their answers, that are lost. */
  readonly lossRate?: number;
  /** Number of different lists of members. */
  readonly views?: number;
  /** Nodes change from list to list. Otherwise each keeps one. */
  readonly flapping?: boolean;
  /** Time until the head from the origin. */
  readonly headMs?: number;
  /**
   * Holders send a beat each second to their readers, although their own source is silent. It is
   * the default, as in a real node: otherwise a silent death stalls the whole tree at once, and
   * nodes report sources as lost that only wait themselves.
   */
  readonly beats?: boolean;
}

export interface FleetResult {
  readonly fetches: number;
  /** Live nodes without the object when nothing happens any more. */
  readonly stuck: number;
  /** Length of the longest chain of sources at the time it was formed. */
  readonly depth: number;
  /** Circles of nodes that wait for each other's heads. */
  readonly circles: number;
  /** Fetches because an owner said so, because it did not answer, and after a vain search. */
  readonly told: number;
  readonly unanswered: number;
  readonly inVain: number;
  /** Owners that told a node to fetch. */
  readonly owners: number;
  readonly kills: number;
  readonly mostHops: number;
  readonly mostReaders: number;
  /** Time at which the last node had the object. */
  readonly endMs: number;
}

const PIECES = 40;
const PIECE_MS = 10;
const BUDGET_MS = 250;
const OWNER_MS = 20;
const STALL_MS = 2000;
const BEAT_MS = 1000;
const MOST_READERS = 2;
const MOST_HOPS = 2;
/** Time after which no node waits any more, unless it waits forever. */
const END_MS = 120_000;
const HASH = { low: 77, high: 99 };

/** The place from which a flight expects its bytes. */
type FlightSource = { kind: 'undecided' } | { kind: 'origin' } | { kind: 'node'; node: string };

interface Flight {
  source: FlightSource;
  hasHead: boolean;
  /** Whether an origin or a neighbour feeds it at the moment. */
  isFed: boolean;
  /** Raised with each new source, so that the news of earlier ones are ignored. */
  attempt: number;
  hops: number;
  searchEnds: number;
  lastNews: number;
  /** Nodes that wait for the head, and nodes that read. */
  readonly held: Set<FleetNode>;
  readonly readers: Set<FleetNode>;
}

interface FleetNode {
  readonly id: string;
  /** The members in its view; a view that flaps is another one at each question. */
  readonly views: readonly (readonly string[])[];
  readonly tracker: OwnerTracker;
  isAlive: boolean;
  pieces: number;
  flight: Flight | null;
}

export function runFleet(options: FleetOptions): FleetResult {
  return new Fleet(options).run();
}

class Fleet {
  readonly #options: FleetOptions;
  readonly #random: Random;
  readonly #nodes: FleetNode[] = [];
  readonly #byId = new Map<string, FleetNode>();
  readonly #owners = new Set<string>();
  readonly #known = new Set<string>();
  #queue: { at: number; order: number; run: () => void }[] = [];
  #order = 0;
  #now = 0;
  #fetches = 0;
  #depth = 0;
  #circles = 0;
  #told = 0;
  #unanswered = 0;
  #inVain = 0;
  #mostHops = 0;
  #mostReaders = 0;
  #endMs = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#random = options.random;
    const ids = Array.from({ length: options.nodes }, (_, i) => `n${i}`);
    const views = Array.from({ length: options.views ?? 1 }, (_, i) =>
      // The first list is complete, the others lack a third of the members.
      i === 0 ? ids : ids.filter(() => this.#random.below(3) > 0),
    );
    for (const id of ids) {
      const seen = options.flapping ? views : [this.#random.pick(views)];
      const tracker = new OwnerTracker();
      const node: FleetNode = {
        id,
        views: seen.map((view) => [...new Set([id, ...view])]),
        tracker,
        isAlive: true,
        pieces: 0,
        flight: null,
      };
      this.#nodes.push(node);
      this.#byId.set(id, node);
    }
  }

  run(): FleetResult {
    const { spreadMs, kills = 0, killsAfterMs = 0 } = this.#options;
    for (const node of this.#nodes)
      this.#after(this.#random.below(spreadMs * 1000) / 1000, () => this.#want(node));
    const victims = new Set<FleetNode>();
    // At least one node is left.
    while (victims.size < Math.min(kills, this.#nodes.length - 1))
      victims.add(this.#random.pick(this.#nodes));
    for (const victim of victims)
      this.#after(killsAfterMs + this.#random.below(600), () => this.#kill(victim));
    while (this.#queue.length > 0) {
      const { at, run } = this.#pop();
      if (at > END_MS) break;
      this.#now = at;
      run();
    }
    return {
      fetches: this.#fetches,
      stuck: this.#nodes.filter((node) => node.isAlive && node.pieces < PIECES).length,
      depth: this.#depth,
      circles: this.#circles,
      told: this.#told,
      unanswered: this.#unanswered,
      inVain: this.#inVain,
      owners: this.#owners.size,
      kills: victims.size,
      mostHops: this.#mostHops,
      mostReaders: this.#mostReaders,
      endMs: this.#endMs,
    };
  }

  // The search of a node for a source.

  #want(node: FleetNode): void {
    if (!node.isAlive) return;
    node.flight = {
      source: { kind: 'undecided' },
      hasHead: false,
      isFed: false,
      attempt: 0,
      hops: 0,
      searchEnds: this.#now + BUDGET_MS,
      lastNews: this.#now,
      held: new Set(),
      readers: new Set(),
    };
    this.#askOwner(node, node.flight, { kind: 'want', hash: HASH });
  }

  #askOwner(node: FleetNode, flight: Flight, question: OwnerQuestion): void {
    const attempt = ++flight.attempt;
    flight.source = { kind: 'undecided' };
    const decide = (answer: OwnerAnswer | null): void => {
      if (flight.attempt !== attempt || node.flight !== flight) return;
      if (answer?.kind === 'ask') {
        this.#askNode(node, flight, answer.node);
        return;
      }
      if (answer === null) this.#unanswered++;
      else this.#told++;
      this.#fetch(node, flight);
    };
    const owner = this.#ownerOf(node);
    if (owner === node) decide(this.#answer(owner, question, node.id));
    else {
      this.#send(() => {
        if (!owner.isAlive) return;
        const answer = encodeAnswer(this.#answer(owner, decodeQuestion(encodeQuestion(question))!, node.id));
        this.#send(() => decide(decodeAnswer(answer)));
      });
      this.#after(OWNER_MS, () => decide(null));
    }
  }

  #answer(owner: FleetNode, question: OwnerQuestion, from: string): OwnerAnswer {
    const answer = owner.tracker.answer(question, from, this.#now, (id) => !this.#known.has(id));
    if (answer.kind === 'fetch') this.#owners.add(owner.id);
    return answer;
  }

  /** The owner in the view of a node, without nodes that are known to be dead. */
  #ownerOf({ views }: FleetNode): FleetNode {
    const alive = this.#random.pick(views).filter((id) => !this.#known.has(id));
    const weight = (id: string) => Math.imul(Number(id.slice(1)) + 1, 0x9e3779b1) >>> 0;
    return this.#byId.get(alive.reduce((best, id) => (weight(id) < weight(best) ? id : best)))!;
  }

  #fetch(node: FleetNode, flight: Flight): void {
    const attempt = ++flight.attempt;
    flight.source = { kind: 'origin' };
    this.#fetches++;
    const next = (): void => {
      if (flight.attempt !== attempt || node.flight !== flight) return;
      this.#news(node, flight, node.pieces + 1);
      this.#after(PIECE_MS, next);
    };
    this.#after(this.#options.headMs ?? 50, () => {
      if (flight.attempt !== attempt || node.flight !== flight) return;
      this.#head(node, flight);
      next();
    });
  }

  #fetchInVain(node: FleetNode, flight: Flight): void {
    this.#inVain++;
    this.#fetch(node, flight);
  }

  #askNode(node: FleetNode, flight: Flight, id: string): void {
    const attempt = ++flight.attempt;
    const holder = this.#byId.get(id)!;
    flight.source = { kind: 'node', node: id };
    flight.hops++;
    this.#mostHops = Math.max(this.#mostHops, flight.hops);
    if (flight.held.delete(holder)) this.#refuse(holder, node, null);
    this.#send(() => this.#asked(holder, node, attempt), 0);
    this.#after(Math.max(0, flight.searchEnds - this.#now), () => {
      if (flight.attempt !== attempt || flight.isFed || node.flight !== flight) return;
      holder.flight?.held.delete(node);
      this.#fetchInVain(node, flight);
    });
  }

  /** A source refused, or was lost. */
  #lost(node: FleetNode, from: FleetNode, tryNode: string | null): void {
    const { flight } = node;
    if (flight === null || flight.source.kind !== 'node' || flight.source.node !== from.id) return;
    if (flight.isFed) {
      // A new search, for the rest of the body.
      flight.isFed = false;
      flight.hops = 0;
      flight.searchEnds = this.#now + BUDGET_MS;
      this.#askOwner(node, flight, { kind: 'lost', hash: HASH, source: from.id });
    } else if (flight.hops >= MOST_HOPS || this.#now >= flight.searchEnds) this.#fetchInVain(node, flight);
    else if (tryNode !== null && tryNode !== node.id) this.#askNode(node, flight, tryNode);
    else this.#askOwner(node, flight, { kind: 'lost', hash: HASH, source: from.id });
  }

  // The node that is asked.

  #asked(holder: FleetNode, asker: FleetNode, attempt: number): void {
    const isWanted = () => asker.flight?.attempt === attempt;
    if (!holder.isAlive) {
      this.#send(() => isWanted() && this.#lost(asker, holder, null), 0);
      return;
    }
    if (!isWanted()) return;
    const { flight } = holder;
    if (holder.pieces >= PIECES) {
      this.#send(() => isWanted() && this.#feed(holder, asker), 0);
      return;
    }
    if (flight === null) {
      this.#refuse(asker, holder, null);
      return;
    }
    const fed = [...flight.readers, ...flight.held];
    if (fed.length >= MOST_READERS) this.#refuse(asker, holder, this.#random.pick(fed).id);
    else if (flight.source.kind === 'node' && flight.source.node === asker.id)
      this.#refuse(asker, holder, null);
    else if (flight.hasHead) {
      flight.readers.add(asker);
      this.#mostReaders = Math.max(this.#mostReaders, flight.readers.size);
      this.#send(() => isWanted() && this.#feed(holder, asker), 0);
    } else {
      flight.held.add(asker);
      this.#noteChain(asker);
    }
  }

  #refuse(asker: FleetNode, holder: FleetNode, tryNode: string | null): void {
    const attempt = asker.flight?.attempt;
    this.#send(() => asker.flight?.attempt === attempt && this.#lost(asker, holder, tryNode), 0);
  }

  /** Gives a reader the head and all bytes that the holder has. */
  #feed(holder: FleetNode, reader: FleetNode): void {
    const { flight } = reader;
    if (flight === null || flight.source.kind !== 'node' || flight.source.node !== holder.id) return;
    if (!flight.isFed) {
      flight.isFed = true;
      flight.lastNews = this.#now;
      this.#noteChain(reader);
      this.#watchForStall(reader, flight, holder);
    }
    if (!flight.hasHead) this.#head(reader, flight);
    this.#news(reader, flight, holder.pieces);
  }

  #head(node: FleetNode, flight: Flight): void {
    flight.hasHead = true;
    flight.lastNews = this.#now;
    for (const waiter of flight.held) {
      flight.readers.add(waiter);
      this.#send(() => this.#feed(node, waiter), 0);
    }
    this.#mostReaders = Math.max(this.#mostReaders, flight.readers.size);
    flight.held.clear();
    if (this.#options.beats ?? true) this.#beat(node, flight);
  }

  /** Bytes have come, and are passed on to the readers. */
  #news(node: FleetNode, flight: Flight, pieces: number): void {
    if (pieces <= node.pieces) return;
    flight.lastNews = this.#now;
    node.pieces = Math.min(PIECES, pieces);
    for (const reader of flight.readers) this.#send(() => node.isAlive && this.#feed(node, reader), 0);
    if (node.pieces < PIECES) return;
    node.flight = null;
    this.#endMs = Math.max(this.#endMs, this.#now);
    const owner = this.#ownerOf(node);
    this.#send(() => owner.isAlive && this.#answer(owner, { kind: 'done', hash: HASH }, node.id));
  }

  #beat(node: FleetNode, flight: Flight): void {
    if (!node.isAlive || node.flight !== flight) return;
    for (const { flight: reading } of flight.readers) {
      if (reading !== null && reading.source.kind === 'node' && reading.source.node === node.id)
        reading.lastNews = this.#now;
    }
    this.#after(BEAT_MS, () => this.#beat(node, flight));
  }

  #watchForStall(reader: FleetNode, flight: Flight, holder: FleetNode): void {
    const { attempt } = flight;
    const look = (): void => {
      if (flight.attempt !== attempt || reader.flight !== flight) return;
      if (this.#now - flight.lastNews >= STALL_MS) {
        holder.flight?.readers.delete(reader);
        this.#lost(reader, holder, null);
      } else this.#after(flight.lastNews + STALL_MS - this.#now, look);
    };
    this.#after(STALL_MS, look);
  }

  #kill(victim: FleetNode): void {
    const { flight } = victim;
    victim.isAlive = false;
    victim.flight = null;
    // Most readers see a reset; some see nothing, as when a machine loses its power.
    for (const other of [...(flight?.readers ?? []), ...(flight?.held ?? [])]) {
      if (this.#random.below(4) > 0) this.#refuse(other, victim, null);
    }
    for (const node of this.#nodes) {
      node.flight?.readers.delete(victim);
      node.flight?.held.delete(victim);
    }
    this.#after(this.#random.below(100), () => this.#known.add(victim.id));
  }

  /** Measures the chain of sources from a node, and sees whether it comes back. */
  #noteChain(start: FleetNode): void {
    let depth = 0;
    let isWaiting = true;
    for (let node = start; depth <= this.#nodes.length; depth++) {
      const source: FlightSource | undefined = node.flight?.source;
      if (source?.kind !== 'node') break;
      const holder = this.#byId.get(source.node)!;
      isWaiting &&= holder.flight?.held.has(node) ?? false;
      node = holder;
      if (node === start) {
        if (isWaiting) this.#circles++;
        return;
      }
    }
    this.#depth = Math.max(this.#depth, depth);
  }

  /** A message between nodes; a question to an owner or its answer may be lost. */
  #send(run: () => void, lossRate = this.#options.lossRate ?? 0): void {
    if (lossRate > 0 && this.#random.below(10_000) < 10_000 * lossRate) return;
    this.#after(0.2 + this.#random.below(1800) / 1000, run);
  }

  #after(ms: number, run: () => void): void {
    // Times are multiples of 1/1024 ms, so that their sums and differences are exact.
    const event = { at: this.#now + Math.ceil(ms * 1024) / 1024, order: this.#order++, run };
    const queue = this.#queue;
    let place = queue.push(event) - 1;
    for (
      let above = (place - 1) >> 1;
      place > 0 && isBefore(event, queue[above]!);
      above = (place - 1) >> 1
    ) {
      queue[place] = queue[above]!;
      queue[above] = event;
      place = above;
    }
  }

  /** The earliest event, from the heap. */
  #pop(): { at: number; run: () => void } {
    const queue = this.#queue;
    const first = queue[0]!;
    const last = queue.pop()!;
    if (queue.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= queue.length) break;
      if (below + 1 < queue.length && isBefore(queue[below + 1]!, queue[below]!)) below++;
      if (!isBefore(queue[below]!, last)) break;
      queue[place] = queue[below]!;
      place = below;
    }
    queue[place] = last;
    return first;
  }
}

function isBefore(a: { at: number; order: number }, b: { at: number; order: number }): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
