/**
 * Many keys at once. A batch is cut into chunks of at most 1024 keys. Each chunk is hashed as a
 * whole, and the visitor then works on all its hashes. Hashing and probing are separate steps, so
 * every form of a batch works with every structure, and neither depends on the other.
 */

import { checkSameScheme, type HashScheme } from '../../hashing/hash-scheme.ts';
import type { Key } from '../../keys/key.ts';
import { eachLine } from '../../keys/lines.ts';
import type { PackedKeys } from '../../keys/packed-keys.ts';
import { CHUNK_KEYS, type VisitChunk } from '../wasm/chunk.ts';
import { wasmKernel } from '../wasm/kernel-choice.ts';
import type { WasmKernel } from '../wasm/wasm-kernel.ts';
import { WASM_POSSIBLE } from '../wasm/wasm-possible.ts';
import { hashInto, hashOut } from './hash-key.ts';
import type { KeyHashes } from './hash-keys.ts';

/**
 * Newline-separated keys, such as a file of them. A newline at the very end does not begin another
 * key.
 */
export interface KeyLines {
  readonly lines: Uint8Array;
}

/**
 * The argument of every `…Many` method: any iterable of keys, keys packed end to end, lines, or
 * hashes.
 */
export type KeyBatch = Iterable<Key> | PackedKeys | KeyLines | KeyHashes;

/** Visits the hashes of a batch in any form. */
export function eachChunk(keys: KeyBatch, scheme: HashScheme, visit: VisitChunk): void {
  const { lines, words, offsets } = (keys ?? {}) as AnyForm;
  if (lines !== undefined) {
    eachLineChunk(lines, scheme, visit);
  } else if (words !== undefined) {
    checkSameScheme((keys as KeyHashes).scheme, scheme);
    eachHashChunk(words, visit);
  } else if (offsets !== undefined) {
    eachPackedChunk(keys as PackedKeys, scheme, visit);
  } else {
    eachKeyChunk(keys as Iterable<Key>, scheme, visit);
  }
}

/** The number of keys in a batch if it is known beforehand, otherwise 0. */
export function countOf(keys: KeyBatch): number {
  const { offsets, length } = (keys ?? {}) as AnyForm;
  return Math.max(0, offsets === undefined ? (length ?? 0) : offsets.length - 1);
}

/** A batch before its form is known. */
type AnyForm = Partial<KeyLines & KeyHashes & PackedKeys>;

/** The hashes of the current chunk: low and high halves in turn, as int32. */
export function chunkHashes(wasm: WasmKernel | null): Int32Array {
  return WASM_POSSIBLE && wasm !== null ? wasm.hashes : (hashesOutside ??= new Int32Array(2 * CHUNK_KEYS));
}

let hashesOutside: Int32Array | undefined;

/** Visits the hashes of any iterable of keys. The iterable's own code runs only between chunks. */
function eachKeyChunk(keys: Iterable<Key>, scheme: HashScheme, visit: VisitChunk): void {
  if (typeof keys === 'string' || keys instanceof Uint8Array || !keys?.[Symbol.iterator]) {
    throw new TypeError(
      'Cannot read keys: expected an iterable, packed keys, { lines } or hashes (addFrom takes async ones)',
    );
  }
  if (Array.isArray(keys)) {
    eachIndexedChunk(
      keys.length,
      (i) => keys[i],
      WASM_POSSIBLE ? (wasm, start) => wasm.hashJoined(keys, start, scheme) : null,
      scheme,
      visit,
    );
    return;
  }
  let pending: Key[] = [];
  for (const key of keys) {
    if (pending.push(key) < CHUNK_KEYS) continue;
    eachKeyChunk(pending, scheme, visit);
    pending = [];
  }
  eachKeyChunk(pending, scheme, visit);
}

/** Visits the hashes of packed keys. A wrong offset is detected when its chunk is reached. */
function eachPackedChunk(keys: PackedKeys, scheme: HashScheme, visit: VisitChunk): void {
  const { bytes, offsets } = keys;
  if (!(bytes instanceof Uint8Array && offsets instanceof Uint32Array && offsets.length > 0)) {
    throw new TypeError('Cannot read keys: expected bytes (Uint8Array) and offsets (Uint32Array)');
  }
  const total = offsets.length - 1;
  const check = (offset: number, least: number) => {
    if (offset < least || offset > bytes.length) {
      throw new RangeError(
        `Cannot read keys: expected rising offsets of at most ${bytes.length}, got ${offset} after ${least}`,
      );
    }
  };
  check(offsets[total], 0);
  const keyAt = (i: number) => {
    check(offsets[i + 1], offsets[i]);
    return bytes.subarray(offsets[i], offsets[i + 1]);
  };
  eachIndexedChunk(
    total,
    keyAt,
    WASM_POSSIBLE ? (wasm, start) => wasm.hashPacked(keys, start, scheme) : null,
    scheme,
    visit,
  );
}

function eachLineChunk(bytes: Uint8Array, scheme: HashScheme, visit: VisitChunk): void {
  if (!(bytes instanceof Uint8Array)) throw new TypeError('Cannot read keys: expected a Uint8Array of lines');
  const wasm = wasmKernel();
  if (WASM_POSSIBLE && wasm !== null) wasm.eachLineChunk(bytes, scheme, visit, eachKeyChunk);
  else eachKeyChunk(eachLine(bytes), scheme, visit);
}

/** Visits hashes that were computed before: `words` holds low and high halves in turn. */
function eachHashChunk(words: Int32Array, visit: VisitChunk): void {
  const wasm = wasmKernel();
  for (let start = 0; start < words.length; start += 2 * CHUNK_KEYS) {
    const part = words.subarray(start, start + 2 * CHUNK_KEYS);
    chunkHashes(wasm).set(part);
    visit(part.length / 2, wasm);
  }
}

/**
 * Hashes a chunk from `start` on and returns how many keys it took; 0 if it cannot take the first
 * ones.
 */
type HashInWasm = (wasm: WasmKernel, start: number) => number;

/** Visits keys that are accessed by index. Keys that `inWasm` cannot take are hashed one by one. */
function eachIndexedChunk(
  total: number,
  keyAt: (i: number) => Key,
  inWasm: HashInWasm | null,
  scheme: HashScheme,
  visit: VisitChunk,
): void {
  const wasm = wasmKernel();
  for (let start = 0; start < total; ) {
    const taken = WASM_POSSIBLE && wasm !== null && inWasm !== null ? inWasm(wasm, start) : 0;
    const count = taken || Math.min(CHUNK_KEYS, total - start);
    const hashes = chunkHashes(wasm);
    for (let i = taken; i < count; i++) {
      hashInto(keyAt(start + i), scheme);
      hashes[2 * i] = hashOut[0];
      hashes[2 * i + 1] = hashOut[1];
    }
    visit(count, wasm);
    start += count;
  }
}
