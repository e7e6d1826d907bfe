/**
 * The lines that `uniq --exact FILE` has passed, in a text file in the order in which they passed.
 * Where a filter would drop a new line with its rate, this set is never wrong: lines with the same
 * hash are compared byte by byte, and the file is read for that.
 *
 * An index in memory holds a part of the hash and the place in the file for each line, 16 bytes in
 * a table that is at most three quarters full. So the memory grows with the number of distinct
 * lines: about 21 to 43 bytes each, whatever their length. That is the price of exactness; without
 * `--exact` a filter takes 4 to 8 bytes per line at a rate of one in a million. We refused digests
 * without comparison, because two lines with one digest would be a false positive again.
 *
 * Lines are appended before they are printed, so a line that was printed is in the file. A last
 * line that a crash cut off is completed by its newline at the next start.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { writeAll } from '@bloomery/files';
import { type HashScheme, hashKeys, type KeyHash, lineEnds } from 'bloomery';
import type { ExactSet } from './line-sieve.ts';

/** A line as bytes, without its end. */
type LineAt = (record: number) => Uint8Array;

export class ExactLines {
  readonly #descriptor: number;
  readonly #end: number;
  #length: number;
  /** Place of each line plus 1, or 0 for a free slot. */
  #places = new Float64Array(1024);
  #hashes = new Float64Array(1024);
  #count = 0;
  /** Lines that are not in the file yet. */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;

  private constructor(descriptor: number, end: number) {
    this.#descriptor = descriptor;
    this.#end = end;
    this.#length = fstatSync(descriptor).size;
  }

  /**
   * Opens the file, or creates it. `onLines` gets the hashes of the lines that it has. `end` is the
   * byte that ends a line.
   */
  static open(
    path: string,
    { scheme, end }: { readonly scheme: HashScheme; readonly end: number },
    onLines: (words: Int32Array) => void,
  ): ExactLines {
    const lines = new ExactLines(openSync(path, 'a+'), end);
    lines.#complete();
    for (const { bytes, ends, at } of lines.#parts()) {
      const offsets = Uint32Array.from([0, ...ends]);
      const keys = withoutEnds(bytes, offsets, end);
      const { words } = hashKeys(keys, scheme);
      for (let i = 0; i < ends.length; i++) {
        const [low, high] = [words[2 * i] >>> 0, words[2 * i + 1] >>> 0];
        lines.#insert(packed53(low, high), at + offsets[i]);
      }
      onLines(words);
    }
    return lines;
  }

  /** The set for a batch of lines, of which `lineAt` gives the bytes. */
  forBatch(lineAt: LineAt): ExactSet {
    return { add: (record, hash) => this.#add(lineAt(record), hash) };
  }

  get count(): number {
    return this.#count;
  }

  /** Writes the lines that were added since the last call. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const bytes = Buffer.concat(this.#waiting);
    writeAll(this.#descriptor, bytes);
    this.#length += bytes.length;
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  #add(line: Uint8Array, { low, high }: KeyHash): boolean {
    const hash = packed53(low, high);
    const mask = this.#places.length - 1;
    for (let slot = low & mask; this.#places[slot] !== 0; slot = (slot + 1) & mask) {
      if (this.#hashes[slot] === hash && this.#isAt(this.#places[slot] - 1, line)) return false;
    }
    this.#insert(hash, this.#length + this.#waitingBytes);
    const whole = new Uint8Array(line.length + 1);
    whole.set(line);
    whole[line.length] = this.#end;
    this.#waiting.push(whole);
    this.#waitingBytes += whole.length;
    return true;
  }

  /** Whether the line at a place of the file is this one. */
  #isAt(place: number, line: Uint8Array): boolean {
    if (place >= this.#length) this.flush(); // it is among the lines that wait
    const found = new Uint8Array(line.length + 1);
    if (readSync(this.#descriptor, found, 0, found.length, place) < found.length) return false;
    return found[line.length] === this.#end && Buffer.compare(found.subarray(0, line.length), line) === 0;
  }

  #insert(hash: number, place: number): void {
    if (4 * (this.#count + 1) > 3 * this.#places.length) this.#grow();
    this.#count++;
    const mask = this.#places.length - 1;
    let slot = lowOf(hash) & mask;
    while (this.#places[slot] !== 0) slot = (slot + 1) & mask;
    this.#places[slot] = place + 1;
    this.#hashes[slot] = hash;
  }

  #grow(): void {
    const [places, hashes] = [this.#places, this.#hashes];
    this.#places = new Float64Array(2 * places.length);
    this.#hashes = new Float64Array(2 * places.length);
    this.#count = 0;
    for (let i = 0; i < places.length; i++) if (places[i] !== 0) this.#insert(hashes[i], places[i] - 1);
  }

  /** Ends a last line that a crash cut off. */
  #complete(): void {
    if (this.#length === 0) return;
    const last = new Uint8Array(1);
    readSync(this.#descriptor, last, 0, 1, this.#length - 1);
    if (last[0] === this.#end) return;
    writeAll(this.#descriptor, Uint8Array.of(this.#end));
    this.#length++;
  }

  /** The file in parts of whole lines. */
  *#parts(): Generator<{ bytes: Uint8Array; ends: Uint32Array; at: number }> {
    for (let [at, size] = [0, PART]; at < this.#length; ) {
      const bytes = new Uint8Array(Math.min(size, this.#length - at));
      readSync(this.#descriptor, bytes, 0, bytes.length, at);
      const cut = bytes.lastIndexOf(this.#end) + 1;
      if (cut === 0) {
        size *= 2; // a line longer than the part
        continue;
      }
      const whole = bytes.subarray(0, cut);
      const ends = this.#end === NEWLINE ? lineEnds(whole) : zeroEnds(whole);
      yield { bytes: whole, ends, at };
      at += cut;
      size = PART;
    }
  }
}

const PART = 1 << 20;
const NEWLINE = 10;

function zeroEnds(bytes: Uint8Array): Uint32Array {
  const ends: number[] = [];
  for (let at = bytes.indexOf(0); at >= 0; at = bytes.indexOf(0, at + 1)) ends.push(at + 1);
  return Uint32Array.from(ends);
}

/** The keys of whole lines. */
function withoutEnds(bytes: Uint8Array, offsets: Uint32Array, end: number) {
  if (end === NEWLINE) return { lines: bytes };
  return Array.from({ length: offsets.length - 1 }, (_, i) => bytes.subarray(offsets[i], offsets[i + 1] - 1));
}

/** 53 bits of a hash as a number: the lower word, and 21 bits of the upper one. */
function packed53(low: number, high: number): number {
  return (high & 0x1fffff) * 2 ** 32 + low;
}

function lowOf(hash: number): number {
  return (hash % 2 ** 32) | 0;
}
