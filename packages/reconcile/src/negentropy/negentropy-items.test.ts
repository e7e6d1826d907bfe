import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { type NegentropyItem, NegentropyItems } from './negentropy-items.ts';
import { END, varintBytes } from './negentropy-message.ts';
import { sha256 } from './sha256.ts';

const random = new Random(1);
const ITEMS: NegentropyItem[] = Array.from({ length: 200 }, (_, i) => {
  const id = random.bytes(32);
  // Ids that differ late, so that bounds need long prefixes.
  if (i % 3 === 0) id.fill(200, 0, 30);
  return { timestamp: i % 7 === 0 ? 2n ** 53n + BigInt(i) : random.below(20), id };
});

/** The order of the specification, over bigints. */
function rank({ timestamp, id }: NegentropyItem): bigint {
  return id.reduce((sum, byte) => sum * 256n + BigInt(byte), BigInt(timestamp));
}

const sorted = [...ITEMS].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
const items = new NegentropyItems([...ITEMS, ITEMS[5]]);

test('NegentropyItems are in the order of timestamps and ids, each once', () => {
  expect(items.size).toBe(200);
  for (const [i, { id }] of sorted.entries()) expect(items.idAt(i)).toEqual(id);
});

test('NegentropyItems: a fingerprint is the digest of the sum and the number of ids', () => {
  for (const [start, end] of [
    [0, 0],
    [0, 1],
    [0, 200],
    [50, 60],
    [13, 177],
    [199, 200],
  ]) {
    let sum = 0n;
    for (const { id } of sorted.slice(start, end))
      sum += id.reduceRight((value, byte) => value * 256n + BigInt(byte), 0n);
    const low = Uint8Array.from({ length: 32 }, (_, i) => Number((sum >> BigInt(8 * i)) & 255n));
    const input = Uint8Array.of(...low, ...varintBytes(BigInt(end - start)));
    expect(items.fingerprint(start, end)).toEqual(sha256(input).subarray(0, 16));
  }
});

test('NegentropyItems: the shortest bound before an item leads to this item', () => {
  for (let place = 1; place < items.size; place++) {
    const bound = items.boundBefore(place);
    expect(items.placeOf(bound, 0)).toBe(place);
    const shorter = { ...bound, prefix: bound.prefix.subarray(0, -1) };
    if (bound.prefix.length > 0) expect(items.placeOf(shorter, 0)).toBeLessThan(place);
  }
  expect(items.boundBefore(200)).toEqual(END);
  expect(items.placeOf(END, 0)).toBe(200);
  expect(new NegentropyItems([]).placeOf(END, 0)).toBe(0);
});

test('NegentropyItems refuse timestamps and ids that the protocol cannot carry', () => {
  const id = new Uint8Array(32);
  expect(new NegentropyItems([{ timestamp: 2n ** 64n - 2n, id }]).size).toBe(1);
  for (const timestamp of [-1, 0.5, Number.NaN, 2 ** 60, -1n, 2n ** 64n - 1n])
    expect(() => new NegentropyItems([{ timestamp, id }])).toThrow(/a timestamp from 0 to 2\^64 - 2, got/);
  expect(() => new NegentropyItems([{ timestamp: 1, id: new Uint8Array(31) }])).toThrow(
    'Cannot take an item: expected an id of 32 bytes, got 31',
  );
});
