/**
 * The WebAssembly kernel: the map of its memory, the calls, and which filters live there.
 *
 * The code of the WebAssembly kernel is in this class, so that a bundle without the kernel contains
 * none of it (kernel-choice.ts). The module itself is embedded in kernel-binary.ts. It hashes and
 * probes Bloom filters. The loops of other structures are modules of their own on the same memory
 * (`link`), so that programs that do not use them do not load them.
 *
 *     0      scratch word for reads that only warm the cache
 *     16     upper half of a one-key hash
 *     32     the SipHash key, present only during a call
 *     64     state of a long Forge64
 *     1024   BOUNDS   where keys begin and end, 1025 words
 *     8192   RESULTS  one byte per key
 *     9216   SCRATCH  7 KiB for the use of one call
 *     16384  HASH_CHUNK   one 64-bit hash per key
 *     24576  VALUES   one double per key, in or out
 *     32768  INPUT    the bytes of keys, 128 KiB and some bytes that may be over-read
 *     ARENA  filters that are used often
 *
 * Why an arena. A kernel can only probe memory that it owns, but a filter that owns linear memory
 * would have to be freed by hand: WebAssembly memory never shrinks, and V8 does not know that a
 * small object keeps megabytes alive. So a filter is created in an ordinary ArrayBuffer. It moves
 * into the arena when it has been used often enough, or a batch is large enough, to pay for the
 * copy. When the arena is full, all filters in it move out again. Nothing leaks, and nothing has to
 * be disposed of.
 */

import { FORGE64, type HashOut, type HashScheme } from '../../hashing/hash-scheme.ts';
import { type Key, writeKey } from '../../keys/key.ts';
import { lineEnd, NEWLINE } from '../../keys/lines.ts';
import type { PackedKeys } from '../../keys/packed-keys.ts';
import { platform, textEncoder, type WasmMemory } from '../../keys/platform.ts';
import { CHUNK_KEYS, type VisitChunk } from './chunk.ts';
import { KERNEL_BASE64 } from './kernel-binary.ts';

type EachKeyChunk = (keys: readonly Key[], scheme: HashScheme, visit: VisitChunk) => void;

/** The number of bytes that fit into the input region at once. */
const INPUT_BYTES = 1 << 17;
const HIGH_WORD = 16;
const SIP_KEY = 32;
const BOUNDS = 1024;
/** Exported for the modules of other structures. */
export const RESULTS = 8192;
export const HASH_CHUNK = 16384;
export const VALUES = 24576;
export const INPUT = 32768;
const ARENA = INPUT + INPUT_BYTES + 1024;
const PAGE = 65536;
/**
 * Bytes that a lookup may read beyond the last filter. The maximum size of the memory includes
 * them.
 */
const SLACK = 16;
/** The limit for all filters in the arena together; a single one may take half of it. */
const ARENA_LIMIT = 1 << 29;
/**
 * The largest number of filters in the arena. Without this limit the list of them would be a leak
 * of its own: most of its entries would be of filters that are garbage already.
 */
const MOST_RESIDENTS = 10_000;

/** An object that moves in and out: the words of a filter, wherever they are at the moment. */
export interface Movable {
  words: Uint32Array;
  readonly wordCount: number;
  /** Shared words are never moved, because other threads use them. */
  readonly shared: boolean;
  /** Byte address in linear memory, or 0 while the words are elsewhere. */
  address: number;
  /** Number of lookups while the words were outside. */
  demand: number;
}

export class WasmKernel {
  /**
   * The hashes of the current chunk: low and high halves in turn. A view that is replaced when the
   * memory grows.
   */
  hashes!: Int32Array;
  /** One byte per key of the current chunk. */
  results!: Uint8Array;
  /** One double per key of the current chunk. */
  values!: Float64Array;
  readonly #call: KernelExports;
  #input!: { bytes: Uint8Array; words: Int32Array };
  #bounds!: Uint32Array;
  #high!: Int32Array;
  #sipKey!: Int32Array;
  readonly #memory: WasmMemory;
  #residents: WeakRef<Movable>[] = [];
  #free = ARENA;

  constructor() {
    const pages = Math.ceil(ARENA / PAGE) + 1;
    this.#memory = new platform.WebAssembly!.Memory({ initial: pages, maximum: ARENA_LIMIT / PAGE + pages });
    this.#call = this.link(KERNEL_BASE64);
    this.#makeViews();
  }

  /**
   * Compiles a module that works on this kernel's memory, and returns its exports. Call it once per
   * module.
   */
  link<Exports>(base64: string): Exports {
    return linkModule(base64, this.#memory, this.#call);
  }

  /** Hashes one key into `out`. Returns false if its bytes exceed the input region. */
  hashKey(key: Key, scheme: HashScheme, out: HashOut): boolean {
    const length = writeKey(key, this.#input);
    if (length < 0) return false;
    this.#enter(scheme);
    try {
      out[0] = this.#call.hashOne(INPUT, length, scheme.code, scheme.seedLow, scheme.seedHigh);
    } finally {
      this.#leave(scheme);
    }
    out[1] = this.#high[0];
    return true;
  }

  /**
   * Forge64 of bytes of any length, piece by piece through the input region: for long keys and
   * checksums of frames.
   */
  hashLong(bytes: Uint8Array, scheme: HashScheme, out: HashOut): void {
    const input = this.#input.bytes;
    this.#call.streamStart(scheme.seedLow, scheme.seedHigh, bytes.length);
    for (let at = 0; at === 0 || at < bytes.length; at += INPUT_BYTES) {
      const piece = bytes.subarray(at, at + INPUT_BYTES);
      input.set(piece);
      // Only the last piece does not consist of whole blocks; an empty input is one block of zeros.
      const whole = Math.max(16, (piece.length + 15) & ~15);
      input.fill(0, piece.length, whole);
      this.#call.streamBlocks(INPUT, whole);
    }
    out[0] = this.#call.streamEnd();
    out[1] = this.#high[0];
  }

  /**
   * Hashes strings from `start` on. They are joined and encoded in one call, which we measured to
   * be the fastest way by far. As long as all of them are ASCII, a key has as many bytes as
   * characters. Returns the number of keys, or 0 if this way is not possible: another type among
   * them, a very long key.
   */
  hashJoined(keys: readonly Key[], start: number, scheme: HashScheme): number {
    const limit = Math.min(keys.length, start + CHUNK_KEYS);
    const bounds = this.#bounds;
    let end = start;
    let units = 0;
    bounds[0] = 0;
    for (; end < limit; end++) {
      const key = keys[end];
      if (typeof key !== 'string') return end === start ? this.#hashIntegers(keys, start, limit, scheme) : 0;
      // UTF-8 needs up to three bytes for each UTF-16 unit, and a separator may follow.
      if (3 * (units + key.length + 1) > INPUT_BYTES) break;
      units += key.length;
      bounds[end - start + 1] = units;
    }
    if (end === start) return 0;
    const slice = start === 0 && end === keys.length ? keys : keys.slice(start, end);
    const { written } = textEncoder().encodeInto(slice.join(''), this.#input.bytes);
    if (written !== units) return this.#hashJoinedLines(slice, scheme);
    this.#hashSpans(INPUT, end - start, 0, scheme);
    return end - start;
  }

  /**
   * Hashes consecutive integers of up to 64 bits. keys/integer-key.ts defines their bytes. This
   * loop writes them itself, because through `splitInteger` a lookup of numbers takes 8 % longer.
   */
  #hashIntegers(keys: readonly Key[], start: number, limit: number, scheme: HashScheme): number {
    const view = new DataView(this.#memory.buffer, INPUT);
    const bounds = this.#bounds;
    let used = 0;
    let end = start;
    bounds[0] = 0;
    for (; end < limit; end++) {
      const key = keys[end];
      if (typeof key === 'number' && Number.isSafeInteger(key)) {
        view.setInt32(used, key | 0, true);
        view.setInt32(used + 4, Math.floor(key / 4294967296) | 0, true);
        used += 8;
      } else if (typeof key === 'bigint' && BigInt.asIntN(64, key) === key) {
        view.setBigInt64(used, key, true);
        used += 8;
      } else if (typeof key === 'bigint' && BigInt.asUintN(64, key) === key) {
        view.setBigInt64(used, key, true);
        view.setUint8(used + 8, 0); // for the sign
        used += 9;
      } else {
        break;
      }
      bounds[end - start + 1] = used;
    }
    if (end > start) this.#hashSpans(INPUT, end - start, 0, scheme);
    return end - start;
  }

  /**
   * Hashes strings beyond ASCII: joins them by newlines, encodes them, and splits the bytes into
   * lines again. Returns 0 if a key contains a newline.
   */
  #hashJoinedLines(keys: readonly Key[], scheme: HashScheme): number {
    const { written } = textEncoder().encodeInto(keys.join('\n'), this.#input.bytes);
    this.#input.bytes[written] = NEWLINE;
    const lines = this.#call.splitLines(INPUT, written + 1, CHUNK_KEYS, BOUNDS);
    // A newline inside a key makes more lines than keys. If there are more than a chunk may have,
    // bytes are left over.
    if (lines !== keys.length || this.#bounds[lines] !== written + 1) return 0;
    this.#hashSpans(INPUT, lines, 1, scheme);
    return lines;
  }

  /**
   * Hashes packed keys from `start` on, as many as fit. Returns their number, or 0 if not even one
   * fits.
   */
  hashPacked({ bytes, offsets }: PackedKeys, start: number, scheme: HashScheme): number {
    const first = offsets[start];
    let end = Math.min(offsets.length - 1, start + CHUNK_KEYS);
    while (offsets[end] - first > INPUT_BYTES) end--;
    if (end === start) return 0;
    this.#input.bytes.set(bytes.subarray(first, offsets[end]));
    this.#bounds.set(offsets.subarray(start, end + 1));
    // The offsets are checked here and not beforehand, because a pass in JavaScript would cost a
    // tenth of the lookup. 0 leaves the chunk to the caller, which finds the wrong offset and
    // throws.
    if (!this.#call.boundsRise(BOUNDS, end - start)) return 0;
    this.#hashSpans(INPUT - first, end - start, 0, scheme);
    return end - start;
  }

  /**
   * Visits the lines of `bytes`. `eachKeyChunk` takes the lines that are longer than the input
   * region.
   */
  eachLineChunk(bytes: Uint8Array, scheme: HashScheme, visit: VisitChunk, eachKeyChunk: EachKeyChunk): void {
    let window = INPUT_BYTES / 2;
    for (let start = 0; start < bytes.length; ) {
      // The number of bytes copied follows the length of the lines so far: about as much as one
      // chunk will use.
      const size = Math.min(window, bytes.length - start);
      this.#input.bytes.set(bytes.subarray(start, start + size));
      const unended = start + size === bytes.length && bytes[bytes.length - 1] !== NEWLINE;
      if (unended) this.#input.bytes[size] = NEWLINE;
      const count = this.#call.splitLines(INPUT, unended ? size + 1 : size, CHUNK_KEYS, BOUNDS);
      const used = this.#bounds[count];
      const longest = INPUT_BYTES - 1;
      if (count > 0) {
        this.#hashSpans(INPUT, count, 1, scheme);
        visit(count, this);
        start += used;
      } else if (window === longest) {
        const end = lineEnd(bytes, start);
        eachKeyChunk([bytes.subarray(start, end)], scheme, visit);
        start = end + 1;
      }
      window = Math.min(longest, Math.ceil(count === CHUNK_KEYS ? used * 1.125 : 2 * window));
    }
  }

  // The probes of a chunk. `address` is the result of `admit`. `…Has` leaves one byte per key in
  // `results`, `…Add` returns how many keys changed a bit. `…HasKey` hashes and looks up one key in
  // a single call: 1 or 0, or -1 if it cannot (a key longer than the input region, another hash
  // than Forge64).

  classicHas(count: number, address: number, range: number, stride: number, k: number): void {
    this.#call.classicHas(HASH_CHUNK, count, address, range, stride, k, RESULTS);
  }

  classicHasKey(
    key: Key,
    scheme: HashScheme,
    address: number,
    range: number,
    stride: number,
    k: number,
  ): number {
    const length = this.placeKey(key, scheme);
    if (length < 0) return -1;
    const { seedLow, seedHigh } = scheme;
    return this.#call.classicHasOne(INPUT, length, seedLow, seedHigh, address, range, stride, k);
  }

  classicAdd(count: number, address: number, range: number, stride: number, k: number): number {
    return this.#call.classicAdd(HASH_CHUNK, count, address, range, stride, k);
  }

  blockedHas(count: number, address: number, blocks: number, k: number): void {
    this.#call.blockedHas(HASH_CHUNK, count, address, blocks, k, RESULTS);
  }

  blockedHasKey(key: Key, scheme: HashScheme, address: number, blocks: number, k: number): number {
    const length = this.placeKey(key, scheme);
    if (length < 0) return -1;
    return this.#call.blockedHasOne(INPUT, length, scheme.seedLow, scheme.seedHigh, address, blocks, k);
  }

  blockedAdd(count: number, address: number, blocks: number, k: number): number {
    return this.#call.blockedAdd(HASH_CHUNK, count, address, blocks, k);
  }

  splitBlockHas(count: number, address: number, blocks: number): void {
    this.#call.splitBlockHas(HASH_CHUNK, count, address, blocks, RESULTS);
  }

  splitBlockHasKey(key: Key, address: number, blocks: number): number {
    const length = writeKey(key, this.#input);
    if (length < 0) return -1;
    return this.#call.splitBlockHasOne(INPUT, length, address, blocks);
  }

  splitBlockAdd(count: number, address: number, blocks: number): number {
    return this.#call.splitBlockAdd(HASH_CHUNK, count, address, blocks);
  }

  /**
   * The address of a filter's words, for the next `keys` lookups out of a batch of `total`, or 0 if
   * they are outside. They move in when the lookups so far, or all lookups of the batch, pay for
   * the copy. We count a word as a 64th of a lookup, which is somewhat more than its copy costs.
   */
  admit(store: Movable, keys: number, total: number): number {
    if (store.address !== 0) return store.address;
    store.demand += keys;
    const bytes = (store.wordCount * 4 + 63) & ~63;
    if (store.shared || Math.max(total, store.demand) * 64 < store.wordCount || bytes > ARENA_LIMIT / 2)
      return 0;
    const full = this.#free + bytes > ARENA + ARENA_LIMIT || this.#residents.length === MOST_RESIDENTS;
    if (full) this.#evictAll();
    if (!this.#reserve(this.#free + bytes + SLACK)) return 0;
    const inside = new Uint32Array(this.#memory.buffer, this.#free, store.wordCount);
    inside.set(store.words);
    store.words = inside;
    store.address = this.#free;
    this.#free += bytes;
    this.#residents.push(new WeakRef(store));
    return store.address;
  }

  /**
   * Puts a key at INPUT for a call that hashes and looks up at once. Returns the number of bytes of
   * the key, or -1 if this is not possible: a key longer than the input region, a scheme other than
   * Forge64.
   */
  placeKey(key: Key, scheme: HashScheme): number {
    return scheme.code === FORGE64 ? writeKey(key, this.#input) : -1;
  }

  #hashSpans(base: number, count: number, gap: number, scheme: HashScheme): void {
    this.#enter(scheme);
    try {
      const { code, seedLow, seedHigh } = scheme;
      this.#call.hashSpans(base, BOUNDS, count, gap, HASH_CHUNK, code, seedLow, seedHigh);
    } finally {
      this.#leave(scheme);
    }
  }

  /** Puts the secret key of a keyed scheme into memory, for a call that hashes. */
  #enter({ secret }: HashScheme): void {
    if (secret !== null) this.#sipKey.set(secret);
  }

  /** Erases the secret key after such a call. */
  #leave({ secret }: HashScheme): void {
    if (secret !== null) this.#sipKey.fill(0);
  }

  #evictAll(): void {
    for (const resident of this.#residents) {
      const store = resident.deref();
      if (store === undefined) continue;
      store.words = store.words.slice();
      store.address = 0;
      store.demand = 0;
    }
    this.#residents = [];
    this.#free = ARENA;
  }

  #reserve(end: number): boolean {
    const missing = end - this.#memory.buffer.byteLength;
    if (missing <= 0) return true;
    try {
      // Grow by at least half of the current size, so that many small filters do not cause many
      // growths.
      const wanted = Math.max(missing, this.#memory.buffer.byteLength / 2);
      const room = ARENA + ARENA_LIMIT - this.#memory.buffer.byteLength;
      this.#memory.grow(Math.ceil(Math.max(missing, Math.min(wanted, room)) / PAGE));
    } catch {
      return false; // no more memory: the JavaScript twin works on the words where they are
    }
    this.#makeViews();
    for (const resident of this.#residents) {
      const store = resident.deref();
      if (store !== undefined) {
        store.words = new Uint32Array(this.#memory.buffer, store.address, store.wordCount);
      }
    }
    return true;
  }

  #makeViews(): void {
    const { buffer } = this.#memory;
    this.#input = {
      bytes: new Uint8Array(buffer, INPUT, INPUT_BYTES),
      words: new Int32Array(buffer, INPUT, INPUT_BYTES / 4),
    };
    this.hashes = new Int32Array(buffer, HASH_CHUNK, CHUNK_KEYS * 2);
    this.#bounds = new Uint32Array(buffer, BOUNDS, CHUNK_KEYS + 1);
    this.results = new Uint8Array(buffer, RESULTS, CHUNK_KEYS);
    this.values = new Float64Array(buffer, VALUES, CHUNK_KEYS);
    this.#high = new Int32Array(buffer, HIGH_WORD, 1);
    this.#sipKey = new Int32Array(buffer, SIP_KEY, 4);
  }
}

/** Compiles an embedded module and binds it to a memory. `functions` are its other imports. */
export function linkModule<Exports>(base64: string, memory: WasmMemory, functions: object = {}): Exports {
  const wasm = platform.WebAssembly!;
  const binary = Uint8Array.from(platform.atob(base64), (c) => c.charCodeAt(0));
  return new wasm.Instance(new wasm.Module(binary), { env: { ...functions, memory } })
    .exports as unknown as Exports;
}

interface KernelExports {
  hashOne(pointer: number, length: number, code: number, seedLow: number, seedHigh: number): number;
  hashSpans(
    base: number,
    bounds: number,
    count: number,
    gap: number,
    hashes: number,
    code: number,
    seedLow: number,
    seedHigh: number,
  ): void;
  streamStart(seedLow: number, seedHigh: number, total: number): void;
  streamBlocks(pointer: number, length: number): void;
  streamEnd(): number;
  boundsRise(bounds: number, count: number): number;
  splitLines(base: number, length: number, limit: number, bounds: number): number;
  classicHas(
    hashes: number,
    count: number,
    filter: number,
    range: number,
    stride: number,
    k: number,
    results: number,
  ): number;
  classicHasOne(
    pointer: number,
    length: number,
    seedLow: number,
    seedHigh: number,
    filter: number,
    range: number,
    stride: number,
    k: number,
  ): number;
  blockedHasOne(
    pointer: number,
    length: number,
    seedLow: number,
    seedHigh: number,
    filter: number,
    blocks: number,
    k: number,
  ): number;
  splitBlockHasOne(pointer: number, length: number, filter: number, blocks: number): number;
  classicAdd(hashes: number, count: number, filter: number, range: number, stride: number, k: number): number;
  blockedHas(
    hashes: number,
    count: number,
    filter: number,
    blocks: number,
    k: number,
    results: number,
  ): number;
  blockedAdd(hashes: number, count: number, filter: number, blocks: number, k: number): number;
  splitBlockHas(hashes: number, count: number, filter: number, blocks: number, results: number): number;
  splitBlockAdd(hashes: number, count: number, filter: number, blocks: number): number;
}
