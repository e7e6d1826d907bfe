import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { OnesMap } from './ones-map.ts';

test('OnesMap has the shares of a naive count, however the file is cut', () => {
  const random = new Random(1);
  for (const size of [1, 7, 511, 512, 513, 5000]) {
    const bytes = Uint8Array.from({ length: size }, () => random.below(256));
    const map = new OnesMap(size);
    for (let start = 0; start < size; ) {
      const end = Math.min(size, start + 1 + random.below(700));
      map.add(start, bytes.subarray(start, end));
      start = end;
    }
    const parts = Math.min(512, size);
    const ones = new Float64Array(parts);
    const bits = new Float64Array(parts);
    for (const [i, byte] of bytes.entries()) {
      const part = Math.floor((i * parts) / size);
      bits[part] += 8;
      for (let bit = 0; bit < 8; bit++) ones[part] += (byte >> bit) & 1;
    }
    expect(map.shares()).toEqual(Float32Array.from(ones, (count, part) => count / bits[part]));
  }
});
