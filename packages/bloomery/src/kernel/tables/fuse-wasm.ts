/**
 * The binary fuse table in WebAssembly: lookups in the kernel's memory, construction in a memory of
 * its own.
 *
 * Construction temporarily needs some 31 bytes per key. The kernel's memory is long-lived and
 * limited, and WebAssembly memory never shrinks, so a solver has its own memory and is dropped with
 * it. Small ones are kept, weakly, for the next construction: creating a new memory takes longer
 * than solving a table of some thousand keys.
 *
 *     0      counters of the sort, 16 KiB
 *     65536  the hashes; after the sort, the distinct ones in order
 *     …      as much again: the other buffer of the sort, then the order of peeling
 *     …      keys, counts and waiting list of the slots
 *     …      the table
 */

import type { HashScheme } from '../../hashing/hash-scheme.ts';
import type { Key } from '../../keys/key.ts';
import { platform, type WasmMemory } from '../../keys/platform.ts';
import { HASH_CHUNK, INPUT, RESULTS, VALUES, type WasmKernel } from '../wasm/wasm-kernel.ts';
import type { FuseLayout } from './fuse.ts';
import { FUSE_BASE64 } from './fuse-binary.ts';
import type { FuseSolver } from './fuse-build.ts';

let exports: FuseExports | undefined;

function call(wasm: WasmKernel): FuseExports {
  return (exports ??= wasm.link<FuseExports>(FUSE_BASE64));
}

/**
 * The answer for a key that is hashed in the same call, or -1 if it has to be hashed in JavaScript.
 */
export function fuseKeyInWasm(
  wasm: WasmKernel,
  key: Key,
  scheme: HashScheme,
  address: number,
  { segmentLength, segments, attempt, stride, width }: FuseLayout,
): number {
  const length = wasm.placeKey(key, scheme);
  if (length < 0) return -1;
  const { seedLow, seedHigh } = scheme;
  if (segments === 0) {
    return call(wasm).bandKey(INPUT, length, seedLow, seedHigh, address, segmentLength, attempt, width);
  }
  const found = call(wasm).fuseKey(
    INPUT,
    length,
    seedLow,
    seedHigh,
    address,
    segmentLength,
    segments,
    attempt,
    stride,
    width,
  );
  return found >>> 0;
}

/** The answer for one key, the same as from `fuseAnswer` or, in a band, from `bandAnswer`. */
export function fuseAnswerInWasm(
  wasm: WasmKernel,
  low: number,
  high: number,
  address: number,
  { segmentLength, segments, attempt, stride, width }: FuseLayout,
): number {
  if (segments === 0) return call(wasm).bandOne(low, high, address, segmentLength, attempt, width);
  return call(wasm).fuseOne(low, high, address, segmentLength, segments, attempt, stride, width) >>> 0;
}

/**
 * Leaves one byte per key in the kernel's results: 1 if the answer without its `spare` lowest bits
 * is 0.
 */
export function fuseHasInWasm(
  wasm: WasmKernel,
  count: number,
  address: number,
  { segmentLength, segments, attempt, stride, width }: FuseLayout,
  spare: number,
): void {
  if (segments === 0) {
    call(wasm).bandHas(HASH_CHUNK, count, address, segmentLength, attempt, width, RESULTS);
    return;
  }
  call(wasm).fuseHas(
    HASH_CHUNK,
    count,
    address,
    segmentLength,
    segments,
    attempt,
    stride,
    width,
    spare,
    RESULTS,
  );
}

/**
 * Leaves one double per key in the kernel's values: the value in the key's own slot, or NaN if it
 * has none.
 */
export function fuseGetInWasm(
  wasm: WasmKernel,
  count: number,
  address: number,
  { segmentLength, segments, attempt, stride, width }: FuseLayout,
): void {
  call(wasm).fuseGet(HASH_CHUNK, count, address, segmentLength, segments, attempt, stride, width, VALUES);
}

/** Replaces the values of the keys that have one by the kernel's values, one double per key. */
export function fuseSetInWasm(
  wasm: WasmKernel,
  count: number,
  address: number,
  { segmentLength, segments, attempt, stride, width }: FuseLayout,
): void {
  call(wasm).fuseSet(HASH_CHUNK, count, address, segmentLength, segments, attempt, stride, width, VALUES);
}

/** The solver in WebAssembly, or null if there is not enough memory. */
export function openWasmSolver(hashes: Int32Array): FuseSolver | null {
  const memory = takeMemory();
  if (memory === null) return null;
  const count = hashes.length / 2;
  const spare = HASHES + 8 * count;
  const keys = HASHES + 16 * count;
  if (!reserve(memory, keys)) return null;
  new Int32Array(memory.memory.buffer, HASHES, hashes.length).set(hashes);
  const size = memory.exports.sortDistinct(HASHES, spare, count, 0) >>> 0;
  const solve = (layout: FuseLayout, ownIndex: boolean): Uint32Array | null | undefined => {
    const { slots, wordCount, segmentLength, segments, attempt, stride, width } = layout;
    const waiting = keys + 8 * slots;
    const counts = waiting + 4 * slots + 8; // an unneeded push may write one more entry
    const table = (counts + slots + 7) & ~7;
    if (!reserve(memory, table + 4 * wordCount)) return undefined;
    const words = new Uint32Array(memory.memory.buffer, table, wordCount);
    words.fill(0); // the memory may have been used before
    const solved = memory.exports.fuseSolve(
      HASHES,
      size,
      segmentLength,
      segments,
      attempt,
      stride,
      width,
      ownIndex,
      keys,
      counts,
      waiting,
      spare,
      table,
    );
    return solved ? words.slice() : null;
  };
  return { size, solve };
}

interface SolverMemory {
  readonly memory: WasmMemory;
  readonly exports: FuseExports;
}

const HASHES = 65536;
const PAGE = 65536;
const MOST_PAGES = 65536;
/**
 * A memory up to this size is kept for the next construction: enough for a quarter of a million
 * keys.
 */
const KEPT_BYTES = 1 << 23;
let kept: WeakRef<SolverMemory> | undefined;

function takeMemory(): SolverMemory | null {
  const found = kept?.deref();
  if (found !== undefined && found.memory.buffer.byteLength <= KEPT_BYTES) return found;
  try {
    const memory = new platform.WebAssembly!.Memory({ initial: 1 });
    const fresh = { memory, exports: link(memory) };
    kept = new WeakRef(fresh);
    return fresh;
  } catch {
    return null; // every memory reserves address space, which may be used up
  }
}

/**
 * Binds the module to a memory. The module is compiled once for all memories, so that later ones
 * run the code that the engine has already optimised.
 */
function link(memory: WasmMemory): FuseExports {
  const wasm = platform.WebAssembly!;
  compiled ??= new wasm.Module(Uint8Array.from(platform.atob(FUSE_BASE64), (c) => c.charCodeAt(0)));
  // The solver never hashes.
  return new wasm.Instance(compiled, { env: { memory, hashOne: () => 0 } }).exports as FuseExports;
}

let compiled: object | undefined;

/** Makes sure that there are `end` bytes; returns false if that is impossible. */
function reserve({ memory }: SolverMemory, end: number): boolean {
  const missing = end - memory.buffer.byteLength;
  if (missing <= 0) return true;
  if (end > PAGE * MOST_PAGES) return false;
  try {
    memory.grow(Math.ceil(missing / PAGE));
    return true;
  } catch {
    kept = undefined;
    return false;
  }
}

interface FuseExports {
  bandKey(
    pointer: number,
    bytes: number,
    seedLow: number,
    seedHigh: number,
    table: number,
    columns: number,
    attempt: number,
    width: number,
  ): number;
  bandOne(low: number, high: number, table: number, columns: number, attempt: number, width: number): number;
  bandHas(
    hashes: number,
    count: number,
    table: number,
    columns: number,
    attempt: number,
    width: number,
    results: number,
  ): void;
  fuseKey(
    pointer: number,
    bytes: number,
    seedLow: number,
    seedHigh: number,
    table: number,
    length: number,
    segments: number,
    attempt: number,
    stride: number,
    width: number,
  ): number;
  fuseOne(
    low: number,
    high: number,
    table: number,
    length: number,
    segments: number,
    attempt: number,
    stride: number,
    width: number,
  ): number;
  fuseHas(
    hashes: number,
    count: number,
    table: number,
    segmentLength: number,
    segments: number,
    attempt: number,
    stride: number,
    width: number,
    spare: number,
    results: number,
  ): void;
  fuseGet(
    hashes: number,
    count: number,
    table: number,
    segmentLength: number,
    segments: number,
    attempt: number,
    stride: number,
    width: number,
    values: number,
  ): void;
  fuseSet(
    hashes: number,
    count: number,
    table: number,
    segmentLength: number,
    segments: number,
    attempt: number,
    stride: number,
    width: number,
    values: number,
  ): void;
  sortDistinct(from: number, spare: number, count: number, counters: number): number;
  fuseSolve(
    hashes: number,
    n: number,
    segmentLength: number,
    segments: number,
    attempt: number,
    stride: number,
    width: number,
    ownIndex: boolean,
    keys: number,
    counts: number,
    waiting: number,
    order: number,
    table: number,
  ): number;
}
