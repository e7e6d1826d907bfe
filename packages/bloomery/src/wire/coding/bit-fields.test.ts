import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { getField, putField } from './bit-fields.ts';

test('fields of 1 to 53 bits come back from any bit, and touch no others', () => {
  const random = new Random(2);
  for (let width = 1; width <= 53; width++) {
    const values = Array.from({ length: 40 }, () =>
      Math.floor(((random.bits() >>> 0) / 2 ** 32) * 2 ** width),
    );
    values[0] = 2 ** width - 1;
    values[1] = 0;
    const offset = random.below(9);
    const bytes = new Uint8Array(Math.ceil((offset + 40 * width) / 8) + 1);
    for (const [i, value] of values.entries()) putField(bytes, offset + i * width, width, value);
    expect(values.map((_, i) => getField(bytes, offset + i * width, width))).toEqual(values);
    expect(getField(bytes, 0, offset)).toBe(0);
    expect(bytes[bytes.length - 1]).toBe(0);
  }
});

test('the first bit of a field is its least significant one', () => {
  const bytes = new Uint8Array(3);
  putField(bytes, 3, 10, 0b10_0000_0011);
  expect([...bytes]).toEqual([0b0001_1000, 0b0001_0000, 0]);
});
