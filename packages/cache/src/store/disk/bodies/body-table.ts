/**
 * Body files: their digests, lengths, and how many entries refer to each. Equal bodies are one
 * file.
 *
 * They are in typed arrays as in entry-index.ts: 52 bytes per body and no object. Entries refer to
 * a body by its number (1 and up). `versions` counts how often the file was replaced: a reader that
 * found an older copy damaged must not cause the new one to be dropped.
 */

import { bodyFileBytes } from './body-file.ts';

const NONE = 0;
const DIGEST_BYTES = 32;

export class BodyTable {
  count = 0;
  /** Bytes of all files, each counted once. */
  bytes = 0;
  #digests = new Uint8Array(64 * DIGEST_BYTES);
  #lengths = new Float64Array(64);
  #references = new Uint32Array(64);
  #versions = new Uint32Array(64);
  #next = new Uint32Array(64);
  #buckets = new Uint32Array(64);
  #bound = 1;
  #free = NONE;

  /** The number of the body with this digest, or 0 if there is none. */
  find(digest: Uint8Array): number {
    let at = this.#buckets[this.#bucket(digest, 0)];
    while (at !== NONE && !this.#is(at, digest)) at = this.#next[at];
    return at;
  }

  /** The number of the body with this digest; a new one has no references yet. */
  add(digest: Uint8Array, length: number): number {
    const known = this.find(digest);
    if (known !== NONE) return known;
    const body = this.#take();
    this.#digests.set(digest, body * DIGEST_BYTES);
    this.#lengths[body] = length;
    this.#references[body] = 0;
    this.#link(body);
    this.count++;
    this.bytes += bodyFileBytes(length);
    return body;
  }

  retain(body: number): void {
    this.#references[body]++;
  }

  /** Returns the number of remaining references. */
  release(body: number): number {
    return --this.#references[body];
  }

  references(body: number): number {
    return this.#references[body];
  }

  /** Removes a body without references. */
  delete(body: number): void {
    const bucket = this.#bucket(this.#digests, body * DIGEST_BYTES);
    let at = this.#buckets[bucket];
    if (at === body) this.#buckets[bucket] = this.#next[body];
    else {
      while (this.#next[at] !== body) at = this.#next[at];
      this.#next[at] = this.#next[body];
    }
    this.#next[body] = this.#free;
    this.#free = body;
    this.count--;
    this.bytes -= bodyFileBytes(this.#lengths[body]);
  }

  /** Only after a start, when all numbers below the bound are in use. */
  *unreferenced(): Iterable<number> {
    for (let body = 1; body < this.#bound; body++) if (this.#references[body] === 0) yield body;
  }

  length(body: number): number {
    return this.#lengths[body];
  }

  /** A view, valid until the next body is added. */
  digest(body: number): Uint8Array {
    return this.#digests.subarray(body * DIGEST_BYTES, (body + 1) * DIGEST_BYTES);
  }

  name(body: number): string {
    return Buffer.from(this.#digests.buffer, body * DIGEST_BYTES, DIGEST_BYTES).toString('hex');
  }

  version(body: number): number {
    return this.#versions[body];
  }

  renew(body: number): void {
    this.#versions[body]++;
  }

  clear(): void {
    this.count = this.bytes = 0;
    this.#bound = 1;
    this.#free = NONE;
    this.#buckets.fill(NONE);
  }

  #is(body: number, digest: Uint8Array): boolean {
    const from = body * DIGEST_BYTES;
    for (let i = 0; i < DIGEST_BYTES; i++) if (this.#digests[from + i] !== digest[i]) return false;
    return true;
  }

  /** SHA-256 is already a hash, so its first bytes are the bucket. */
  #bucket(bytes: Uint8Array, from: number): number {
    return (
      (bytes[from] | (bytes[from + 1] << 8) | (bytes[from + 2] << 16) | (bytes[from + 3] << 24)) &
      (this.#buckets.length - 1)
    );
  }

  #link(body: number): void {
    const bucket = this.#bucket(this.#digests, body * DIGEST_BYTES);
    this.#next[body] = this.#buckets[bucket];
    this.#buckets[bucket] = body;
  }

  #take(): number {
    if (this.#free !== NONE) {
      const body = this.#free;
      this.#free = this.#next[body];
      return body;
    }
    if (this.#bound === this.#lengths.length) this.#grow();
    return this.#bound++;
  }

  #grow(): void {
    const size = this.#lengths.length * 2;
    const lengths = new Float64Array(size);
    lengths.set(this.#lengths);
    this.#lengths = lengths;
    const digests = new Uint8Array(size * DIGEST_BYTES);
    digests.set(this.#digests);
    this.#digests = digests;
    this.#references = larger(this.#references, size);
    this.#versions = larger(this.#versions, size);
    this.#next = larger(this.#next, size);
    this.#buckets = new Uint32Array(size);
    // No number is free when the table grows.
    for (let body = 1; body < this.#bound; body++) this.#link(body);
  }
}

function larger(column: Uint32Array<ArrayBuffer>, size: number): Uint32Array<ArrayBuffer> {
  const wide = new Uint32Array(size);
  wide.set(column);
  return wide;
}
