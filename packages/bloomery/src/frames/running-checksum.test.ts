import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { writeChecksum } from './envelope.ts';
import { RunningChecksum } from './running-checksum.ts';

function whole(bytes: Uint8Array): number {
  const sealed = new Uint8Array(bytes.length + 4);
  sealed.set(bytes);
  writeChecksum(sealed);
  return new DataView(sealed.buffer).getUint32(bytes.length, true);
}

test('RunningChecksum: the sum is that of the whole, however the bytes are cut', () => {
  const random = new Random(4);
  for (const length of [0, 1, 4095, 4096, 4097, 8192, 12_289, 50_000]) {
    const bytes = random.bytes(length);
    for (const most of [1, 7, 4096, 5000, 60_000].filter((size) => length / size < 5000)) {
      const sum = new RunningChecksum();
      for (let at = 0; at < length; ) {
        const size = 1 + random.below(most);
        sum.add(bytes.subarray(at, at + size));
        at += size;
      }
      expect(sum.value(), `${length} bytes in pieces of up to ${most}`).toBe(whole(bytes));
    }
  }
});

test('RunningChecksum: asking for the value in between changes nothing', () => {
  const bytes = new Random(5).bytes(9000);
  const sum = new RunningChecksum();
  for (let at = 0; at < bytes.length; at += 1000) {
    sum.add(bytes.subarray(at, at + 1000));
    expect(sum.value()).toBe(whole(bytes.subarray(0, at + 1000)));
  }
});
