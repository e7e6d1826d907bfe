import { expect, test } from 'vitest';
import { MessageSlab } from './message-slab.ts';

test('MessageSlab keeps copies that no other message overwrites, in buffers that they share', () => {
  const slab = new MessageSlab();
  const kept = Array.from({ length: 5000 }, (_, i) => {
    const bytes = new Uint8Array(i % 97).fill(i);
    const copy = slab.keep(bytes);
    bytes.fill(255); // the caller may change its bytes
    return copy;
  });
  kept.forEach((copy, i) => void expect(copy).toEqual(new Uint8Array(i % 97).fill(i)));
  const buffers = new Set(kept.map(({ buffer }) => buffer));
  expect(buffers.size).toBeGreaterThan(1);
  expect(buffers.size).toBeLessThan(6);
});

test('MessageSlab gives a long message a buffer of its own', () => {
  const slab = new MessageSlab();
  const [short, long] = [slab.keep(Uint8Array.of(1)), slab.keep(new Uint8Array(100_000).fill(2))];
  expect([long.length, long.byteLength, long.at(-1)]).toEqual([100_000, long.buffer.byteLength, 2]);
  expect(short.buffer).not.toBe(long.buffer);
});
