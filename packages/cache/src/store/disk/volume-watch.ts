/**
 * Keeps a store within the room that its volume has: measures the free bytes when the store is
 * opened, and makes room when a write is refused (volume-limit.ts decides by how much).
 *
 * The refused write itself is not tried again. Its response passes to the clients and is not kept;
 * evictions wait for their turn between two batches, because an entry must not go between a
 * decision and its execution (ledger.ts).
 */

import { statfs } from 'node:fs/promises';
import { isFullError } from './file-io.ts';
import type { Ledger } from './ledger.ts';
import { keepReserve, reserveBytes } from './reserve-file.ts';
import type { Room } from './room.ts';

export interface VolumeWatchParts {
  readonly folder: string;
  /** The configured capacity. */
  readonly capacityBytes: number;
  readonly room: Room;
  readonly ledger: Ledger;
  /** No more changes are accepted. */
  closed(): boolean;
  /** The store uses at most `bytes` bytes from now on, which is less than before. */
  onSmaller(bytes: number): void;
  /** Milliseconds of a monotonic clock. */
  monotonic(): number;
}

export class VolumeWatch {
  readonly #parts: VolumeWatchParts;
  /** Entries are being evicted, or the free room is being measured. */
  #busy = false;

  constructor(parts: VolumeWatchParts) {
    this.#parts = parts;
  }

  /** Called once, when the store knows its entries: evicts those for which there is no room. */
  async open(): Promise<void> {
    const { folder, capacityBytes, room, ledger } = this.#parts;
    await this.#measure();
    // The configured capacity may be smaller than last time, as well as the volume.
    if (!room.has(0)) await ledger.turn(() => room.hold(0));
    await keepReserve(folder, reserveBytes(capacityBytes));
  }

  /** Called for each write that failed. Only a full volume matters here. */
  writeFailed(error: unknown, bytes: number): void {
    const { room, ledger } = this.#parts;
    if (!isFullError(error) || this.#parts.closed()) return;
    room.refused(bytes, this.#parts.monotonic());
    this.#parts.onSmaller(room.capacityBytes);
    this.#do(() =>
      ledger.turn(async () => {
        if (!this.#parts.closed()) await room.hold(0);
      }),
    );
  }

  /** Called before room is needed: the capacity rises again if the volume has room again. */
  measureAgain(): void {
    if (this.#parts.room.mayRise(this.#parts.monotonic())) this.#do(() => this.#measure());
  }

  #do(task: () => Promise<unknown>): void {
    if (this.#busy) return;
    this.#busy = true;
    task()
      .catch(() => {})
      .finally(() => {
        this.#busy = false;
      });
  }

  async #measure(): Promise<void> {
    const { folder, room, onSmaller } = this.#parts;
    const before = room.capacityBytes;
    // A file system that cannot be asked is taken for large enough; its writes will show.
    const free = await statfs(folder).then(
      ({ bavail, bsize }) => bavail * bsize,
      () => Number.POSITIVE_INFINITY,
    );
    room.measured(free, this.#parts.monotonic());
    if (room.capacityBytes < before) onSmaller(room.capacityBytes);
  }
}
