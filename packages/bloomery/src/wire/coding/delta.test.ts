import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { counterKeys } from '../../../test/keys.ts';
import { BlockedBloomFilter } from '../../filters/blocked-bloom-filter.ts';
import { CountingBloomFilter } from '../../filters/counting/counting-bloom-filter.ts';
import { FrameError, writeChecksum } from '../../frames/envelope.ts';
import { deltaBits, deltaBitsDeviation } from '../../math/entropy.ts';
import { applyDelta, deltaEnds, makeDelta, OtherSnapshotError } from './delta.ts';
import { frameSum } from './snapshot.ts';

function snapshots(n: number, replaced: number, bits: number, hashes: number, seed = 0) {
  const set = new CountingBloomFilter({ counters: bits, hashes, counterBits: 8, seed });
  set.addMany(counterKeys(n));
  const from = set.snapshot().encode();
  set.deleteMany(counterKeys(replaced));
  set.addMany(counterKeys(replaced, n));
  return { from, to: set.snapshot().encode() };
}

inBothKernels('deltas', () => {
  test.each(['small', 'fast'] as const)('%s: from one snapshot to the other, byte for byte', (effort) => {
    for (const [n, replaced] of [
      [100, 0],
      [100, 5],
      [5000, 250],
      [5000, 5000],
    ]) {
      const { from, to } = snapshots(n, replaced, 12 * n, 3);
      const delta = makeDelta(from, to, { effort });
      expect(applyDelta(from, delta)).toEqual(to);
      expect(applyDelta(to, makeDelta(to, from))).toEqual(from);
      expect(deltaEnds(delta)).toEqual({ base: frameSum(from), result: frameSum(to) });
    }
    const [a, b] = [1, 2].map((keys) => {
      const filter = BlockedBloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
      filter.addMany(counterKeys(500 * keys));
      return filter.encode();
    });
    expect(applyDelta(a, makeDelta(a, b, { effort }))).toEqual(b);
  });

  test('never applied to another snapshot than the one it was made from', () => {
    const { from, to } = snapshots(1000, 50, 12_000, 3);
    const delta = makeDelta(from, to);
    expect(() => applyDelta(to, delta)).toThrow(OtherSnapshotError);
    const { from: other } = snapshots(1000, 50, 12_000, 3, 5);
    expect(() => applyDelta(other, delta)).toThrow(OtherSnapshotError);
    expect(() => makeDelta(from, other)).toThrow(/same parameters, seed and size/);
    expect(() => makeDelta(from, snapshots(10, 1, 120, 3).to)).toThrow(RangeError);
    const blocked = new BlockedBloomFilter({ blocks: 2, hashes: 3 });
    expect(() => makeDelta(blocked.encode(), from)).toThrow(RangeError);
  });

  test('made of sound frames only', () => {
    const { from, to } = snapshots(100, 5, 1201, 3);
    for (const make of [
      (frame: Uint8Array) => makeDelta(frame, to),
      (frame: Uint8Array) => makeDelta(from, frame),
    ]) {
      const changed = from.slice();
      changed[40] ^= 1;
      expect(() => make(changed)).toThrow(/checksum/);
      const stray = from.slice();
      stray[stray.length - 5] |= 2;
      writeChecksum(stray);
      expect(() => make(stray)).toThrow(/expected zeros beyond the last of 1201 bits/);
      expect(() => make(from.subarray(0, 100))).toThrow(/expected 183 bytes, got 100 \(at byte 100\)/);
      expect(() => make(Uint8Array.of(...from, 7))).toThrow(/expected 183 bytes, got 184 \(at byte 183\)/);
      expect(() => make(undefined as never)).toThrow(TypeError);
    }
    expect(() => makeDelta(from, to, { efort: 'fast' } as never)).toThrow(/got option 'efort'/);
  });

  test('never leads elsewhere than it says, also under a right checksum', () => {
    const { from, to } = snapshots(100, 5, 1201, 3);
    const delta = makeDelta(from, to);
    for (let at = 13; at < delta.length - 4; at++) {
      const forged = delta.slice();
      forged[at] ^= 1;
      writeChecksum(forged);
      expect(() => applyDelta(from, forged), `byte ${at}`).toThrow(FrameError);
    }
    const elsewhere = delta.slice();
    elsewhere[13] ^= 1;
    writeChecksum(elsewhere);
    expect(() => applyDelta(from, elsewhere)).toThrow(/expected a way to snapshot [0-9a-f]{16}, got to/);
    // 1201 bits, and not the 1208 of the bytes: in plain coding, a one beyond them is refused.
    const plain = new Uint8Array(21 + 1 + 151 + 4);
    plain.set(delta.subarray(0, 21));
    plain[21 + 151] = 2;
    writeChecksum(plain);
    expect(() => applyDelta(from, plain)).toThrow(/expected piece 0 in plain coding, got other bytes/);
  });

  test('every prefix, every flipped bit and noise are errors with a name', () => {
    const { from, to } = snapshots(300, 15, 3600, 3);
    const delta = makeDelta(from, to);
    for (let length = 0; length < delta.length; length++) {
      expect(() => applyDelta(from, delta.subarray(0, length))).toThrow(FrameError);
    }
    for (let bit = 0; bit < 8 * delta.length; bit++) {
      delta[bit >> 3] ^= 1 << (bit & 7);
      expect(() => applyDelta(from, delta), `bit ${bit}`).toThrow(FrameError);
      delta[bit >> 3] ^= 1 << (bit & 7);
    }
    const random = new Random(3);
    for (let round = 0; round < withEffort(1000); round++) {
      const bytes = random.bytes(random.below(80));
      if (round % 2 === 0) bytes.set(delta.subarray(0, Math.min(bytes.length, 21)));
      expect(() => applyDelta(from, bytes)).toThrow(FrameError);
    }
    expect(() => applyDelta(from, 'x' as never)).toThrow(TypeError);
  });

  test('tables VI and VII: the size is that of the formula', () => {
    for (const [ratio, k, c] of [
      [8, 5, 0.05],
      [12, 3, 0.05],
      [32, 2, 0.05],
      [13, 2, 0.01],
      [48, 2, 0.01],
    ]) {
      const n = 10_000;
      const m = ratio * n;
      const { from, to } = snapshots(n, Math.round(c * n), m, k);
      const bytes = makeDelta(from, to).length - 25;
      // Coding, piece and ones of the only piece or two: up to ten bytes beside the entropy.
      const theory = deltaBits(m, k, n, c) / 8;
      expectNormal(bytes - 6, theory, deltaBitsDeviation(m, k, n, c) / 8 + 1, `m/n = ${ratio}, c = ${c}`);
    }
  });
});
