/**
 * Packs: append-only files of records.
 *
 * A pack is full at `packBytes` (a 32nd of the capacity, at most 256 MiB), then the next one
 * begins. Each start also begins a new one, so nothing is written after a torn end. The index knows
 * which records are live. The rest is garbage, which is removed by moving the live records of a
 * pack to the newest one and deleting the file (room.ts). A record longer than a pack is a pack of
 * its own.
 *
 * Why small bodies are in packs and not in files of their own: disk-store.ts has the measurement.
 */

import { readdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '@bloomery/files';
import { closeFile, openFile, readFully, writeFully } from '../file-io.ts';
import { SharedFile } from './open-files.ts';

export interface Place {
  readonly pack: number;
  readonly offset: number;
}

interface Pack {
  bytes: number;
  live: number;
}

/** Number of packs that stay open for reading. */
const OPEN_PACKS = 64;
/** Offsets are 32 bits. */
const MOST_PACK_BYTES = 256 * 1024 * 1024;

export class Packs {
  readonly #folder: string;
  #packBytes = 1;
  readonly #packs = new Map<number, Pack>();
  readonly #open = new Map<number, SharedFile>();
  #active = 0;
  #fd = -1;
  #closed = false;
  /** Totals of all packs: bytes in the files, and live bytes. */
  bytes = 0;
  liveBytes = 0;

  constructor(folder: string, capacityBytes: number) {
    this.#folder = folder;
    this.fit(capacityBytes);
    for (const name of readdirSync(folder)) {
      if (!/^\d{8,}$/.test(name)) continue;
      const { size } = statSync(join(folder, name));
      this.#packs.set(Number(name), { bytes: size, live: 0 });
      this.bytes += size;
      this.#active = Math.max(this.#active, Number(name));
    }
  }

  /** Bytes at which a pack is full. */
  get packBytes(): number {
    return this.#packBytes;
  }

  /** Sets the size of later packs for a capacity, which changes with the room of the volume. */
  fit(capacityBytes: number): void {
    this.#packBytes = Math.max(1, Math.min(MOST_PACK_BYTES, Math.ceil(capacityBytes / 32)));
  }

  /** Whether the record can exist: its file is long enough. */
  holds(pack: number, offset: number, bytes: number): boolean {
    const known = this.#packs.get(pack);
    return known !== undefined && offset + bytes <= known.bytes;
  }

  addLive(pack: number, bytes: number): void {
    const known = this.#packs.get(pack);
    if (known !== undefined) known.live += bytes;
    this.liveBytes += bytes;
  }

  /** Writes records one after the other. Returns the position of the first one. */
  async append(records: readonly Buffer[]): Promise<Place> {
    let bytes = 0;
    for (const record of records) bytes += record.length;
    let pack = this.#fd < 0 ? undefined : this.#packs.get(this.#active);
    if (pack === undefined || (pack.bytes > 0 && pack.bytes + bytes > this.#packBytes))
      pack = await this.#begin();
    const offset = pack.bytes;
    await writeFully(this.#fd, records, offset);
    pack.bytes += bytes;
    this.bytes += bytes;
    return { pack: this.#active, offset };
  }

  /**
   * A record's bytes; fewer than requested if the file ends before. Rejects with ENOENT if the pack
   * is gone.
   */
  async read(pack: number, offset: number, bytes: number): Promise<Buffer> {
    if (this.#closed)
      throw new Error('Cannot read from a pack: expected an open store, got one whose packs are closed');
    // While its file is being deleted it could still be opened, and would then stay open without
    // users.
    if (!this.#packs.has(pack))
      throw Object.assign(new Error(`Cannot read from pack ${pack}: it is gone`), { code: 'ENOENT' });
    const file = this.#opened(pack).retain();
    try {
      await file.opening;
    } catch (error) {
      if (this.#open.get(pack) === file) this.#open.delete(pack);
      throw error;
    }
    try {
      const target = Buffer.allocUnsafeSlow(bytes);
      const count = await readFully(file.fd, target, offset);
      return target.subarray(0, count);
    } finally {
      file.release();
    }
  }

  /**
   * Makes a record unreadable in place, which needs no room on the disk. A record whose pack is
   * gone is already unreadable.
   */
  async scratch({ pack, offset }: Place): Promise<void> {
    let fd: number;
    try {
      fd = await openFile(this.#path(pack), 'r+');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return;
      throw error;
    }
    try {
      await writeFully(fd, [new Uint8Array(8)], offset);
    } finally {
      closeFile(fd);
    }
  }

  /**
   * The pack with the most garbage, if that is at least `share` of it. The pack is not written to
   * any more.
   */
  mostGarbage(share: number): number | undefined {
    let best: number | undefined;
    let most = 0;
    for (const [number, { bytes, live }] of this.#packs) {
      const garbage = bytes - live;
      if (garbage > most && garbage >= share * bytes) {
        best = number;
        most = garbage;
      }
    }
    if (best === this.#active) this.seal();
    return best;
  }

  /** The next record begins a new pack. */
  seal(): void {
    if (this.#fd >= 0) closeFile(this.#fd);
    this.#fd = -1;
  }

  async remove(number: number): Promise<void> {
    const pack = this.#packs.get(number);
    if (pack === undefined) return;
    if (number === this.#active) this.seal();
    this.#packs.delete(number);
    this.bytes -= pack.bytes;
    this.#open.get(number)?.release();
    this.#open.delete(number);
    await rm(this.#path(number), { force: true });
  }

  /** Packs without live records. */
  empty(): number[] {
    return [...this.#packs].filter(([, pack]) => pack.live === 0).map(([number]) => number);
  }

  close(): void {
    this.#closed = true;
    this.seal();
    for (const file of this.#open.values()) file.release();
    this.#open.clear();
  }

  #opened(number: number): SharedFile {
    let file = this.#open.get(number);
    if (file === undefined) file = new SharedFile(openFile(this.#path(number), 'r'));
    else this.#open.delete(number);
    // The map is in the order of use.
    this.#open.set(number, file);
    if (this.#open.size > OPEN_PACKS) {
      const [[oldest, idle]] = this.#open;
      this.#open.delete(oldest);
      idle.release();
    }
    return file;
  }

  async #begin(): Promise<Pack> {
    this.seal();
    const number = this.#active + 1;
    this.#fd = await openFile(this.#path(number), 'wx');
    this.#active = number;
    const pack = { bytes: 0, live: 0 };
    this.#packs.set(number, pack);
    return pack;
  }

  #path(number: number): string {
    return join(this.#folder, String(number).padStart(8, '0'));
  }
}
