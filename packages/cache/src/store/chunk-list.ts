/**
 * A run of bytes in memory, as the list of chunks in which they came. Bytes are added at the end
 * and dropped at the beginning. Readers get views of the chunks; nothing is copied for them.
 *
 * A body that arrives in tiny chunks would become a list of a million of them. Each 256 chunks of
 * less than 64 KiB together are therefore joined into one. A byte is copied by this at most once.
 *
 * A chunk is found by its index. Readers go in order, so a reader passes the index of its last
 * chunk as a hint; if chunks were dropped since, a binary search finds the right one.
 */

const LOOSE_CHUNKS = 256;
const JOIN_BYTES = 64 * 1024;

export class ChunkList {
  #chunks: Uint8Array[] = [];
  #starts: number[] = [];
  #end = 0;
  /** Index of the first chunk that may still be joined with its successors. */
  #loose = 0;

  /** Position of the first byte that is held; the same as `end` if none is. */
  get start(): number {
    return this.#starts.length === 0 ? this.#end : this.#starts[0]!;
  }

  get end(): number {
    return this.#end;
  }

  get chunks(): readonly Uint8Array[] {
    return this.#chunks;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#starts.push(this.#end);
    this.#end += chunk.length;
    if (this.#chunks.length - this.#loose > LOOSE_CHUNKS) this.#join();
  }

  /**
   * The bytes from `at` on, as far as they lie in one chunk and before `end`. Undefined if byte
   * `at` is not held.
   */
  view(at: number, end: number, hint: number): Uint8Array | undefined {
    if (at >= this.#end || at < this.start) return undefined;
    const index = this.indexOf(at, hint);
    const from = this.#starts[index]!;
    const chunk = this.#chunks[index]!;
    if (at === from && end - from >= chunk.length) return chunk;
    return chunk.subarray(at - from, Math.min(chunk.length, end - from));
  }

  /** Index of the chunk with byte `at`, which must be held. */
  indexOf(at: number, hint: number): number {
    const starts = this.#starts;
    if (starts[hint]! <= at && (hint + 1 === starts.length || at < starts[hint + 1]!)) return hint;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The first `count` bytes. */
  first(count: number): Uint8Array[] {
    const first: Uint8Array[] = [];
    for (const chunk of this.#chunks) {
      if (count <= 0) break;
      first.push(chunk.length <= count ? chunk : chunk.subarray(0, count));
      count -= chunk.length;
    }
    return first;
  }

  /** Drops the first `count` bytes. */
  drop(count: number): void {
    const to = this.start + count;
    let whole = 0;
    while (whole < this.#chunks.length && this.#starts[whole]! + this.#chunks[whole]!.length <= to) whole++;
    this.#remove(whole);
    if (this.start >= to) return;
    this.#chunks[0] = this.#chunks[0]!.subarray(to - this.start);
    this.#starts[0] = to;
  }

  /** Drops whole chunks before `position`, but only while more than `window` bytes are held. */
  dropBefore(position: number, window: number): void {
    let whole = 0;
    while (whole < this.#chunks.length) {
      const start = this.#starts[whole]!;
      if (this.#end - start <= window || start + this.#chunks[whole]!.length > position) break;
      whole++;
    }
    this.#remove(whole);
  }

  clear(): void {
    this.#remove(this.#chunks.length);
  }

  /** Replaces all chunks by one, which pins no more memory than necessary, and returns it. */
  flatten(): Uint8Array {
    const whole =
      this.#chunks.length === 1 ? compact(this.#chunks[0]!) : joined(this.#chunks, this.#end - this.start);
    this.#starts = [this.start];
    this.#chunks = [whole];
    this.#loose = 1;
    return whole;
  }

  #remove(count: number): void {
    if (count === 0) return;
    this.#chunks.splice(0, count);
    this.#starts.splice(0, count);
    this.#loose = Math.max(0, this.#loose - count);
  }

  #join(): void {
    const from = this.#loose;
    const start = this.#starts[from]!;
    if (this.#end - start < JOIN_BYTES) {
      this.#chunks.push(joined(this.#chunks.splice(from), this.#end - start));
      this.#starts.splice(from, Number.POSITIVE_INFINITY, start);
    }
    this.#loose = this.#chunks.length;
  }
}

/**
 * The bytes in memory that pins no more than necessary. A chunk from a socket is often a view of a
 * larger buffer (Node reads into 64 KB), so a 200-byte body would hold 64 KB. Bytes that fill at
 * least three quarters of their buffer stay as they are, uncopied. Others are copied once, into
 * memory of their exact size.
 */
export function compact(bytes: Uint8Array): Uint8Array {
  return bytes.length >= bytes.buffer.byteLength * 0.75 ? bytes : joined([bytes], bytes.length);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
