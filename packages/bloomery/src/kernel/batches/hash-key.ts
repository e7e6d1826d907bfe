/**
 * Hashing one key, and hashes as values: compute one with `hashKey`, and look it up in many filters
 * with `hasHash`. A hash remembers its scheme, so a lookup in a filter with another seed is an
 * error and not a silent "no".
 */

import { FORGE64, type HashOptions, HashScheme, hashScheme } from '../../hashing/hash-scheme.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { type Key, type KeyTarget, keyBytes, writeKey } from '../../keys/key.ts';
import { wasmKernel } from '../wasm/kernel-choice.ts';
import { WASM_POSSIBLE } from '../wasm/wasm-possible.ts';

/** A key's 64-bit hash. `low` and `high` are its halves as unsigned numbers. */
export interface KeyHash {
  readonly scheme: HashScheme;
  readonly low: number;
  readonly high: number;
}

/** The hash of a key, for `hasHash` and `addHash` of any filter with the same seed or key. */
export function hashKey(key: Key, options?: HashOptions | HashScheme): KeyHash {
  const scheme = schemeOf('hashKey', options);
  hashInto(key, scheme);
  return { scheme, low: hashOut[0] >>> 0, high: hashOut[1] >>> 0 };
}

/** @internal The scheme that the options of a function name. */
export function schemeOf(where: string, options: HashOptions | HashScheme = {}): HashScheme {
  if (options instanceof HashScheme) return options;
  checkOptions(where, options, ['seed', 'key', 'hash']);
  return hashScheme(options);
}

/** @internal The result of `hashInto`: [low, high] as int32. Overwritten by the next call. */
export const hashOut = /* @__PURE__ */ new Int32Array(2);

/** @internal Hashes one key into `hashOut`. */
export function hashInto(key: Key, scheme: HashScheme): void {
  const wasm = wasmKernel();
  const done =
    WASM_POSSIBLE && wasm !== null
      ? wasm.hashKey(key, scheme, hashOut)
      : hashInTarget((scratch ??= keyTarget(1024)), key, scheme);
  if (!done) hashBytesInto(keyBytes(key), scheme);
}

/** @internal The same for bytes of any length. */
export function hashBytesInto(bytes: Uint8Array, scheme: HashScheme): void {
  const wasm = wasmKernel();
  if (WASM_POSSIBLE && wasm !== null && scheme.code === FORGE64) wasm.hashLong(bytes, scheme, hashOut);
  else hashInTarget(wholeBlocks(bytes.length), bytes, scheme);
}

/** Hashes a key in JavaScript. Returns false if its bytes do not fit into the target. */
function hashInTarget(target: KeyTarget, key: Key, scheme: HashScheme): boolean {
  const length = writeKey(key, target);
  if (length < 0) return false;
  scheme.hashWords(target.words, length, scheme.seedLow, scheme.seedHigh, hashOut);
  return true;
}

/**
 * A scratch buffer for keys of up to 4096 bytes in the JavaScript kernel. Longer ones get memory of
 * their own.
 */
let scratch: KeyTarget | undefined;

/** A target for `byteLength` bytes, in whole blocks, because the hashes read in blocks. */
function wholeBlocks(byteLength: number): KeyTarget {
  return keyTarget(4 * Math.ceil(byteLength / 16) + 4);
}

function keyTarget(wordCount: number): KeyTarget {
  const words = new Int32Array(wordCount);
  return { words, bytes: new Uint8Array(words.buffer) };
}
