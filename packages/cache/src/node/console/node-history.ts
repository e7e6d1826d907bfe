/**
 * The history of a node: the last hour, day and week, in memory and in the node's disk folder
 * (docs/spec/console.md, "History"). Three rings of 984 rows are 126 kB.
 *
 * The file is replaced as a whole every minute and at the end. So a node that is killed loses a
 * minute at most, and its readers see a gap of that length. A file that cannot be read, or is no
 * history, is left out with a warning: it is worth less than the start of the node.
 */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '@bloomery/files';
import { BOUNDS_MS, type Counts } from './counts.ts';
import {
  HISTORY_COLUMNS,
  HistoryRing,
  type HistoryRow,
  type Sample,
  type SavedRing,
  tallyOf,
} from './history-ring.ts';

export const SPANS = {
  hour: { stepMs: 10_000, rows: 360 },
  day: { stepMs: 300_000, rows: 288 },
  week: { stepMs: 1_800_000, rows: 336 },
} as const;

export type Span = keyof typeof SPANS;

export interface History {
  readonly v: 1;
  readonly span: Span;
  readonly stepMs: number;
  readonly at: number;
  readonly columns: readonly string[];
  /** The oldest first; the last may be of a step that is not over. */
  readonly rows: readonly HistoryRow[];
}

/** The counts of the node now, or null if no process has told them yet. */
export type LookAtCounts = () => { readonly counts: Counts; readonly peersUp: number } | null;

export interface NodeHistoryOptions {
  readonly look: LookAtCounts;
  readonly clock: () => number;
  /** The disk folder of the node, or null if the history ends with it. */
  readonly folder: string | null;
  readonly warn: (problem: unknown) => void;
  /** Called with each row of the hour that is complete. */
  readonly rowDone?: (row: HistoryRow) => void;
}

const FILE = 'console-history.json';
const SAVE_EVERY_MS = 60_000;
/** A file of 984 rows with the largest numbers has less. */
const MOST_FILE_BYTES = 1_000_000;
/** Timers may be early by a millisecond. */
const SLACK_MS = 2;

export class NodeHistory {
  readonly #options: NodeHistoryOptions;
  readonly #rings: Readonly<Record<Span, HistoryRing>>;
  readonly #path: string | null;
  #timer: NodeJS.Timeout | null = null;
  /** The first file is written at the end of the first step. */
  #savedAt = Number.NEGATIVE_INFINITY;
  #saving: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(options: NodeHistoryOptions) {
    this.#options = options;
    this.#rings = newRings();
    this.#path = options.folder === null ? null : join(options.folder, FILE);
    if (this.#path !== null) this.#load(this.#path);
  }

  /** Whether the history outlives the node. */
  get isKept(): boolean {
    return this.#path !== null;
  }

  /** Begins to take samples, at the beginning of each step. */
  start(): void {
    this.#sample();
    this.#schedule();
  }

  history(span: Span): History {
    const { clock } = this.#options;
    const ring = this.#rings[span];
    const at = clock();
    return { v: 1, span, stepMs: ring.stepMs, at, columns: HISTORY_COLUMNS, rows: ring.rows(this.#look()) };
  }

  /** Takes a last sample, and writes the file. */
  async close(): Promise<void> {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#sample();
    this.#save();
    await this.#saving;
  }

  #schedule(): void {
    const { clock } = this.#options;
    const { stepMs } = SPANS.hour;
    const restMs = stepMs - (clock() % stepMs) + SLACK_MS;
    this.#timer = setTimeout(() => {
      this.#sample();
      if (clock() - this.#savedAt >= SAVE_EVERY_MS || clock() < this.#savedAt) this.#save();
      this.#schedule();
    }, restMs);
    this.#timer.unref();
  }

  #look(): Sample | null {
    const found = this.#options.look();
    if (found === null) return null;
    return { at: this.#options.clock(), tally: tallyOf(found.counts), peersUp: found.peersUp };
  }

  #sample(): void {
    const sample = this.#look();
    if (sample === null) return;
    const row = this.#rings.hour.take(sample);
    this.#rings.day.take(sample);
    this.#rings.week.take(sample);
    if (row !== null) this.#options.rowDone?.(row);
  }

  #save(): void {
    const path = this.#path;
    if (path === null) return;
    this.#savedAt = this.#options.clock();
    const { hour, day, week } = this.#rings;
    const text = JSON.stringify({ v: 1, hour: hour.save(), day: day.save(), week: week.save() });
    this.#saving = this.#saving
      .then(() => replaceFile(path, Buffer.from(text), { mode: 0o600 }))
      .then(
        () => {
          this.#isFailing = false;
        },
        (error) => {
          // A disk that is full stays so for a while.
          if (!this.#isFailing) this.#options.warn(error);
          this.#isFailing = true;
        },
      );
  }

  #load(path: string): void {
    const now = this.#options.clock();
    try {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) return;
      if (!found.isFile() || found.size > MOST_FILE_BYTES)
        throw new RangeError(`Cannot load the history: expected a file of at most ${MOST_FILE_BYTES} bytes`);
      const saved = JSON.parse(readFileSync(path, 'utf8')) as Record<Span, SavedRing> & { v: number };
      if (saved?.v !== 1)
        throw new RangeError(`Cannot load the history: expected version 1, got ${JSON.stringify(saved?.v)}`);
      // All or nothing: a ring that throws leaves no half history.
      const rings = newRings();
      for (const span of Object.keys(SPANS) as Span[]) rings[span].load(saved[span], now);
      Object.assign(this.#rings, rings);
    } catch (error) {
      this.#options.warn(error);
    }
  }
}

function newRings(): Record<Span, HistoryRing> {
  const ring = ({ stepMs, rows }: (typeof SPANS)[Span]) => new HistoryRing(stepMs, rows, BOUNDS_MS);
  return { hour: ring(SPANS.hour), day: ring(SPANS.day), week: ring(SPANS.week) };
}

/** RFC 4180: a header line, CRLF, times in UTC, nothing for null. */
export function historyCsv({ columns, rows }: History): string {
  const lines = rows.map(([start, ...rest]) =>
    [new Date(start as number).toISOString(), ...rest.map((value) => value ?? '')].join(','),
  );
  return [columns.join(','), ...lines, ''].join('\r\n');
}
