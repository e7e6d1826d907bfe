/**
 * A reader's place in the log, and whether an entry is missing before it.
 *
 * Redis does not tell a reader that the log was trimmed past its place: XREAD goes on with the
 * oldest entry that is left. So the reader counts. Redis counts as well: a stream remembers how
 * many entries were ever added to it. After every look at the server (`check`) the reader knows how
 * many entries there must be up to a certain one, its target. If it reaches the target with another
 * count, or passes it, an entry is missing. The log says the same from inside: every trimming
 * leaves an entry with the count.
 *
 * The reader is fresh as of the moment at which it sent the look whose target it reached with the
 * right count. Every add that was acknowledged before that moment is in its filter.
 */

import { compareIds, type StreamId } from './add-id.ts';
import type { LogEntry } from './log-entry.ts';
import type { LogEnd } from './server-facts.ts';

/** The work that an entry asks for. */
export type EntryWork =
  | { readonly work: 'add'; readonly words: Int32Array }
  /** The snapshot has keys that are in no entry: load it. */
  | { readonly work: 'merge' }
  | { readonly work: 'nothing' }
  /** Entries are missing, or this one cannot be read: load the snapshot and read on from there. */
  | { readonly work: 'reload'; readonly problem: string };

export class LogFollower {
  #position: StreamId;
  #entries: number;
  #verified: StreamId;
  #target: (LogEnd & { readonly sentMs: number }) | null = null;
  #freshAsOfMs = Number.NEGATIVE_INFINITY;

  /** Begins after a snapshot that contains `entries` entries, the last of them at `position`. */
  constructor({ position, entries }: { readonly position: StreamId; readonly entries: number }) {
    this.#position = position;
    this.#entries = entries;
    this.#verified = position;
  }

  /** The last entry that was read. */
  get position(): StreamId {
    return this.#position;
  }

  /** The number of entries up to the position. */
  get entries(): number {
    return this.#entries;
  }

  /** The last entry up to which no entry is missing. */
  get verified(): StreamId {
    return this.#verified;
  }

  /** The time at which everything that was in the log is in the filter. */
  get freshAsOfMs(): number {
    return this.#freshAsOfMs;
  }

  take(id: StreamId, entry: LogEntry): EntryWork {
    if (compareIds(id, this.#position) <= 0) return reload(`entry ${id} after ${this.#position}`);
    this.#position = id;
    this.#entries++;
    if (entry.kind === 'unknown') return reload(`an entry with ${entry.problem}`);
    if ((entry.kind === 'trimmed' || entry.kind === 'merged') && entry.entries !== this.#entries)
      return reload(`${this.#entries} entries where the log says ${entry.entries}`);
    const target = this.#target;
    if (target !== null && compareIds(id, target.last) >= 0) {
      if (id !== target.last || this.#entries !== target.entries)
        return reload(`${this.#entries} entries at ${id} where the server has ${target.entries}`);
      this.#reached(target.sentMs);
    }
    if (entry.kind === 'hashes') return { work: 'add', words: entry.words };
    return { work: entry.kind === 'merged' ? 'merge' : 'nothing' };
  }

  /**
   * Ends a reply of XREAD. `isWhole` is true if the reply was not cut off by its limit, so that it
   * went to the end of the log.
   */
  endReply(isWhole: boolean): EntryWork {
    if (!isWhole) return { work: 'nothing' };
    if (this.#target !== null) return reload(`the end of the log before ${this.#target.last}`);
    // A trimming writes its entry in the same step, so a reader at the end has seen all of them.
    this.#verified = this.#position;
    return { work: 'nothing' };
  }

  /** Takes the end of the log from a look that was sent at `sentMs`, on the same connection. */
  check({ last, entries }: LogEnd, sentMs: number): EntryWork {
    const order = compareIds(last, this.#position);
    if (order < 0) return reload(`the end of the log at ${last} and this reader at ${this.#position}`);
    if (order === 0) {
      if (entries !== this.#entries)
        return reload(`${this.#entries} entries at ${last} where the server has ${entries}`);
      this.#reached(sentMs);
    } else {
      // An earlier target is nearer, and is reached first.
      this.#target ??= { last, entries, sentMs };
    }
    return { work: 'nothing' };
  }

  #reached(sentMs: number): void {
    this.#target = null;
    this.#verified = this.#position;
    this.#freshAsOfMs = Math.max(this.#freshAsOfMs, sentMs);
  }
}

function reload(problem: string): EntryWork {
  return { work: 'reload', problem };
}
