/**
 * One ring of the console's history: rows of equal steps, the oldest of which makes room for the
 * next (docs/spec/console.md, "History"). Rows of a time that lies further back than the ring is
 * long are dropped as well, so the last hour of a node that was off for a day has no row of the day
 * before.
 *
 * A row is the difference of two counts, one at each end of its step. So nothing is added per
 * request, and a ring costs 16 numbers per row. The running row keeps its counts and its latency
 * buckets, and is written to disk with the rest: a node that is restarted within a step goes on
 * with its row, and the percentiles are those of both parts.
 *
 * It breaks down where the process is stopped for longer than a step (SIGSTOP, a machine that
 * sleeps): all that was counted since the last sample is in the row in which it stopped.
 */

import type { Counts } from './counts.ts';

export const HISTORY_COLUMNS = [
  'start',
  'local',
  'peer',
  'origin',
  'other',
  'failed',
  'bytesSent',
  'bytesFromOrigins',
  'bytesFromNeighbours',
  'summaryBytesIn',
  'summaryBytesOut',
  'trueHits',
  'falseHits',
  'p50Ms',
  'p99Ms',
  'peersUp',
] as const;

const WIDTH = HISTORY_COLUMNS.length;
const P50 = HISTORY_COLUMNS.indexOf('p50Ms');
const P99 = HISTORY_COLUMNS.indexOf('p99Ms');
const PEERS = HISTORY_COLUMNS.indexOf('peersUp');
/** The columns that are sums: all between `start` and the percentiles. */
const SUMS = P50 - 1;

export type HistoryRow = readonly (number | null)[];

/** The counts whose difference is a row: the columns that are sums, then latency buckets. */
export type Tally = Float64Array;

export function tallyOf({ requests, latency, ...counts }: Counts): Tally {
  const { hit, stale, collapsed, neighbour, miss, validated, bypass, tunnel, error, refused } = requests;
  return Float64Array.from([
    hit + stale + collapsed,
    neighbour,
    miss + validated,
    bypass + tunnel,
    error + refused,
    counts.bytesSent,
    counts.bytesFromOrigins,
    counts.bytesFromNeighbours,
    counts.summaryBytesIn,
    counts.summaryBytesOut,
    counts.trueHits,
    counts.falseHits,
    ...latency.cache.map((count, i) => count + (latency.other[i] ?? 0)),
  ]);
}

/** One look at the node. */
export interface Sample {
  readonly at: number;
  readonly tally: Tally;
  readonly peersUp: number;
}

/** A ring as it is written to disk. */
export interface SavedRing {
  readonly stepMs: number;
  readonly rows: readonly HistoryRow[];
  /** The running row. */
  readonly open: {
    readonly start: number;
    readonly tally: readonly number[];
    readonly peersUp: number;
  } | null;
}

interface OpenRow {
  readonly start: number;
  /** Counts of this row from before `base`. */
  readonly carried: Tally;
  readonly base: Tally;
  /** The counts and neighbours at the last sample. */
  last: Sample;
}

export class HistoryRing {
  readonly stepMs: number;
  readonly #capacity: number;
  readonly #boundsMs: readonly number[];
  /** The rows one behind the other; null is NaN. */
  readonly #numbers: Float64Array;
  #first = 0;
  #size = 0;
  #open: OpenRow | null = null;

  constructor(stepMs: number, capacity: number, boundsMs: readonly number[]) {
    this.stepMs = stepMs;
    this.#capacity = capacity;
    this.#boundsMs = boundsMs;
    this.#numbers = new Float64Array(capacity * WIDTH);
  }

  /** Bytes of the rows in memory. */
  get byteLength(): number {
    return this.#numbers.byteLength;
  }

  /**
   * Takes a sample. Returns the row that it completed, or null. The first sample of a node is
   * counted from zero.
   */
  take(sample: Sample): HistoryRow | null {
    const start = this.#startOf(sample.at);
    let done: HistoryRow | null = null;
    if (this.#open !== null && start > this.#open.start) {
      done = this.#rowAt(this.#open, sample);
      this.#push(done);
      this.#open = this.#begin(start, sample);
      this.#dropBefore(this.#oldestAt(sample.at));
    } else if (this.#open !== null && start < this.#open.start) {
      // The clock was set back.
      this.#dropFrom(start);
      this.#open = this.#begin(start, sample);
    }
    this.#open ??= { start, carried: zeros(sample), base: zeros(sample), last: sample };
    this.#open.last = sample;
    return done;
  }

  /**
   * All rows, the oldest first. The last one is that of the running step, up to the given sample
   * or, without one, up to the last sample.
   */
  rows(now: Sample | null): HistoryRow[] {
    const rows = Array.from({ length: this.#size }, (_, i) => this.#read(i));
    const open = this.#open;
    const sample = now ?? open?.last;
    if (sample === undefined) return rows;
    return open === null || this.#startOf(sample.at) < open.start
      ? rows
      : [...rows, this.#rowAt(open, sample)].slice(-this.#capacity);
  }

  save(): SavedRing {
    const open = this.#open;
    return {
      stepMs: this.stepMs,
      rows: Array.from({ length: this.#size }, (_, i) => this.#read(i)),
      open:
        open === null
          ? null
          : { start: open.start, tally: [...sumSince(open, open.last)], peersUp: open.last.peersUp },
    };
  }

  /**
   * Takes over the rows of an earlier node, which may be of any origin. Throws a `RangeError` if
   * they are not rows of such a ring. Rows of the future are left out, and so are rows that are
   * older than the ring is long.
   */
  load(saved: SavedRing, now: number): void {
    const { rows, open } = checkRing(saved, this.stepMs, this.#capacity, this.#boundsMs.length + 1);
    const oldest = this.#oldestAt(now);
    const isOfRing = (start: number) => start >= oldest && start <= now;
    for (const row of rows) if (isOfRing(row[0] as number)) this.#push(row);
    if (open === null || !isOfRing(open.start)) return;
    const tally = Float64Array.from(open.tally);
    const none = new Float64Array(tally.length);
    const last = { at: open.start, tally: none, peersUp: open.peersUp };
    const row: OpenRow = { start: open.start, carried: tally, base: none, last };
    if (open.start === this.#startOf(now)) this.#open = row;
    else this.#push(this.#rowAt(row, last));
  }

  #startOf(at: number): number {
    return Math.floor(at / this.stepMs) * this.stepMs;
  }

  /** The start of the oldest row that the ring has at a time, with the running one in it. */
  #oldestAt(at: number): number {
    return this.#startOf(at) - (this.#capacity - 1) * this.stepMs;
  }

  #begin(start: number, sample: Sample): OpenRow {
    return { start, carried: zeros(sample), base: sample.tally, last: sample };
  }

  #rowAt(open: OpenRow, sample: Sample): HistoryRow {
    const sums = sumSince(open, sample);
    const buckets = sums.subarray(SUMS);
    const row: (number | null)[] = [open.start, ...sums.subarray(0, SUMS)];
    row[P50] = percentile(buckets, this.#boundsMs, 0.5);
    row[P99] = percentile(buckets, this.#boundsMs, 0.99);
    row[PEERS] = sample.peersUp;
    return row;
  }

  #push(row: HistoryRow): void {
    const at = (this.#first + this.#size) % this.#capacity;
    row.forEach((value, i) => {
      this.#numbers[at * WIDTH + i] = value ?? Number.NaN;
    });
    if (this.#size < this.#capacity) this.#size++;
    else this.#first = (this.#first + 1) % this.#capacity;
  }

  #read(i: number): HistoryRow {
    const at = ((this.#first + i) % this.#capacity) * WIDTH;
    return Array.from(this.#numbers.subarray(at, at + WIDTH), (value) =>
      Number.isNaN(value) ? null : value,
    );
  }

  #beginOf(i: number): number {
    return this.#numbers[((this.#first + i) % this.#capacity) * WIDTH] as number;
  }

  /** Drops the newest rows, as far as they begin at `start` or later. */
  #dropFrom(start: number): void {
    while (this.#size > 0 && this.#beginOf(this.#size - 1) >= start) this.#size--;
  }

  /** Drops the oldest rows, as far as they begin before `start`. */
  #dropBefore(start: number): void {
    while (this.#size > 0 && this.#beginOf(0) < start) {
      this.#first = (this.#first + 1) % this.#capacity;
      this.#size--;
    }
  }
}

function zeros({ tally }: Sample): Tally {
  return new Float64Array(tally.length);
}

function sumSince({ carried, base }: OpenRow, { tally }: Sample): Tally {
  return carried.map((count, i) => count + Math.max(0, (tally[i] as number) - (base[i] as number)));
}

/** The upper bound of the bucket that has the quantile; -1 for the last one, null without any. */
export function percentile(buckets: Float64Array, boundsMs: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (let i = 0; i < boundsMs.length; i++) {
    below += buckets[i] as number;
    if (below >= share * total) return boundsMs[i] as number;
  }
  return -1;
}

function checkRing(saved: SavedRing, stepMs: number, capacity: number, buckets: number): SavedRing {
  const fail = (what: string): never => {
    throw new RangeError(`Cannot load the history: expected ${what} (step of ${stepMs} ms)`);
  };
  if (typeof saved !== 'object' || saved === null || saved.stepMs !== stepMs)
    return fail('a ring of this step');
  const { rows, open } = saved;
  if (!Array.isArray(rows) || rows.length > capacity) return fail(`at most ${capacity} rows`);
  let before = -1;
  for (const row of rows as unknown[]) {
    const isRow = Array.isArray(row) && row.length === WIDTH && row.every(isCount);
    if (!isRow || !isStart(row[0], stepMs) || row[0] <= before) return fail('rows of numbers, in order');
    before = row[0];
  }
  if (open === null) return saved;
  const isOpen =
    typeof open === 'object' &&
    isStart(open.start, stepMs) &&
    open.start > before &&
    Array.isArray(open.tally) &&
    open.tally.length === SUMS + buckets &&
    open.tally.every((count) => count !== null && isCount(count)) &&
    isCount(open.peersUp);
  return isOpen ? saved : fail('a running row');
}

function isStart(value: unknown, stepMs: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) % stepMs === 0;
}

function isCount(value: unknown): boolean {
  return value === null || (typeof value === 'number' && Number.isFinite(value) && value >= -1);
}
