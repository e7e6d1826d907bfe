/**
 * The place in the log of the latest change of each key: a hash table in a scratch file, so that
 * memory holds the filter alone. It is derived from the log and rebuilt at each start. A crash
 * leaves at most a file that the next start removes.
 *
 * A slot has 16 bytes: the 64-bit hash of the key, and the position in the log plus one; zero means
 * empty. The first bits of the hash choose the slot, and the next slots follow (linear probing, at
 * most two thirds full). Equal hashes are not taken for equal keys: `isKey` compares with the log.
 * The hash is keyed by default, because chosen keys could otherwise fill one place of the table.
 *
 * Reads and writes are synchronous. They touch a file of about 32 bytes for each change, which the
 * system keeps in its cache, and no update can then come between the steps of another. While the
 * table is being filled or doubled it is in memory, up to 64 MiB; larger ones are filled in the
 * file.
 */

import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { writeAll } from '@bloomery/files';

export interface Hash64 {
  readonly low: number;
  readonly high: number;
}

/** Whether the change at a position of the log is about the key that is looked for. */
export type IsKey = (position: number) => boolean;

const SLOT = 16;
const LEAST_BITS = 8;
const MOST_BITS = 32;
/** Slots that one read brings. */
const WINDOW = 64;
const SWEEP = 4096;
const MOST_IN_MEMORY = 64 * 1024 * 1024;
const SCRATCH = /^\.index-[0-9a-f]{16}\.bloomery-scratch$/;

export class ChangeIndex {
  readonly #folder: string;
  readonly #window = Buffer.alloc(WINDOW * SLOT);
  #bits: number;
  /** The table while it is being filled; null when it is in the file. */
  #memory: Buffer | null;
  #descriptor = -1;
  #count = 0;

  /** An empty table. `expected` changes fit without doubling. */
  constructor(folder: string, expected = 0) {
    this.#folder = folder;
    this.#bits = bitsFor(expected);
    this.#memory = Buffer.alloc(SLOT * 2 ** Math.min(this.#bits, MOST_MEMORY_BITS));
    if (this.#bits > MOST_MEMORY_BITS) this.#open();
  }

  /** The number of keys. */
  get count(): number {
    return this.#count;
  }

  /** Bytes of the table, in memory or in the file. */
  get bytes(): number {
    return SLOT * 2 ** this.#bits;
  }

  /** The position of the latest change of a key, or undefined if it was not changed. */
  get(hash: Hash64, isKey: IsKey): number | undefined {
    const found = this.#find(hash, isKey);
    return found.position === 0 ? undefined : found.position - 1;
  }

  /** Notes a change. Call `reserve` before: this never grows the table. */
  set(hash: Hash64, position: number, isKey: IsKey): void {
    const { slot, position: before } = this.#find(hash, isKey);
    this.#put(slot, hash, position);
    if (before === 0) this.#count++;
  }

  /** Makes room for more keys. On a full disk this throws and leaves the table as it was. */
  reserve(more: number): void {
    if ((this.#count + more) * 3 <= 2 ** this.#bits * 2) return;
    const larger = new ChangeIndex(this.#folder, this.#count + Math.max(more, this.#count));
    try {
      for (const { low, high, position } of this.slots())
        larger.#put(larger.#free(high), { low, high }, position);
      larger.#count = this.#count;
      if (this.#memory === null) larger.seal();
    } catch (error) {
      larger.close();
      throw error;
    }
    this.close();
    this.#bits = larger.#bits;
    this.#memory = larger.#memory;
    this.#descriptor = larger.#descriptor;
  }

  /** Moves the table from memory into its file. */
  seal(): void {
    if (this.#memory === null) return;
    this.#open();
  }

  /** All hashes with the position of their latest change, in the order of the hashes. */
  *slots(): Generator<Hash64 & { readonly position: number }> {
    const all = 2 ** this.#bits;
    const piece = Buffer.alloc(Math.min(SWEEP, all) * SLOT);
    for (let slot = 0; slot < all; slot += SWEEP) {
      const bytes = this.#read(slot, Math.min(SWEEP, all - slot), piece);
      for (let at = 0; at < bytes.length; at += SLOT) {
        const position = positionAt(bytes, at);
        if (position === 0) continue;
        yield { low: bytes.readUInt32LE(at), high: bytes.readUInt32LE(at + 4), position: position - 1 };
      }
    }
  }

  close(): void {
    this.#memory = null;
    if (this.#descriptor >= 0) closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  /**
   * The slot of the key and its position plus one. If the key is missing, the free slot where it
   * belongs, and 0.
   */
  #find({ low, high }: Hash64, isKey: IsKey): { slot: number; position: number } {
    const all = 2 ** this.#bits;
    let slot = this.#home(high);
    for (;;) {
      const bytes = this.#read(slot, Math.min(WINDOW, all - slot), this.#window);
      for (let at = 0; at < bytes.length; at += SLOT, slot++) {
        const position = positionAt(bytes, at);
        const isHash = bytes.readUInt32LE(at) === low && bytes.readUInt32LE(at + 4) === high;
        if (position === 0 || (isHash && isKey(position - 1))) return { slot, position };
      }
      if (slot === all) slot = 0;
    }
  }

  /** The next free slot; only for keys that are not in the table. */
  #free(high: number): number {
    return this.#find({ low: -1, high }, () => false).slot;
  }

  #home(high: number): number {
    return high >>> (MOST_BITS - this.#bits);
  }

  #read(slot: number, count: number, into: Buffer): Buffer {
    const from = slot * SLOT;
    if (this.#memory !== null) return this.#memory.subarray(from, from + count * SLOT);
    const bytes = into.subarray(0, count * SLOT);
    const read = readSync(this.#descriptor, bytes, 0, bytes.length, from);
    // The file is shorter than the table only if it was never written there.
    if (read < bytes.length) bytes.fill(0, read);
    return bytes;
  }

  #put(slot: number, { low, high }: Hash64, position: number): void {
    const bytes = this.#memory?.subarray(slot * SLOT, (slot + 1) * SLOT) ?? Buffer.alloc(SLOT);
    bytes.writeUInt32LE(low, 0);
    bytes.writeUInt32LE(high, 4);
    bytes.writeBigUInt64LE(BigInt(position + 1), 8);
    if (this.#memory === null) writeAll(this.#descriptor, bytes, slot * SLOT);
  }

  /**
   * Makes the file. All of it is written, so that a full disk is noticed here and not when a change
   * that is already in the log has to be noted.
   */
  #open(): void {
    const path = join(this.#folder, `.index-${randomBytes(8).toString('hex')}.bloomery-scratch`);
    this.#descriptor = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
    const table = this.#memory ?? Buffer.alloc(0);
    const all = this.bytes;
    for (let at = 0; at < all; at += table.length) writeAll(this.#descriptor, table, at);
    this.#memory = null;
  }
}

const MOST_MEMORY_BITS = Math.log2(MOST_IN_MEMORY / SLOT);

function bitsFor(expected: number): number {
  const bits = Math.ceil(Math.log2(Math.max(1, expected) * 1.5));
  if (bits > MOST_BITS)
    throw new RangeError(`Cannot hold ${expected} changes: expected at most ${2 ** MOST_BITS / 1.5}`);
  return Math.max(LEAST_BITS, bits);
}

function positionAt(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at + 8) + 2 ** 32 * bytes.readUInt32LE(at + 12);
}

/** Removes scratch files that a killed process left before it could unlink them. */
export function removeScratch(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!SCRATCH.test(name)) continue;
    try {
      unlinkSync(join(folder, name));
    } catch {
      // another process removes it
    }
  }
}
