import { withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import { FrameError } from '../../frames/envelope.ts';
import { countOnes } from '../../kernel/bits/bit-operations.ts';
import { useKernel } from '../../kernel/wasm/kernel-choice.ts';
import { binaryEntropy } from '../../math/entropy.ts';
import { CodedBits, decodeBits, unpackStream } from './bit-code.ts';
import { CompressedBloomFilter } from './compressed-bloom-filter.ts';
import { type Effort, encodeBits, encodePiece, joinPieces, pieceCount, planBits } from './encode-bits.ts';

function randomBits(seed: number, bits: number, density: number): Uint32Array {
  const random = new Random(seed);
  const words = new Uint32Array(Math.ceil(bits / 32));
  if (density > 0.02) {
    for (let i = 0; i < bits; i++) {
      if (random.below(1e6) < density * 1e6) words[i >>> 5] |= 1 << (i & 31);
    }
  } else {
    for (let n = 0; n < bits * density; n++) {
      const i = random.below(bits);
      words[i >>> 5] |= 1 << (i & 31);
    }
  }
  return words;
}

const EFFORTS: readonly Effort[] = ['small', 'fast'];

inBothKernels('bit codes', (kernel) => {
  test.each(EFFORTS)('%s: what goes in comes out, near the entropy, at every size and density', (effort) => {
    const sizes = kernel === 'wasm' ? [10_000, 100_000, 2_000_000] : [10_000, 300_000];
    for (const bits of sizes) {
      for (const density of [0.001, 0.004, 0.01, 0.03, 0.055, 0.065, 0.133, 0.25, 0.4, 0.47, 0.5]) {
        const words = randomBits(bits, bits, density);
        const code = encodeBits(words, bits, effort);
        expect(decodeBits(code, bits)).toEqual(words);
        const entropy = (bits * binaryEntropy(countOnes(words) / bits)) / 8;
        const allowed = effort === 'small' ? 1.003 : 1.012;
        expect(code.length, `${bits} bits at ${density}, entropy ${entropy}`).toBeLessThanOrEqual(
          entropy * allowed + 16,
        );
      }
    }
  });

  test('the smallest kind is taken and named', () => {
    const bits = 5000;
    const words = new Uint32Array(Math.ceil(bits / 32));
    const coding = (effort: Effort) => new CodedBits(encodeBits(words, bits, effort), bits).coding;
    expect([coding('small'), coding('fast')]).toEqual(['empty', 'empty']);
    expect(encodeBits(words, bits).length).toBe(1);
    words[7] = 5;
    expect([coding('small'), coding('fast')]).toEqual(['range', 'gaps']);
    words.set(randomBits(1, bits, 0.35));
    expect([coding('small'), coding('fast')]).toEqual(['range', 'rans']);
    words.set(randomBits(1, bits, 0.5));
    expect([coding('small'), coding('fast')]).toEqual(['plain', 'plain']);
    for (let i = 0; i < bits; i++) words[i >>> 5] |= 1 << (i & 31);
    expect([coding('small'), coding('fast')]).toEqual(['full', 'full']);
    expect(decodeBits(encodeBits(words, bits), bits)).toEqual(words);
  });

  test.each(EFFORTS)('%s: pieces decode on their own, in any order', (effort) => {
    for (const density of [0.01, 0.2]) {
      const bits = 700_001;
      const words = randomBits(9, bits, density);
      const coded = new CodedBits(encodeBits(words, bits, effort), bits);
      expect(coded.pieceCount).toBeGreaterThan(density > 0.1 ? 2 : 0);
      for (let i = coded.pieceCount - 1; i >= 0; i--) {
        const from = (i * coded.pieceBits) / 32;
        const to = Math.min(words.length, Math.ceil(from + coded.pieceBits / 32));
        expect(coded.piece(i)).toEqual(words.slice(from, to));
      }
    }
  });

  test.each(EFFORTS)('%s: tiny arrays of every content', (effort) => {
    for (let bits = 1; bits <= 9; bits++) {
      for (let content = 0; content < 2 ** bits; content++) {
        const words = Uint32Array.of(content);
        const code = encodeBits(words, bits, effort);
        expect(decodeBits(code, bits)).toEqual(words);
        expect(code.length).toBeLessThanOrEqual(1 + Math.ceil(bits / 8));
      }
    }
  });

  test('prefixes, changed bytes and noise are FrameErrors or other bits, never anything else', () => {
    const random = new Random(8);
    for (const [bits, density, effort] of [
      [3000, 0.05, 'small'],
      [3000, 0.05, 'fast'],
      [3000, 0.2, 'fast'],
      [200_000, 0.13, 'small'],
      [400_000, 0.2, 'fast'],
      [64, 0.5, 'small'],
    ] as const) {
      const code = encodeBits(randomBits(2, bits, density), bits, effort);
      const attempt = (bytes: Uint8Array) => {
        try {
          const words = decodeBits(bytes, bits, 28);
          expect(words.length).toBe(Math.ceil(bits / 32));
          if (bits % 32 !== 0) expect(words[words.length - 1] >>> (bits % 32)).toBe(0);
        } catch (error) {
          if (!(error instanceof FrameError)) throw error;
        }
      };
      for (let length = 0; length < Math.min(code.length, 60); length++) attempt(code.subarray(0, length));
      expect(() => decodeBits(new Uint8Array(0), bits)).toThrow(FrameError);
      for (let round = 0; round < withEffort(kernel === 'wasm' ? 200 : 40); round++) {
        const changed = round % 3 === 0 ? random.bytes(random.below(100)) : Uint8Array.from(code);
        for (let n = random.below(5); n >= 0 && changed.length > 0; n--) {
          changed[random.below(random.below(2) === 0 ? Math.min(12, changed.length) : changed.length)] =
            random.bits() & 255;
        }
        attempt(changed);
      }
    }
  });

  test('a code that declares more pieces than it has bytes is refused before anything is allocated', () => {
    const lie = Uint8Array.of(3, 1, 2, 3);
    expect(() => new CodedBits(lie, 2 ** 36)).toThrow(/2097152 pieces/);
    expect(() => new CodedBits(Uint8Array.of(9), 100)).toThrow(/coding/);
    expect(() => new CodedBits(Uint8Array.of(3 | (10 << 3), 0), 100)).toThrow(/size of its pieces, got 83/);
    expect(() => new CodedBits(Uint8Array.of(1 | (1 << 3)), 100)).toThrow(/size of its pieces, got 9/);
    expect(() => new CodedBits(Uint8Array.of(4, 0, 0), 100)).toThrow(/0 ones/);
    expect(() => new CodedBits(Uint8Array.of(1, 1), 100)).toThrow(/expected the end/);
    expect(() => new CodedBits(Uint8Array.of(0, 1), 100)).toThrow(/13 bytes of a piece/);
  });
});

inBothKernels('bit codes in parts', () => {
  test.each(EFFORTS)('%s: pieces that were coded apart join to the same bytes', (effort) => {
    for (const [bits, density] of [
      [1_000_001, 0.12],
      [900_000, 0.01],
      [5000, 0.1],
    ]) {
      const words = randomBits(3, bits, density);
      const plan = planBits(countOnes(words), bits, effort)!;
      const size = 2 ** plan.pieceLog / 32;
      const pieces = Array.from({ length: pieceCount(plan) }, (_, i) => i)
        .reverse()
        .map((i) => [i, encodePiece({ ...plan }, words.slice(i * size, (i + 1) * size), i)] as const);
      const inOrder = pieces.sort(([a], [b]) => a - b).map(([, piece]) => piece);
      expectSameBytes(joinPieces(plan, inOrder), encodeBits(words, bits, effort));
      expect(() => joinPieces(plan, inOrder.slice(1))).toThrow(/pieces with/);
      expect(() => encodePiece(plan, words.slice(0, 1), 0)).toThrow(/words, got 1/);
      expect(() => encodePiece(plan, words, pieceCount(plan))).toThrow(/index/);
    }
    expect(planBits(0, 10, effort)).toBe(null);
    expect(planBits(10, 10, effort)).toBe(null);
    expect(() => planBits(11, 10, effort)).toThrow(/ones/);
  });

  test.each(EFFORTS)('%s: a code that arrives in parts is unpacked piece by piece', async (effort) => {
    for (const [bits, density, partBytes] of [
      [1_000_001, 0.12, 1000],
      [1_000_001, 0.02, 70_000],
      [900, 0.1, 1],
      [900, 0.5, 7],
      [100, 0, 1],
      [100, 1, 1],
    ]) {
      const words = randomBits(6, bits, density);
      const code = encodeBits(words, bits, effort);
      const parts = Array.from({ length: Math.ceil(code.length / partBytes) }, (_, i) =>
        code.subarray(i * partBytes, (i + 1) * partBytes),
      );
      const back: number[] = [];
      let first = 0; // how many parts had arrived when the first piece came out
      let taken = 0;
      const counted = (function* () {
        for (const part of parts) {
          taken++;
          yield part;
        }
      })();
      for await (const piece of unpackStream(counted, bits)) {
        first ||= taken;
        for (const word of piece) back.push(word);
      }
      expect(Uint32Array.from(back)).toEqual(words);
      if (bits > 1e6 && density > 0.1) expect(first).toBeLessThan(parts.length / 2);
      const all = async (bytes: Uint8Array[]) => {
        for await (const _ of unpackStream(bytes, bits));
      };
      await expect(all([])).rejects.toThrow(FrameError);
      await expect(all([...parts, Uint8Array.of(0)])).rejects.toThrow(FrameError);
      // The code of a single piece in range coding has no length. A part of it is the code of
      // other bits.
      if (bits > 1e6) await expect(all(parts.slice(0, -1))).rejects.toThrow(FrameError);
    }
  });
});

describe('bit codes', () => {
  test('the two kernels write the same bytes', () => {
    for (const bits of [100, 5000, 300_000]) {
      for (const density of [0.003, 0.1, 0.3, 0.9]) {
        const words = randomBits(4, bits, density);
        for (const effort of EFFORTS) {
          const codes = (['wasm', 'javascript'] as const).map((kernel) => {
            useKernel(kernel);
            const code = encodeBits(words, bits, effort);
            useKernel('auto');
            return code;
          });
          expect(codes[0]).toEqual(codes[1]);
        }
      }
    }
  });

  test('golden bytes', () => {
    // Ones at 3, 17, 18 and 40 of 100 bits; see docs/spec/wire.md.
    const words = Uint32Array.of((1 << 3) | (1 << 17) | (1 << 18), 1 << 8, 0, 0);
    expect(hex(encodeBits(words, 100, 'small'))).toBe('0304213c4d');
    expect(hex(encodeBits(words, 100, 'fast'))).toBe('051104670709');
  });

  test('an effort that does not exist is an error', () => {
    expect(() => encodeBits(new Uint32Array(1), 8, 'tiny' as Effort)).toThrow(/effort/);
  });
});

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

describe('sparse codes', () => {
  const bits = 2 ** 26 + 100;
  const ones = [0, 5, 2 ** 24 - 1, 2 ** 24, 2 ** 25 + 77, 2 ** 26, bits - 1];
  const words = new Uint32Array(Math.ceil(bits / 32));
  for (const one of ones) words[one >>> 5] |= 1 << (one & 31);
  const code = encodeBits(words, bits);
  const coded = new CodedBits(code, bits);

  test('are used where most pieces would be empty, and take no byte for those', () => {
    expect([coded.coding, coded.pieceBits, coded.pieceCount]).toEqual(['sparse', 2 ** 24, 5]);
    expect(encodeBits(words, bits, 'fast')).toEqual(code);
    expect(code.length).toBeLessThan(32); // 7 ones of 26 bits, and 6 bytes before them
  });

  test('give the array, as a whole, in pieces and from a stream', async () => {
    expectSameBytes(new Uint8Array(decodeBits(code, bits).buffer), new Uint8Array(words.buffer));
    const wordsOfPiece = 2 ** 24 / 32;
    let index = 0;
    for await (const piece of unpackStream(
      Array.from(code, (byte) => Uint8Array.of(byte)),
      bits,
    )) {
      const expected = words.slice(index * wordsOfPiece, (index + 1) * wordsOfPiece);
      expectSameBytes(new Uint8Array(piece.buffer), new Uint8Array(expected.buffer));
      expectSameBytes(new Uint8Array(coded.piece(index++).buffer), new Uint8Array(expected.buffer));
    }
    expect(index).toBe(5);
  });

  test('are refused in every strict prefix and with bytes behind, before memory is taken', () => {
    for (let length = 0; length < code.length; length++) {
      expect(() => new CodedBits(code.subarray(0, length), bits)).toThrow(FrameError);
    }
    expect(() => new CodedBits(Uint8Array.of(...code, 0), bits)).toThrow(FrameError);
    expect(() => new CodedBits(code, 2 ** 26)).toThrow(FrameError); // a one beyond the end
    expect(() => new CodedBits(Uint8Array.of(6, 255, 255, 3, 1, 7), bits)).toThrow(/65535 ones in 1 bytes/);
    expect(() => new CodedBits(Uint8Array.of(14, ...code.subarray(1)), bits)).toThrow(FrameError);
  });

  test('answer lookups in a filter that stays compressed', () => {
    const filter = new BloomFilter({ bits, hashes: 3 });
    filter.addMany(['ant', 'bee']);
    const small = new CompressedBloomFilter(filter.encode());
    expect(small.encode().length).toBeLessThan(70);
    expect(['ant', 'bee', 'cat'].map((key) => small.has(key))).toEqual([true, true, false]);
    expect(small.expand().equals(filter)).toBe(true);
  });
});
