/**
 * A file that is being fetched: its bytes in `NAME.bloomery-part`, and beside it a journal of the
 * blocks that are there, `NAME.bloomery-part.blocks`. A block is written first and recorded then,
 * so a killed process leaves no record without its block. A power failure may, and so every
 * recorded block is read and compared with its recorded hash when the file is opened again (about a
 * second per GiB). We refused to flush each block to the disk: the process would wait for the disk
 * hundreds of times to save that second.
 *
 *     journal   BLMJ, version (1), 3 zero bytes, size (8), digest (32); then records of 40 bytes:
 *               block (4), 1 if it is first-hand and 2 if it is dropped (1), 3 zero bytes, SHA-256 (32)
 *
 * A record is one write at the end of the file. A cut one at the end is dropped, and so is the
 * whole journal if it is about another digest. The lock keeps a second process away.
 */

import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type FileLock, lockFile, readAll, syncDirectory, writeAll } from '@bloomery/files';
import { BlockSet } from '../decisions/block-set.ts';
import { blockLength, type FileShape, shapeOf } from '../decisions/file-shape.ts';
import { HASH_BYTES, sha256 } from '../wire/hash-list.ts';

const MAGIC = 'BLMJ\x01\0\0\0';
const HEAD_BYTES = 48;
const RECORD_BYTES = 40;
const FIRST_HAND = 1;
const DROPPED = 2;
const READ_BYTES = 1024 * 1024;
const LOCK_WAIT_MS = 1000;

export class PartialFile {
  /** The place of the finished file. */
  readonly path: string;
  readonly digest: string;
  readonly #lock: FileLock | undefined;
  #shape: FileShape | null = null;
  #has = new BlockSet(0);
  #firstHand = new BlockSet(0);
  #hashes = Buffer.alloc(0);
  #data: number;
  #journal: number;
  #isPlaced = false;
  #isClosed = false;

  private constructor(path: string, digest: string, lock: FileLock | undefined) {
    this.path = path;
    this.digest = digest;
    this.#lock = lock;
    this.#data = openSync(partName(path), openFlags(partName(path)));
    this.#journal = openSync(journalName(path), openFlags(journalName(path)));
  }

  /** Opens a file that was begun before, or begins one. Waits a second for another process. */
  static async open(path: string, digest: string, signal?: AbortSignal): Promise<PartialFile> {
    const place = resolve(path);
    const lock = await lockFile(partName(place), { waitMs: LOCK_WAIT_MS, signal });
    try {
      const file = new PartialFile(place, digest, lock);
      await file.#recover(signal);
      return file;
    } catch (error) {
      lock?.release();
      throw error;
    }
  }

  get shape(): FileShape | null {
    return this.#shape;
  }

  get has(): BlockSet {
    return this.#has;
  }

  /** The blocks that came from the origin itself. */
  get firstHand(): BlockSet {
    return this.#firstHand;
  }

  /** The hashes of all blocks, one after the other; zeros for those that are not there. */
  get hashes(): Uint8Array {
    return this.#hashes;
  }

  hashOf(block: number): Uint8Array {
    return this.#hashes.subarray(block * HASH_BYTES, (block + 1) * HASH_BYTES);
  }

  /**
   * Takes the shape of the file, and drops the blocks that `keep` refuses. Without a shape before,
   * or with blocks of another size, all are dropped.
   */
  reshape(shape: FileShape, keep: (block: number, hash: Uint8Array) => boolean): void {
    const before = this.#shape;
    const kept: [number, Uint8Array, boolean][] = [];
    if (before?.blockBytes === shape.blockBytes)
      for (const block of this.#has) {
        const isSame = block < shape.blocks && blockLength(shape, block) === blockLength(before, block);
        const hash = Uint8Array.from(this.hashOf(block));
        if (isSame && keep(block, hash)) kept.push([block, hash, this.#firstHand.has(block)]);
      }
    this.#begin(shape);
    for (const [block, hash, isFirstHand] of kept) this.#record(block, hash, isFirstHand ? FIRST_HAND : 0);
  }

  /** Writes a block that was checked. One that is there already is replaced. */
  write(block: number, bytes: Uint8Array, hash: Uint8Array, isFirstHand: boolean): void {
    writeAll(this.#data, bytes, block * this.#shape!.blockBytes);
    this.#record(block, hash, isFirstHand ? FIRST_HAND : 0);
  }

  /** Notes that a block is the same at the origin. */
  confirm(block: number): void {
    this.#record(block, this.hashOf(block), FIRST_HAND);
  }

  drop(block: number): void {
    this.#record(block, new Uint8Array(HASH_BYTES), DROPPED);
  }

  /** Bytes that are there. */
  read(offset: number, length: number): Uint8Array {
    const bytes = Buffer.allocUnsafe(length);
    readAll(this.#data, bytes, offset);
    return bytes;
  }

  /** The SHA-256 of the whole file, in hexadecimal digits. */
  async hashAll(signal?: AbortSignal): Promise<string> {
    const { size } = this.#shape!;
    const hash = createHash('sha256');
    for (let at = 0; at < size; at += READ_BYTES) {
      hash.update(this.read(at, Math.min(READ_BYTES, size - at)));
      await letOthersRun(signal);
    }
    return hash.digest('hex');
  }

  /**
   * Gives the finished file its name. It can still be read here. Whether another file may be
   * replaced is for the caller to decide before.
   */
  async place(): Promise<void> {
    ftruncateSync(this.#data, this.#shape!.size);
    const handle = await open(partName(this.path), 'r+');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partName(this.path), this.path);
    rmSync(journalName(this.path), { force: true });
    syncDirectory(dirname(this.path));
    this.#isPlaced = true;
  }

  /** Lets go of the file. One that is not finished stays for the next attempt. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#data);
    closeSync(this.#journal);
    if (!this.#isPlaced && this.#has.size === 0) {
      rmSync(partName(this.path), { force: true });
      rmSync(journalName(this.path), { force: true });
    }
    this.#lock?.release();
  }

  #begin(shape: FileShape): void {
    this.#shape = shape;
    this.#has = new BlockSet(shape.blocks);
    this.#firstHand = new BlockSet(shape.blocks);
    this.#hashes = Buffer.alloc(shape.blocks * HASH_BYTES);
    const head = Buffer.alloc(HEAD_BYTES);
    head.write(MAGIC, 'latin1');
    head.writeBigUInt64LE(BigInt(shape.size), 8);
    head.write(this.digest, 16, 'hex');
    ftruncateSync(this.#journal, 0);
    writeAll(this.#journal, head, 0);
    this.#end = HEAD_BYTES;
    ftruncateSync(this.#data, shape.size);
  }

  #end = 0;

  #record(block: number, hash: Uint8Array, flags: number): void {
    const record = Buffer.alloc(RECORD_BYTES);
    record.writeUInt32LE(block, 0);
    record[4] = flags;
    record.set(hash, 8);
    writeAll(this.#journal, record, this.#end);
    this.#end += RECORD_BYTES;
    this.#enter(block, hash, flags);
  }

  #enter(block: number, hash: Uint8Array, flags: number): void {
    this.#hashes.set(hash, block * HASH_BYTES);
    if (flags === DROPPED) this.#has.delete(block);
    else this.#has.add(block);
    if (flags === FIRST_HAND) this.#firstHand.add(block);
    else this.#firstHand.delete(block);
  }

  async #recover(signal: AbortSignal | undefined): Promise<void> {
    const journal = readFileSync(journalName(this.path));
    const isOurs =
      journal.length >= HEAD_BYTES &&
      journal.toString('latin1', 0, 8) === MAGIC &&
      journal.toString('hex', 16, HEAD_BYTES) === this.digest;
    const size = isOurs ? Number(journal.readBigUInt64LE(8)) : -1;
    if (!isOurs || statSync(partName(this.path)).size !== size) return;
    const shape = shapeOf(size);
    const records = new Map<number, { hash: Uint8Array; flags: number }>();
    for (let at = HEAD_BYTES; at + RECORD_BYTES <= journal.length; at += RECORD_BYTES) {
      const block = journal.readUInt32LE(at);
      if (block < shape.blocks)
        records.set(block, { hash: journal.subarray(at + 8, at + RECORD_BYTES), flags: journal[at + 4]! });
    }
    const good: [number, { hash: Uint8Array; flags: number }][] = [];
    for (const [block, record] of records) {
      if (record.flags === DROPPED) continue;
      const bytes = this.read(block * shape.blockBytes, blockLength(shape, block));
      if (sha256(bytes).equals(record.hash)) good.push([block, record]);
      await letOthersRun(signal);
    }
    this.#begin(shape);
    for (const [block, { hash, flags }] of good) this.#record(block, hash, flags);
  }
}

/** The name of the file while it is fetched. */
export function partName(path: string): string {
  return `${path}.bloomery-part`;
}

function journalName(path: string): string {
  return `${partName(path)}.blocks`;
}

/** 'r+' keeps the bytes of a file that is there. */
function openFlags(path: string): string {
  return statSync(path, { throwIfNoEntry: false }) === undefined ? 'wx+' : 'r+';
}

async function letOthersRun(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal?.throwIfAborted();
}
