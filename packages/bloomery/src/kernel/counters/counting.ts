/**
 * Small counters in place of bits: the loops of the counting filter. Twin:
 * assembly/counters/counting.ts.
 *
 * Counters of w = 2, 4, 8 or 16 bits lie packed in 32-bit words, counter i at bit i * w; none
 * crosses a word. The indices are those of classic.ts, so the non-zero counters are the ones of the
 * Bloom filter with the same m and k.
 *
 * A key counts once in each of its *distinct* counters, even if two of its k indices coincide. All
 * old values are read before the first new one is written, and a counter is only written while it
 * still has the value that was read. So the second of two coinciding indices finds it changed and
 * does not write.
 *
 * A counter at its maximum is stuck: it no longer knows how many keys it counts, so it is never
 * decremented.
 *
 * `changes` is where the change bits begin, as a word index, or 0 if changes are not tracked. Bit i
 * is flipped whenever counter i leaves zero or comes back to it, so it says whether bit i of the
 * snapshot differs from its earlier value.
 */

import { probeIndex } from '../bits/classic.ts';

/** The parameters of one filter for the loops. */
export interface CountingShape {
  /**
   * `range` and `stride` are m and 0 for the classic layout, m/k and m/k for the partitioned one.
   */
  readonly range: number;
  readonly stride: number;
  readonly hashes: number;
  readonly counterBits: number;
  readonly changes: number;
}

const indices = /* @__PURE__ */ new Float64Array(255);
const olds = /* @__PURE__ */ new Uint32Array(255);

export function countingHas(words: Uint32Array, a: number, b: number, shape: CountingShape): boolean {
  const { range, stride, hashes, counterBits } = shape;
  for (let i = 0, offset = 0; i < hashes; i++, offset += stride) {
    if (counterAt(words, offset + probeIndex(a, b, i, range), counterBits) === 0) return false;
  }
  return true;
}

/** The smallest of the key's counters: an upper bound on how often the key was added. */
export function countingCount(words: Uint32Array, a: number, b: number, shape: CountingShape): number {
  const { range, stride, hashes, counterBits } = shape;
  let least = 0xffff;
  for (let i = 0, offset = 0; i < hashes; i++, offset += stride) {
    const count = counterAt(words, offset + probeIndex(a, b, i, range), counterBits);
    if (count < least) least = count;
  }
  return least;
}

/**
 * Adds a key. Returns true if one of the counters was 0, that is, if the key was certainly absent.
 */
export function countingAdd(words: Uint32Array, a: number, b: number, shape: CountingShape): boolean {
  const fresh = read(words, a, b, shape) === 0;
  write(words, shape, 1);
  return fresh;
}

/**
 * Deletes a key. Returns false, and changes nothing, if one of the counters is 0, because the key
 * is then certainly absent.
 */
export function countingDelete(words: Uint32Array, a: number, b: number, shape: CountingShape): boolean {
  if (read(words, a, b, shape) === 0) return false;
  write(words, shape, -1);
  return true;
}

export function counterAt(words: Uint32Array, index: number, counterBits: number): number {
  const perWord = 32 / counterBits;
  const shift = (index & (perWord - 1)) * counterBits;
  return (words[Math.floor(index / perWord)] >>> shift) & ((1 << counterBits) - 1);
}

/**
 * Leaves the indices and counters of the key in `indices` and `olds`; returns the smallest counter.
 */
function read(words: Uint32Array, a: number, b: number, shape: CountingShape): number {
  const { range, stride, hashes, counterBits } = shape;
  let least = 0xffff;
  for (let i = 0, offset = 0; i < hashes; i++, offset += stride) {
    const index = offset + probeIndex(a, b, i, range);
    const old = counterAt(words, index, counterBits);
    indices[i] = index;
    olds[i] = old;
    if (old < least) least = old;
  }
  return least;
}

/** Adds `step`, 1 or -1, to each distinct counter that was read and is not at its maximum. */
function write(words: Uint32Array, { hashes, counterBits, changes }: CountingShape, step: number): void {
  const most = (1 << counterBits) - 1;
  const perWord = 32 / counterBits;
  const fromOrToZero = step < 0 ? 1 : 0;
  for (let i = 0; i < hashes; i++) {
    const old = olds[i];
    if (old === most) continue;
    const index = indices[i];
    const at = Math.floor(index / perWord);
    const shift = (index & (perWord - 1)) * counterBits;
    const word = words[at];
    if (((word >>> shift) & most) !== old) continue;
    words[at] = step < 0 ? word - (1 << shift) : word + (1 << shift);
    if (changes !== 0 && old === fromOrToZero) words[changes + Math.floor(index / 32)] ^= 1 << (index & 31);
  }
}
