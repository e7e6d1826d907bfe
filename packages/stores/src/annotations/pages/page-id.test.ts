import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { idsWithPrefix, listKey, pageId, prefixBits, prefixOf } from './page-id.ts';

const URL = 'https://example.org/';
const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

// printf 'bloomery annotations 1\nhttps://example.org/' | sha256sum
test('pageId is the digest that sha256sum and openssl print', async () => {
  expect(hex(await pageId(URL))).toBe('0d54bcfe6bb07b5033d6344872e93b14b787aa688560c2fb926b04bcc3ebb369');
  expect(hex(await pageId(URL, new Uint8Array(32).fill(1)))).toBe(
    'f7fdadedb41e84623e4a2e52ee183c0719a3f3d7ab688996996c896895ae1aef',
  );
  await expect(pageId(URL, new Uint8Array(31))).rejects.toThrow(/expected 32 bytes, got 31/);
});

test('listKey differs from group to group, and is the same each time', async () => {
  const keys = await Promise.all([1, 1, 2].map((byte) => listKey(new Uint8Array(32).fill(byte))));
  expect(keys[0].scheme.id).toBe(keys[1].scheme.id);
  expect(keys[0].scheme.id).not.toBe(keys[2].scheme.id);
});

test.each([
  [0, 0],
  [1, 0],
  [31, 0],
  [32, 1],
  [1023, 5],
  [1024, 6],
  [1_200_000, 16],
  [2 ** 24, 20],
  [1e12, 20],
])('prefixBits of a list of %i is %i', (capacity, bits) => {
  expect(prefixBits(capacity)).toBe(bits);
  if (bits > 0) expect(capacity / 2 ** bits).toBeGreaterThanOrEqual(16);
});

test('the ids with a prefix are those between the smallest and the largest', () => {
  const random = new Random(3);
  for (let i = 0; i < 500; i++) {
    const bits = random.below(21);
    const [asked, other] = [random.bytes(32), random.bytes(32)];
    const prefix = prefixOf(asked, bits);
    const { least, most } = idsWithPrefix(prefix);
    expect(prefixOf(least, bits)).toBe(prefix);
    expect(prefixOf(most, bits)).toBe(prefix);
    const isBetween = hex(least) <= hex(other) && hex(other) <= hex(most);
    expect(isBetween).toBe(prefixOf(other, bits) === prefix);
    expect(hex(least) <= hex(asked) && hex(asked) <= hex(most)).toBe(true);
  }
});
