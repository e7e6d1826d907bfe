/**
 * The battery for the library's own hash: avalanche of the key and of the seed, and collisions of
 * keys that differ in few bits. What must hold for any good hash, measured two-sided at 5 sigma.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { verificationValue } from '../../test/verification-value.ts';
import { forge64Words } from './forge64.ts';

const out = new Int32Array(2);

/**
 * Flips each input bit in turn and counts how often each output bit follows. For a good hash each
 * count is binomial with probability 1/2; the sum of their squared deviations is chi-square, and no
 * single one stands out.
 */
function avalanche(
  inputBits: number,
  trials: number,
  hashWith: (flipped: number, round: number) => void,
): void {
  const follows = new Uint32Array(inputBits * 64);
  for (let round = 0; round < trials; round++) {
    hashWith(-1, round);
    const [low, high] = out;
    for (let bit = 0; bit < inputBits; bit++) {
      hashWith(bit, round);
      const [changedLow, changedHigh] = [out[0] ^ low, out[1] ^ high];
      for (let i = 0; i < 32; i++) {
        follows[64 * bit + i] += (changedLow >>> i) & 1;
        follows[64 * bit + 32 + i] += (changedHigh >>> i) & 1;
      }
    }
  }
  let chi2 = 0;
  let worst = 0;
  for (const count of follows) {
    const sigmas = (count - trials / 2) / Math.sqrt(trials / 4);
    chi2 += sigmas * sigmas;
    worst = Math.max(worst, Math.abs(sigmas));
  }
  expectNormal(chi2, follows.length, Math.sqrt(2 * follows.length), 'all pairs of input and output bits');
  // The largest of n normal deviates, n >= 512, exceeds this less than once in a hundred thousand
  // times.
  expect(worst).toBeLessThan(Math.sqrt(2 * Math.log(follows.length)) + 2.2);
}

// tools/smhasher/forge64.cpp registers the same value, so the suite's results are about this hash.
test('Forge64 has SMHasher’s verification value EB6DA71F', () => {
  const forge64 = (bytes: Uint8Array, seed: number) => {
    const words = new Int32Array(Math.ceil(bytes.length / 4) + 4);
    new Uint8Array(words.buffer).set(bytes);
    forge64Words(words, bytes.length, seed, 0, out);
    return (BigInt(out[1] >>> 0) << 32n) | BigInt(out[0] >>> 0);
  };
  expect(verificationValue(forge64)).toBe(0xeb6da71f);
});

describe('avalanche', () => {
  const trials = withEffort(2000);

  test.each([1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64])(
    'of the key, %i bytes',
    (length) => {
      const random = new Random(length);
      const words = new Int32Array(20);
      const copy = new Int32Array(20);
      let [seedLow, seedHigh] = [0, 0]; // new ones each round: there are only 256 keys of one byte
      avalanche(8 * length, trials, (flipped) => {
        if (flipped < 0) {
          for (let i = 0; i < 20; i++) words[i] = random.bits();
          [seedLow, seedHigh] = [random.bits(), random.bits()];
        }
        copy.set(words);
        if (flipped >= 0) copy[flipped >> 5] ^= 1 << (flipped & 31);
        forge64Words(copy, length, seedLow, seedHigh, out);
      });
    },
  );

  test.each([0, 3, 8, 16, 40])('of the seed, %i bytes', (length) => {
    const random = new Random(1000 + length);
    const words = new Int32Array(12);
    const seed = new Int32Array(2);
    avalanche(64, trials, (flipped) => {
      if (flipped < 0) {
        for (let i = 0; i < 12; i++) words[i] = random.bits();
        seed[0] = random.bits();
        seed[1] = random.bits();
      }
      const low = flipped >= 0 && flipped < 32 ? seed[0] ^ (1 << flipped) : seed[0];
      const high = flipped >= 32 ? seed[1] ^ (1 << (flipped - 32)) : seed[1];
      forge64Words(words, length, low, high, out);
    });
  });
});

describe('sparse differences', () => {
  // All keys that differ from a base key in at most `bits` bits.
  test.each([
    [4, 4],
    [8, 3],
    [16, 3],
    [32, 2],
    [48, 2],
    [64, 2],
  ])(
    '%i bytes, up to %i bits: no collision of 64 bits, and of each half as many as by chance',
    (length, bits) => {
      for (const fill of [0, 0x20202020, 0x5bd1e995]) {
        const words = new Int32Array(length / 4).fill(fill);
        const lows: number[] = [];
        const highs: number[] = [];
        const visit = (from: number, left: number) => {
          forge64Words(words, length, 0, 0, out);
          lows.push(out[0] >>> 0);
          highs.push(out[1] >>> 0);
          if (left === 0) return;
          for (let bit = from; bit < 8 * length; bit++) {
            words[bit >> 5] ^= 1 << (bit & 31);
            visit(bit + 1, left - 1);
            words[bit >> 5] ^= 1 << (bit & 31);
          }
        };
        visit(0, bits);
        const count = lows.length;
        const whole = Float64Array.from(lows, (low, i) => highs[i] * 2 ** 20 + (low >>> 12)).sort();
        expect(repeats(whole)).toBe(0);
        const expected = (count * (count - 1)) / 2 ** 33;
        for (const half of [lows, highs]) {
          expectNormal(
            repeats(Uint32Array.from(half).sort()),
            expected,
            Math.sqrt(expected),
            `${count} keys`,
          );
        }
      }
    },
  );

  test('a difference that one block makes is not undone by few bits of the next', () => {
    const random = new Random(5);
    const words = new Int32Array(8);
    // One bit in the first block, every pair of bits in the second: if differences stayed small,
    // some would cancel.
    for (const first of [0, 31, 32, 63, 64, 95, 96, 127]) {
      for (let i = 0; i < 8; i++) words[i] = random.bits();
      forge64Words(words, 32, 0, 0, out);
      const [low, high] = out;
      words[first >> 5] ^= 1 << (first & 31);
      for (let p = 128; p < 256; p++) {
        for (let q = p; q < 256; q++) {
          words[p >> 5] ^= 1 << (p & 31);
          if (q !== p) words[q >> 5] ^= 1 << (q & 31);
          forge64Words(words, 32, 0, 0, out);
          expect(out[0] === low && out[1] === high).toBe(false);
          words[p >> 5] ^= 1 << (p & 31);
          if (q !== p) words[q >> 5] ^= 1 << (q & 31);
        }
      }
    }
  });
});

function repeats(sorted: ArrayLike<number>): number {
  let count = 0;
  for (let i = 1; i < sorted.length; i++) if (sorted[i] === sorted[i - 1]) count++;
  return count;
}
