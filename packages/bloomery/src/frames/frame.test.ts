import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { inBothKernels } from '../../test/contracts/subject.ts';
import { BloomFilter } from '../filters/bloom-filter.ts';
import { hashKey } from '../kernel/batches/hash-key.ts';
import { FrameError, PAGE, pageSum } from './envelope.ts';

/** The checksum as docs/spec/frame.md has it. */
function checksumOf(frame: Uint8Array): number {
  let sum = 0;
  for (let page = 0, at = 0; at < frame.length - 4; page++, at += 4096) {
    sum ^= hashKey(frame.subarray(at, Math.min(at + 4096, frame.length - 4)), { seed: page }).low;
  }
  return sum >>> 0;
}

function filterOfBytes(bytes: number, random: Random): BloomFilter {
  const filter = new BloomFilter({ bits: 8 * bytes, hashes: 3 });
  for (let i = 0; i < bytes; i++) filter.add(random.bits());
  return filter;
}

inBothKernels('frame', () => {
  test('the checksum is the XOR of those of its pages, wherever the last one ends', () => {
    const random = new Random(1);
    // The head of such a frame has 28 bytes.
    for (const bytes of [1, 4067, 4068, 4069, 8163, 8164, 8165, 30_000]) {
      const frame = filterOfBytes(bytes, random).encode();
      const written = new DataView(frame.buffer).getUint32(frame.length - 4, true);
      expect(written, `${frame.length} bytes`).toBe(checksumOf(frame));
    }
  });

  test('one changed byte in any page is seen, and so are two pages that changed places', () => {
    const random = new Random(2);
    const frame = filterOfBytes(30_000, random).encode();
    for (let at = 28; at < frame.length; at += 997) {
      const changed = frame.slice();
      changed[at] ^= 1 << random.below(8);
      expect(() => BloomFilter.decode(changed), `byte ${at}`).toThrow(FrameError);
    }
    const swapped = frame.slice();
    swapped.copyWithin(PAGE, 2 * PAGE, 3 * PAGE);
    swapped.set(frame.subarray(PAGE, 2 * PAGE), 2 * PAGE);
    expect(() => BloomFilter.decode(swapped)).toThrow(/checksum/);
  });

  test('the new checksum after a change follows from the changed page alone', () => {
    const random = new Random(3);
    const before = filterOfBytes(30_000, random);
    const frame = before.encode();
    const after = before.copy();
    after.add('another');
    const wanted = after.encode();
    let sum = checksumOf(frame);
    for (let page = 0; page * PAGE < frame.length - 4; page++) {
      const [old, now] = [frame, wanted].map((bytes) =>
        bytes.subarray(0, -4).slice(page * PAGE, (page + 1) * PAGE),
      );
      if (old.every((byte, i) => byte === now[i])) continue;
      sum ^= pageSum(page, old) ^ pageSum(page, now);
    }
    expect(sum >>> 0).toBe(checksumOf(wanted));
  });
});
