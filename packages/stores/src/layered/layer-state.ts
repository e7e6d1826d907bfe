/**
 * One base with the changes over it: what a read sees from its beginning to its end. A merge puts a
 * new state into the place of the old one. The old one is closed when its last reader has left, so
 * readers go on during a merge and none of them sees a new base with old changes.
 */

import type { Base } from './base.ts';
import type { ChangeLog } from './log/change-log.ts';
import type { ChangedKeys } from './log/changed-keys.ts';
import type { LoggedChange } from './log/log-bytes.ts';
import { hasKeyAt, type PlacedChange, readChangeAt, type Segment, scanSegment } from './log/segment-file.ts';

export class LayerState<V> {
  readonly base: Base<V>;
  readonly keys: ChangedKeys;
  readonly #log: ChangeLog;
  /** The segments that this state reads; new ones are added to the log and to this list. */
  readonly segments: Segment[];
  #readers = 0;
  #retire: (() => Promise<void>) | null = null;

  constructor(base: Base<V>, keys: ChangedKeys, log: ChangeLog) {
    this.base = base;
    this.keys = keys;
    this.#log = log;
    this.segments = [...log.segments];
  }

  enter(): this {
    this.#readers++;
    return this;
  }

  leave(): void {
    this.#readers--;
    if (this.#readers === 0 && this.#retire !== null) void this.#retire().catch(() => {});
  }

  /** Calls `close` once the last reader has left. */
  async retire(close: () => Promise<void>): Promise<void> {
    if (this.#readers === 0) await close();
    else this.#retire = close;
  }

  /** The position of the latest change of a key, by a read of the index. */
  find(key: Uint8Array): number | undefined {
    return this.keys.find(key, (position) => hasKeyAt(this.#segmentAt(position), position, key));
  }

  note(key: Uint8Array, position: number): void {
    this.keys.note(key, position, (at) => hasKeyAt(this.#segmentAt(at), at, key));
  }

  read(position: number): Promise<LoggedChange> {
    return readChangeAt(this.#segmentAt(position), position, this.#log.seed);
  }

  /** The changes before a position, in the order in which they were made. */
  async *changesBefore(end: number, signal: AbortSignal | undefined): AsyncGenerator<PlacedChange> {
    for (const segment of [...this.segments]) {
      if (segment.start >= end) return;
      // The end of the segment belongs to its writer: a scan sets it on a copy.
      const to = Math.min(end, segment.end);
      const scan = scanSegment({ ...segment }, { seed: this.#log.seed, to, isLast: false, signal });
      for await (const { changes } of scan) yield* changes;
    }
  }

  #segmentAt(position: number): Segment {
    const found = this.segments.findLast(({ start }) => start <= position);
    if (found === undefined)
      throw new RangeError(`Cannot read the log: expected a position in it, got ${position}`);
    return found;
  }
}
