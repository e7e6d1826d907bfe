/**
 * The summaries of all neighbours, and one look at all of them: which neighbours may hold this key?
 *
 * A summary arrives as a sorted set of positions in a universe of the publisher's choice
 * (`SetSubscriber` of the library). Searching 256 sets of 100,000 positions took 260 µs, nearly all
 * of it waiting for memory. So all neighbours with the same universe share a bit-sliced table
 * (`FilterTable`), which answers in about a microsecond (bench/results/filter-table.md). Publishers
 * choose powers of two, so a fleet of similar nodes has one or two tables.
 *
 * A column of the table cannot forget a position. So the table only proposes: each candidate is
 * confirmed in its exact set. That makes a deletion count at once, keeps the rate of wrong answers
 * at that of the sender (size / universe), and lets the table be small: 10 to 20 bits per position
 * with five hashes propose at most one neighbour of 100 in vain, at about 1 µs each. A column is
 * rebuilt in slices when a quarter of its positions are deleted ones.
 *
 * While a column is being rebuilt after a new full state, the table may miss positions. Such a
 * neighbour is *unsettled*, and its set is searched directly.
 *
 * Memory: 4.6 to 6 bytes per position for the sets, 1.3 to 2.5 for the table. Above the limit the
 * tables are folded first, which costs vain confirmations but no wrong answer. If that is not
 * enough, the summary that asks for more is not kept.
 */

import { FilterTable, hashKey, hashScheme } from 'bloomery';
import { positionOf } from 'bloomery/wire';
import type { KeyedHash } from './neighbour-port.ts';
import type { SlicedWork, Steps } from './sliced-work.ts';

/** The positions of one neighbour, as its subscriber keeps them. */
export interface SummaryPositions {
  readonly universe: number;
  readonly size: number;
  readonly byteLength: number;
  /** Whether the set has a position, whether or not the set is current. */
  hasPosition(position: number): boolean;
  /**
   * All positions, rising. The set may change meanwhile. The iterator leaves out positions that are
   * added behind it; `change` reports those.
   */
  positions(): Iterable<number>;
}

/** One summary of one neighbour in the table. */
export interface SummaryMember {
  readonly address: string;
  /** The id of the secret under which its keys were hashed. */
  readonly keyId: number;
  /** The positions of its summary, or null before the first full state. */
  readonly positions: SummaryPositions | null;
  /** The messages by which it came; absent if they are not known. */
  readonly arrival?: SummaryArrival;
}

/** The messages by which a summary came. */
export interface SummaryArrival {
  /** Time at which it was current last, by `Clock.now`; null before the first full state. */
  readonly currentAt: number | null;
  /** Bytes of the last full state and of the last delta, as they came; null before the first. */
  readonly fullBytes: number | null;
  readonly deltaBytes: number | null;
  /** Time at which a summary that was dropped is asked for again, by `Clock.now`, or null. */
  readonly retryAt: number | null;
}

interface Place {
  readonly member: SummaryMember;
  universe: number;
  column: number;
  /** Deleted positions that are still in the column. */
  deleted: number;
  cancelRebuild: (() => void) | null;
  /** Whether the table may miss positions until the rebuild has ended. */
  isRebuiltFromNothing: boolean;
  /** Lists of additions that are on their way into the table. */
  additions: number;
}

interface UniverseTable {
  readonly universe: number;
  table: FilterTable;
  /** The place of each column, or null for a free one. */
  readonly places: (Place | null)[];
  candidates: Uint32Array;
}

const HASHES = 5;
const BITS_PER_POSITION = 10;
const LEAST_ROWS = 1024;
/** The fewest rows per position to which a table is folded. */
const FOLDED_BITS = 3;
const REBUILD_SHARE = 0.25;
/**
 * The most rows of a table that is copied in one go when it gets more columns, which takes 0.8 ms.
 * The columns of a larger table are rebuilt in slices: with 2^20 rows, which are 100,000 positions,
 * copying took 6 to 16 ms at once.
 */
const ROWS_COPIED_AT_ONCE = 2 ** 17;
const SCHEME = /* @__PURE__ */ hashScheme();

export class NeighbourSummaries {
  readonly #limitBytes: number;
  readonly #work: SlicedWork;
  readonly #failed: (error: unknown) => void;
  readonly #tables = new Map<number, UniverseTable>();
  readonly #places = new Map<SummaryMember, Place>();
  readonly #unsettled = new Set<Place>();

  constructor(options: {
    readonly limitBytes: number;
    readonly work: SlicedWork;
    readonly failed: (error: unknown) => void;
  }) {
    this.#limitBytes = options.limitBytes;
    this.#work = options.work;
    this.#failed = options.failed;
  }

  get byteLength(): number {
    let sum = 0;
    for (const { table } of this.#tables.values()) sum += table.byteLength;
    for (const { member } of this.#places.values()) sum += member.positions?.byteLength ?? 0;
    return sum;
  }

  /** Memory of one neighbour: its set, and its share of the table. */
  bytesOf(member: SummaryMember): number {
    const place = this.#places.get(member);
    if (place === undefined) return 0;
    const { table } = this.#tables.get(place.universe)!;
    return (member.positions?.byteLength ?? 0) + Math.ceil(table.rows / 8);
  }

  /**
   * The neighbours that may hold the key, at most `most` of them, by their summaries under the
   * secret of the hash.
   */
  candidates(hash: KeyedHash, most = Number.POSITIVE_INFINITY): SummaryMember[] {
    const found: SummaryMember[] = [];
    for (const { universe, table, places, candidates } of this.#tables.values()) {
      const position = positionOf(hash, universe);
      if (table.candidates(hashKey(position, SCHEME), candidates) > 0) {
        for (let w = 0; w < candidates.length; w++) {
          for (let rest = candidates[w]; rest !== 0; rest &= rest - 1) {
            const place = places[32 * w + 31 - Math.clz32(rest & -rest)];
            if (place?.member.keyId !== hash.keyId || this.#unsettled.has(place)) continue;
            if (place.member.positions?.hasPosition(position)) found.push(place.member);
            if (found.length >= most) return found;
          }
        }
      }
    }
    for (const { member, universe } of this.#unsettled) {
      if (member.keyId !== hash.keyId) continue;
      if (member.positions?.hasPosition(positionOf(hash, universe))) found.push(member);
      if (found.length >= most) return found;
    }
    return found;
  }

  /**
   * Takes a new full state of a neighbour. Returns false if there is no memory for it; the
   * neighbour is then left out.
   */
  reset(member: SummaryMember): boolean {
    const { positions } = member;
    let place = this.#places.get(member);
    if (positions === null || (place !== undefined && place.universe !== positions.universe)) {
      this.remove(member);
      place = undefined;
    }
    if (positions === null) return true;
    if (place === undefined) {
      place = {
        member,
        universe: positions.universe,
        column: -1,
        deleted: 0,
        cancelRebuild: null,
        isRebuiltFromNothing: false,
        additions: 0,
      };
      this.#places.set(member, place);
      const own = this.#tableFor(positions.universe, positions.size);
      this.#takeColumn(own, place);
    }
    this.#fit(place);
    if (!this.#withinLimit()) {
      this.remove(member);
      return false;
    }
    this.#rebuild(place);
    return true;
  }

  /**
   * Takes changes of a neighbour that has been reset before. Returns false if there is no memory
   * for them; the neighbour is then left out.
   */
  change(member: SummaryMember, added: Float64Array | readonly number[], removed: number): boolean {
    const place = this.#places.get(member);
    if (place === undefined) return true;
    if (added.length <= BATCH) this.#tables.get(place.universe)!.table.addMany(place.column, added);
    else this.#addInSteps(place, added);
    place.deleted += removed;
    const size = member.positions?.size ?? 0;
    if (!this.#fit(place) && place.deleted > REBUILD_SHARE * size + 100 && place.cancelRebuild === null)
      this.#rebuild(place, false);
    if (this.#withinLimit()) return true;
    this.remove(member);
    return false;
  }

  remove(member: SummaryMember): void {
    const place = this.#places.get(member);
    if (place === undefined) return;
    this.#places.delete(member);
    this.#unsettled.delete(place);
    place.cancelRebuild?.();
    const own = this.#tables.get(place.universe)!;
    own.places[place.column] = null;
    // The next member of the column is unsettled until its rebuild has replaced these bits.
    if (own.places.every((each) => each === null)) this.#tables.delete(place.universe);
  }

  /** Gives the table of a place more rows if its summary has outgrown it. True if it did. */
  #fit(place: Place): boolean {
    const own = this.#tables.get(place.universe)!;
    const size = place.member.positions?.size ?? 0;
    if (own.table.rows >= 0.75 * BITS_PER_POSITION * size || this.#isFolded(own)) return false;
    own.table = newTable(rowsFor(2 * size), own.places.length);
    for (const each of own.places) if (each !== null) this.#rebuild(each);
    return true;
  }

  #takeColumn(own: UniverseTable, place: Place): void {
    const free = own.places.indexOf(null);
    place.column = free < 0 ? own.places.length : free;
    own.places[place.column] = place;
    const { rows, columns } = own.table;
    if (place.column < columns) return;
    const wanted = Math.max(place.column + 1, 2 * columns);
    if (rows <= ROWS_COPIED_AT_ONCE) {
      own.table.grow(wanted);
    } else {
      own.table = newTable(rows, wanted);
      for (const each of own.places) if (each !== null) this.#rebuild(each);
    }
    own.candidates = new Uint32Array(own.table.candidateWords);
  }

  #isFolded(own: UniverseTable): boolean {
    return this.byteLength + own.table.byteLength > this.#limitBytes;
  }

  /** Folds tables if memory is short. Returns false if that is not enough. */
  #withinLimit(): boolean {
    if (this.byteLength <= this.#limitBytes) return true;
    for (const own of this.#tables.values()) {
      const largest = Math.max(...own.places.map((place) => place?.member.positions?.size ?? 0));
      while (
        this.byteLength > this.#limitBytes &&
        own.table.rows >= 2 * Math.max(LEAST_ROWS, FOLDED_BITS * largest)
      ) {
        own.table.fold();
        // Folding cancels rebuilds, so they begin again.
        for (const each of own.places) if (each !== null && each.cancelRebuild !== null) this.#rebuild(each);
      }
    }
    return this.byteLength <= this.#limitBytes;
  }

  #tableFor(universe: number, size: number): UniverseTable {
    const known = this.#tables.get(universe);
    if (known !== undefined) return known;
    const table = newTable(rowsFor(size), 1);
    const made = { universe, table, places: [], candidates: new Uint32Array(table.candidateWords) };
    this.#tables.set(universe, made);
    return made;
  }

  /** Adds many positions to a column. It is unsettled meanwhile. */
  #addInSteps(place: Place, added: Float64Array | readonly number[]): void {
    place.additions++;
    this.#settle(place);
    const end = () => {
      place.additions--;
      this.#settle(place);
    };
    this.#work.run(this.#additionSteps(place, added), end, (error) => {
      // The set itself still answers, for as long as the neighbour is in this place.
      this.#failed(error);
    });
  }

  *#additionSteps(place: Place, added: Float64Array | readonly number[]): Steps<void> {
    for (let at = 0; at < added.length; at += BATCH) {
      if (this.#places.get(place.member) !== place) return;
      // The table may be another one at each step; a rebuild has then begun as well.
      this.#tables.get(place.universe)!.table.addMany(place.column, added.slice(at, at + BATCH));
      yield;
    }
  }

  /** Rebuilds a column from its set. It is unsettled meanwhile, unless it lacks nothing. */
  #rebuild(place: Place, lacks = true): void {
    const own = this.#tables.get(place.universe)!;
    place.cancelRebuild?.();
    place.deleted = 0;
    if (lacks) place.isRebuiltFromNothing = true;
    this.#settle(place);
    place.cancelRebuild = this.#work.run(
      rebuildSteps(own.table, place),
      () => {
        place.cancelRebuild = null;
        place.isRebuiltFromNothing = false;
        this.#settle(place);
      },
      (error) => {
        // The set itself still answers.
        place.cancelRebuild = null;
        place.isRebuiltFromNothing = true;
        this.#settle(place);
        this.#failed(error);
      },
    );
  }

  /** Notes whether the table answers for a place, or only its set does. */
  #settle(place: Place): void {
    const isThere = this.#places.get(place.member) === place;
    if (isThere && (place.isRebuiltFromNothing || place.additions > 0)) this.#unsettled.add(place);
    else this.#unsettled.delete(place);
  }
}

function newTable(rows: number, columns: number): FilterTable {
  return new FilterTable({ rows, hashes: HASHES, columns: Math.max(1, columns) });
}

/** A power of two, so that the table can be folded. */
function rowsFor(size: number): number {
  return Math.max(LEAST_ROWS, 2 ** Math.ceil(Math.log2(BITS_PER_POSITION * Math.max(1, size))));
}

/** Positions that are added to the set meanwhile are added to the table as well (`change`). */
function* rebuildSteps(table: FilterTable, { member, column }: Place): Steps<void> {
  const rebuild = table.rebuild(column);
  let batch: number[] = [];
  for (const position of member.positions?.positions() ?? []) {
    if (batch.push(position) < BATCH) continue;
    rebuild.addMany(batch);
    batch = [];
    yield;
    // The table was folded or replaced, and another rebuild has begun.
    if (rebuild.state !== 'open') return;
  }
  rebuild.addMany(batch);
  while (rebuild.step()) yield;
}

/** Positions that one step of a rebuild adds. */
const BATCH = 512;
