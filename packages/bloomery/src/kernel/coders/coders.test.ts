import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { countOnes } from '../bits/bit-operations.ts';
import { useKernel } from '../wasm/kernel-choice.ts';
import {
  decodeGolomb,
  decodeRange,
  decodeRans,
  encodeGolomb,
  encodeRange,
  encodeRans,
  onesIn,
} from './coders.ts';
import { golombParameter } from './golomb.ts';
import { ByteModel } from './rans.ts';

/** `bits` random bits of which each is a one with probability `density`. */
function randomBits(random: Random, bits: number, density: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(bits / 32));
  for (let i = 0; i < bits; i++) if (random.bits() / 2 ** 32 + 0.5 < density) words[i >>> 5] |= 1 << (i & 31);
  return words;
}

function bytesOf(words: Uint32Array, bits: number): Uint8Array {
  return new Uint8Array(words.buffer, 0, Math.ceil(bits / 8));
}

/**
 * log2 of the number of arrays with that many ones: what an exact code takes on the average over
 * them.
 */
function exactBits(bits: number, ones: number): number {
  let sum = 0;
  for (let i = 1; i <= Math.min(ones, bits - ones); i++) {
    sum += Math.log2((bits - Math.min(ones, bits - ones) + i) / i);
  }
  return sum;
}

const SIZES = [
  1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 120, 127, 128, 129, 136, 192, 193, 200, 1000, 4097, 70_001,
];
const DENSITIES = [0.001, 0.01, 0.05, 0.133, 0.3, 0.5, 0.8, 0.99];

inBothKernels('coders', (kernel) => {
  test('everything that goes in comes out, at every size and density', () => {
    const random = new Random(1);
    for (const bits of SIZES) {
      for (const density of DENSITIES) {
        const words = randomBits(random, bits, density);
        const ones = countOnes(words);
        const back = new Uint32Array(words.length).fill(0xffffffff);
        expect(decodeRange(encodeRange(words, bits, ones), bits, ones, back)).toBe(true);
        expect(back, `range, ${bits} bits, ${ones} ones`).toEqual(words);
        const parameter = golombParameter(Math.max(1, ones), bits);
        back.fill(0xffffffff);
        expect(decodeGolomb(encodeGolomb(words, bits, ones, parameter), bits, ones, parameter, back)).toBe(
          true,
        );
        expect(back, `gaps, ${bits} bits, ${ones} ones`).toEqual(words);
        if (ones === 0 || ones === bits) continue;
        const model = new ByteModel(ones, bits);
        const bytes = bytesOf(words, bits);
        for (const lanes of [8, 16]) {
          const into = new Uint8Array(bytes.length).fill(255);
          expect(decodeRans(encodeRans(bytes, model, lanes), model, lanes, into)).toBe(true);
          expect(into, `rANS, ${bits} bits, ${ones} ones, ${lanes} lanes`).toEqual(bytes);
        }
      }
    }
  });

  test('arrays that no random filter is: all ones in front, all behind, one in the middle, none, all', () => {
    for (const bits of [33, 1000, 40_000]) {
      for (const [from, to] of [
        [0, bits >> 1],
        [bits >> 1, bits],
        [bits >> 1, (bits >> 1) + 1],
        [0, 0],
        [0, bits],
        [bits - 1, bits],
      ]) {
        const words = new Uint32Array(Math.ceil(bits / 32));
        for (let i = from; i < to; i++) words[i >>> 5] |= 1 << (i & 31);
        const ones = to - from;
        const back = new Uint32Array(words.length);
        expect(decodeRange(encodeRange(words, bits, ones), bits, ones, back)).toBe(true);
        expect(back).toEqual(words);
        const parameter = golombParameter(Math.max(1, ones), bits);
        expect(decodeGolomb(encodeGolomb(words, bits, ones, parameter), bits, ones, parameter, back)).toBe(
          true,
        );
        expect(back).toEqual(words);
        if (ones === 0 || ones === bits) continue;
        const model = new ByteModel(ones, bits);
        const bytes = bytesOf(words, bits);
        const into = new Uint8Array(bytes.length);
        expect(decodeRans(encodeRans(bytes, model, 16), model, 16, into)).toBe(true);
        expect(into).toEqual(bytes);
      }
    }
  });

  test('the range coder is exact: log2 of the number of such arrays, and two bytes at most', () => {
    const random = new Random(2);
    for (const density of DENSITIES) {
      const bits = 50_000;
      const words = randomBits(random, bits, density);
      const ones = countOnes(words);
      const { length } = encodeRange(words, bits, ones);
      const exact = exactBits(bits, ones) / 8;
      // Probabilities of 16 bits cost a little where ones are rare.
      expect(length, `density ${density}`).toBeLessThan(exact * 1.0004 + 2);
      expect(length).toBeGreaterThan(exact - 2);
    }
  });

  test('changed codes never do more than come out wrong', () => {
    const random = new Random(3);
    const bits = 3000;
    const words = randomBits(random, bits, 0.1);
    const ones = countOnes(words);
    const model = new ByteModel(ones, bits);
    const parameter = golombParameter(ones, bits);
    const codes = [
      encodeRange(words, bits, ones),
      encodeGolomb(words, bits, ones, parameter),
      encodeRans(bytesOf(words, bits), model, 16),
    ];
    const into = new Uint32Array(words.length);
    for (let round = 0; round < withEffort(kernel === 'wasm' ? 3000 : 1000); round++) {
      const [range, golomb, rans] = codes.map((code) => {
        const changed = Uint8Array.from(code.subarray(0, random.below(code.length + 1)));
        for (let n = random.below(4); n > 0 && changed.length > 0; n--) {
          changed[random.below(changed.length)] = random.bits() & 255;
        }
        return changed;
      });
      const count = random.below(2) === 0 ? ones : random.below(bits + 1);
      if (decodeRange(range, bits, count, into)) expect(countOnes(into)).toBe(count);
      if (decodeGolomb(golomb, bits, count, 1 + random.below(200), into)) expect(countOnes(into)).toBe(count);
      decodeRans(rans, model, random.below(2) === 0 ? 8 : 16, new Uint8Array(Math.ceil(bits / 8)));
    }
  });
});

/** Decodes a rANS code in which the noise flipped one bit; null if it is refused. */
function readChanged(
  words: Uint32Array,
  bits: number,
  model: ByteModel,
  lanes: number,
  noise: Uint8Array,
): Uint8Array | null {
  const code = encodeRans(bytesOf(words, bits), model, lanes);
  code[((noise[0] ?? 0) * 256 + (noise[1] ?? 0)) % code.length] ^= 1 << ((noise[2] ?? 0) & 7);
  const into = new Uint8Array(Math.ceil(bits / 8));
  return decodeRans(code, model, lanes, into) ? into : null;
}

describe('coders', () => {
  test('both kernels write the same bytes and reject the same ones', () => {
    const random = new Random(4);
    for (let round = 0; round < withEffort(60); round++) {
      const bits = 1 + random.below(round % 10 === 0 ? 200_000 : 3000);
      const words = randomBits(random, bits, random.pick([...DENSITIES]));
      const ones = countOnes(words);
      const parameter = golombParameter(Math.max(1, ones), bits);
      const model = ones > 0 && ones < bits ? new ByteModel(ones, bits) : null;
      const noise = random.bytes(random.below(200));
      const results = (['wasm', 'javascript'] as const).map((kernel) => {
        useKernel(kernel);
        const into = new Uint32Array(words.length);
        const result = [
          encodeRange(words, bits, ones),
          encodeGolomb(words, bits, ones, parameter),
          model && encodeRans(bytesOf(words, bits), model, 8),
          model && encodeRans(bytesOf(words, bits), model, 16),
          onesIn(words),
          decodeRange(noise, bits, ones, into) && Uint32Array.from(into),
          decodeGolomb(noise, bits, ones, parameter, into) && Uint32Array.from(into),
          model && decodeRans(noise, model, 8, new Uint8Array(into.buffer)) && Uint32Array.from(into),
          model && readChanged(words, bits, model, 8, noise),
          model && readChanged(words, bits, model, 16, noise),
        ];
        useKernel('auto');
        return result;
      });
      expect(results[0]).toEqual(results[1]);
    }
  });

  test('both kernels have the same model for every share of ones', () => {
    const bytes = Uint8Array.from({ length: 528 }, (_, i) => i & 255);
    for (let share = 1; share < 65536; share += EFFORT > 1 ? 1 : 23) {
      const model = new ByteModel(share, 65536);
      const codes = (['wasm', 'javascript'] as const).map((kernel) => {
        useKernel(kernel);
        return encodeRans(bytes, model, 8);
      });
      expectSameBytes(codes[0], codes[1], `share ${share}`);
    }
    useKernel('auto');
  });

  test('a model has every byte, adds up to 2^14 and follows the density', () => {
    for (const bits of [10, 1000, 2 ** 30]) {
      for (const density of [0.0001, 0.01, 0.2, 0.5, 0.7, 0.999]) {
        const ones = Math.min(bits - 1, Math.max(1, Math.round(bits * density)));
        const { frequencies, starts, symbols } = new ByteModel(ones, bits).tables;
        expect(frequencies.every((frequency) => frequency >= 1)).toBe(true);
        expect(frequencies.reduce((sum, frequency) => sum + frequency, 0)).toBe(2 ** 14);
        for (const byte of [0, 1, 128, 170, 255]) {
          expect(symbols[starts[byte]]).toBe(byte);
          expect(symbols[starts[byte] + frequencies[byte] - 1]).toBe(byte);
        }
        const p = ones / bits;
        expect(Math.abs(frequencies[0] / 2 ** 14 - (1 - p) ** 8)).toBeLessThan(256 / 2 ** 14); // the others have a slot each
      }
    }
  });
});
