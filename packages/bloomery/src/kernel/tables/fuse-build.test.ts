import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { counterKeys } from '../../../test/keys.ts';
import { hashScheme } from '../../hashing/hash-scheme.ts';
import { platform } from '../../keys/platform.ts';
import { fuseShape } from '../../math/fuse-size.ts';
import { wasmKernel } from '../wasm/kernel-choice.ts';
import { FuseLayout, fuseAnswer, located, MOST_ATTEMPTS } from './fuse.ts';
import { buildFuse, type FusePlan, hashesOf, openSolver } from './fuse-build.ts';
import { openWasmSolver } from './fuse-wasm.ts';

const hashes = (count: number, tag = 0) => hashesOf(counterKeys(count, 0, tag), hashScheme());
const plan = (width: number, ownIndex = false, stride = width): FusePlan => ({
  stride,
  width,
  ownIndex,
  shapeOf: fuseShape,
});

inBothKernels('building a fuse table', (kernel) => {
  test('every key gets 0, or the number of a slot that no other key has', () => {
    for (const n of [1, 2, 3, 7, 64, 500, 3000, 20_000]) {
      for (const [width, stride] of [
        [1, 1],
        [3, 3],
        [8, 8],
        [13, 40],
        [16, 16],
        [31, 31],
        [32, 64],
      ]) {
        const keys = hashes(n, width);
        const plain = buildFuse(keys, plan(width, false, stride));
        const owned = buildFuse(keys, plan(width, true, stride));
        const owners = new Set<number>();
        let wrong = 0;
        for (let i = 0; i < n; i++) {
          if (fuseAnswer(plain.words, plain.layout, keys[2 * i], keys[2 * i + 1]) !== 0) wrong++;
          const own = fuseAnswer(owned.words, owned.layout, keys[2 * i], keys[2 * i + 1]);
          if (own >= 4) wrong++;
          owners.add(located[own]);
        }
        expect(wrong).toBe(0);
        expect(plain.size).toBe(n);
        if (width >= 2) expect(owners.size).toBe(n);
        // Only the lowest `width` bits of a slot are touched, and nothing behind the slots.
        if (stride > width) expect(onesOutside(plain.words, plain.layout.slots, stride, width)).toBe(0);
      }
    }
  });

  test('equal hashes count once, hashes that differ in one bit are different', () => {
    const base = hashes(300);
    const near = new Int32Array(64 * 2 * 20);
    for (let i = 0; i < 20; i++) {
      for (let bit = 0; bit < 64; bit++) {
        near[128 * i + 2 * bit] = base[2 * i] ^ (bit < 32 ? 1 << bit : 0);
        near[128 * i + 2 * bit + 1] = base[2 * i + 1] ^ (bit < 32 ? 0 : 1 << (bit - 32));
      }
    }
    const twice = new Int32Array(2 * near.length + base.length);
    twice.set(near);
    twice.set(base, near.length);
    twice.set(near, near.length + base.length);
    const { size, words, layout } = buildFuse(twice, plan(8));
    expect(size).toBe(20 * 64 + 300);
    for (let i = 0; i < twice.length; i += 2) {
      expect(fuseAnswer(words, layout, twice[i], twice[i + 1])).toBe(0);
    }
    const extremes = Int32Array.of(
      0,
      0,
      -1,
      -1,
      0,
      -1,
      -1,
      0,
      1,
      0,
      0,
      1,
      0,
      -0x80000000,
      0,
      0x7fffffff,
      0,
      0,
    );
    expect(buildFuse(extremes, plan(8)).size).toBe(8);
  });

  test('hashes that are all alike but in their last bits are sorted and solved all the same', () => {
    const words = new Int32Array(2 * 5000);
    for (let i = 0; i < 5000; i++) words[2 * i] = (i * 7919) % 5000;
    // All have one segment and one first slot: the first attempt cannot succeed, the second does.
    const { size, layout } = buildFuse(words, plan(8));
    expect(size).toBe(5000);
    expect(layout.attempt).toBe(1);
  });

  test('the loop ends: a table that is too small is an error, not a wrong table', () => {
    const tiny = { ...plan(8), shapeOf: () => ({ segments: 1, segmentLength: 20 }) };
    expect(() => buildFuse(hashes(100), tiny)).toThrow(
      `Cannot build a table for these 100 keys: ${MOST_ATTEMPTS} attempts failed`,
    );
    // More than 63 keys in a slot overflow its count.
    for (const n of [63, 64, 65, 128, 256, 300]) {
      const slot = { ...plan(8), shapeOf: () => ({ segments: 1, segmentLength: 1 }) };
      expect(() => buildFuse(hashes(n), slot)).toThrow(RangeError);
    }
  });

  test('from the fourth attempt on the table grows', () => {
    const asked: number[] = [];
    const shapeOf = (n: number, attempt: number) => {
      asked.push(attempt);
      return attempt < 5 ? { segments: 1, segmentLength: 10 } : fuseShape(n, attempt);
    };
    const keys = hashes(1000);
    const { layout, words } = buildFuse(keys, { ...plan(8), shapeOf });
    expect(asked).toEqual([0, 1, 2, 3, 4, 5]);
    expect(layout.attempt).toBe(5);
    for (let i = 0; i < 1000; i++) expect(fuseAnswer(words, layout, keys[2 * i], keys[2 * i + 1])).toBe(0);
  });

  test('a second attempt is rarer than one in a hundred, a fourth does not happen', () => {
    const random = new Random(4);
    for (const n of [2, 5, 10, 20, 50, 200, 1000, 2500, 5000]) {
      const trials = withEffort(Math.min(2000, Math.ceil((kernel === 'wasm' ? 600_000 : 30_000) / n)));
      let again = 0;
      const keys = new Int32Array(2 * n);
      for (let trial = 0; trial < trials; trial++) {
        for (let i = 0; i < keys.length; i++) keys[i] = random.bits();
        const { layout } = buildFuse(keys, plan(8));
        if (layout.attempt > 0) again++;
        expect(layout.attempt).toBeLessThan(3);
      }
      // One-sided: at most 1.3 % (n = 10 has 1.2), with 5 sigma on top.
      const limit = 0.013 * trials;
      expect(again, `${n} keys`).toBeLessThanOrEqual(limit + 5 * Math.sqrt(limit) + 1);
    }
  });
});

describe('the two solvers', () => {
  test.runIf(wasmKernel() !== null)('agree word by word, failures included', () => {
    const random = new Random(3);
    for (let round = 0; round < withEffort(400); round++) {
      const n = random.below(random.pick([8, 80, 800]));
      const keys = new Int32Array(2 * n);
      for (let i = 0; i < 2 * n; i++) keys[i] = random.bits();
      const twice = new Int32Array(4 * n);
      twice.set(keys);
      twice.set(keys, 2 * n);
      const [a, b] = [openWasmSolver(twice)!, openSolver(keys)];
      expect(a.size).toBe(b.size);
      const width = 2 + random.below(31);
      const fields = { width, stride: width + random.below(33), ownIndex: random.below(2) === 0 };
      // Tight tables, so that about half of them fail.
      const shape = { segments: 1 + random.below(3), segmentLength: 1 + Math.floor(n * 0.3) };
      const layout = new FuseLayout(shape, random.below(4), fields);
      expect(a.solve(layout, fields.ownIndex) ?? 'none').toEqual(b.solve(layout, fields.ownIndex) ?? 'none');
    }
  });

  test.runIf(wasmKernel() !== null)(
    'where memory ends, before or after the sort, JavaScript takes over',
    () => {
      // Leaves a memory that is too large to be kept for the next construction.
      const keys = hashes(280_000);
      const rich = buildFuse(keys, plan(8));
      const real = platform.WebAssembly!;
      const pages = (bytes: number) => Math.ceil(bytes / 65536);
      for (const maximum of [0, 2, pages(24 * 280_000)]) {
        const Memory = function limited() {
          // 0 is refused: there is no memory at all.
          return new real.Memory({ initial: 1, maximum });
        };
        platform.WebAssembly = { Module: real.Module, Instance: real.Instance, Memory: Memory as never };
        try {
          expect(buildFuse(keys, plan(8)).words).toEqual(rich.words);
          expect(openWasmSolver(keys) === null).toBe(maximum <= 2);
        } finally {
          platform.WebAssembly = real;
        }
      }
    },
  );
});

/** How many ones are in no slot's first `width` bits. */
function onesOutside(words: Uint32Array, slots: number, stride: number, width: number): number {
  let ones = 0;
  for (let bit = 0; bit < 32 * words.length; bit++) {
    if (bit < slots * stride && bit % stride < width) continue;
    ones += (words[bit >> 5] >>> (bit & 31)) & 1;
  }
  return ones;
}
