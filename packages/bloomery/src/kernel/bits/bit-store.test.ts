import { expect, test } from 'vitest';
import { BitStore } from './bit-store.ts';

test('more than the machine can give is a clear error', () => {
  expect(() => BitStore.allocate(2 ** 50)).toThrow(
    new RangeError(`Cannot allocate: expected ${2 ** 47} bytes`),
  );
  expect(() => BitStore.allocate(2 ** 50, true)).toThrow(/^Cannot allocate: expected \d+ shared bytes$/);
});

test('bytes go in and out in frame order, at any position in a buffer', () => {
  const store = new BitStore(new Uint32Array(new ArrayBuffer(64), 8, 3));
  store.setBytes(Uint8Array.of(0x01, 0x80, 0, 0, 0xff));
  expect([...store.words]).toEqual([0x8001, 0xff, 0]);
  expect([...store.subarray(0, 6)]).toEqual([0x01, 0x80, 0, 0, 0xff, 0]);
  const copy = store.copy();
  copy.words[0] = 0;
  expect(store.words[0]).toBe(0x8001);
});
