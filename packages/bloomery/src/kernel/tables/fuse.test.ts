import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { referenceAnswer, referenceField, referenceSlots } from '../../../test/fuse-reference.ts';
import { counterKeys } from '../../../test/keys.ts';
import { hashKeys } from '../batches/hash-keys.ts';
import { FuseLayout, fuseAnswer, locate, located, readField, writeField } from './fuse.ts';

const hashOf = (low: number, high: number) => (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);

describe('the slots of a hash', () => {
  const shapes = [
    { segments: 1, segmentLength: 1 },
    { segments: 1, segmentLength: 5 },
    { segments: 1, segmentLength: 999 },
    { segments: 50, segmentLength: 263 },
    { segments: 181, segmentLength: 5818 },
    { segments: 3, segmentLength: 2 ** 21 },
    { segments: 2 ** 21, segmentLength: 1023 },
    { segments: 1350, segmentLength: 821_000 },
  ];

  test('are those of the definition, in every shape and attempt, extreme hashes included', () => {
    const random = new Random(1);
    for (const shape of shapes) {
      for (let i = 0; i < withEffort(400); i++) {
        const layout = new FuseLayout(shape, random.pick([0, 0, 1, 2, 63]), {
          stride: 40,
          width: 1 + random.below(32),
        });
        const extreme = [0, -1, 0x7fffffff, -0x80000000];
        const low = i < 40 ? random.pick(extreme) : random.bits();
        const high = i < 40 ? random.pick(extreme) : random.bits();
        locate(layout, low, high);
        const { slots, fingerprint } = referenceSlots(layout, hashOf(low, high));
        expect([...located.subarray(0, 4)]).toEqual(slots);
        expect(located[4] >>> 0).toBe(fingerprint);
        expect(slots[0] >= 0 && slots[3] < layout.slots).toBe(true);
      }
    }
  });

  test('answers read the fields of the definition, of every width and stride', () => {
    const random = new Random(2);
    for (let round = 0; round < withEffort(300); round++) {
      const width = 1 + random.below(32);
      const stride = width + random.below(33);
      const layout = new FuseLayout(
        { segments: 1 + random.below(9), segmentLength: 1 + random.below(40) },
        0,
        {
          stride,
          width,
        },
      );
      const words = Uint32Array.from({ length: layout.wordCount }, () => random.bits());
      const bytes = new Uint8Array(words.buffer);
      const low = random.bits();
      const high = random.bits();
      const expected = referenceAnswer(layout, bytes, hashOf(low, high));
      expect(fuseAnswer(words, layout, low, high)).toBe(expected);
      // Writing one field changes this field and nothing else.
      const slot = random.below(layout.slots);
      const from = random.below(stride - width + 1);
      expect(readField(words, slot, stride, from, width)).toBe(
        referenceField(bytes, slot * stride + from, width),
      );
      const value = random.bits() >>> (32 - width);
      const before = readBits(bytes);
      writeField(words, slot, stride, from, width, value);
      const after = readBits(bytes);
      before.splice(
        slot * stride + from,
        width,
        ...Array.from({ length: width }, (_, i) => (value >>> i) & 1),
      );
      expect(after).toEqual(before);
    }
  });

  // The keys are counters, as in life. The sizes are multiples of 5, so that fifths are equally
  // likely.
  test.each([0, 1, 17])(
    'are uniform, and independent of each other and of the fingerprint (attempt %i)',
    (attempt) => {
      const count = withEffort(40_000);
      const { words } = hashKeys(counterKeys(count, 0, attempt));
      for (const shape of [
        { segments: 1, segmentLength: 5 },
        { segments: 1, segmentLength: 1000 },
        { segments: 180, segmentLength: 5820 },
      ]) {
        const { segments, segmentLength } = shape;
        const layout = new FuseLayout(shape, attempt, { stride: 32, width: 32 });
        const variables = segments === 1 ? 5 : 6;
        const single = Array.from({ length: 6 }, () => new Uint32Array(5));
        const pairs = Array.from({ length: 36 }, () => new Uint32Array(25));
        // Each bit of the fingerprint with each of the other variables.
        const bits = Array.from({ length: 32 * 6 }, () => new Uint32Array(10));
        const fifths = new Uint8Array(6);
        for (let i = 0; i < count; i++) {
          locate(layout, words[2 * i], words[2 * i + 1]);
          const segment = Math.floor(located[0] / segmentLength);
          for (let j = 0; j < 4; j++) {
            fifths[j] = Math.floor((5 * (located[j] - (segment + j) * segmentLength)) / segmentLength);
          }
          fifths[4] = (located[4] >>> 0) % 5;
          fifths[5] = Math.floor((5 * segment) / segments);
          for (let bit = 0; bit < 32; bit++) {
            for (let j = 0; j < variables; j++)
              bits[6 * bit + j][2 * fifths[j] + ((located[4] >>> bit) & 1)]++;
          }
          for (let j = 0; j < variables; j++) {
            single[j][fifths[j]]++;
            for (let k = j + 1; k < variables; k++) pairs[6 * j + k][5 * fifths[j] + fifths[k]]++;
          }
        }
        const what = `${segments} segments of ${segmentLength}`;
        // Cell by cell and not by chi-square, whose tail is far from normal for so few cells.
        const expectCells = (cells: Uint32Array, about: string) => {
          for (const cell of cells) expectBinomial(cell, count, 1 / cells.length, `${what}: ${about}`);
        };
        for (let bit = 0; bit < 32; bit++) {
          for (const j of [0, 1, 2, 3, 5].slice(0, variables - 1)) {
            expectCells(bits[6 * bit + j], `bit ${bit} of the fingerprint and ${j}`);
          }
        }
        for (let j = 0; j < variables; j++) {
          expectCells(single[j], `${j}`);
          for (let k = j + 1; k < variables; k++) expectCells(pairs[6 * j + k], `${j} and ${k}`);
        }
      }
    },
  );

  test('of another attempt have nothing in common with the first', () => {
    const { words } = hashKeys(counterKeys(100_000));
    const shape = { segments: 1, segmentLength: 25 };
    const [a, b] = [0, 1].map((attempt) => new FuseLayout(shape, attempt, { stride: 8, width: 8 }));
    const same = new Uint32Array(5);
    for (let i = 0; i < 100_000; i++) {
      locate(a, words[2 * i], words[2 * i + 1]);
      const first = located.slice();
      locate(b, words[2 * i], words[2 * i + 1]);
      for (let j = 0; j < 5; j++) if (first[j] === located[j]) same[j]++;
    }
    for (let j = 0; j < 4; j++) expectBinomial(same[j], 100_000, 1 / 25, `slot ${j}`);
    expectBinomial(same[4], 100_000, 1 / 256, 'fingerprint');
  });
});

function readBits(bytes: Uint8Array): number[] {
  const bits: number[] = [];
  for (const byte of bytes) for (let i = 0; i < 8; i++) bits.push((byte >> i) & 1);
  return bits;
}
