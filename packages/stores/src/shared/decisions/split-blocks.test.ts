import { BlockedBloomFilter, hashKeys } from 'bloomery';
import { expect, test } from 'vitest';
import { BLOCK_BYTES, MOST_BLOCKS, PROBE_BYTES, packProbes, serverStage } from './split-blocks.ts';

test("packProbes gives the bits of the library's split blocks", () => {
  const blocks = 100;
  const keys = Array.from({ length: 500 }, (_, i) => `key${i}`);
  const filter = new BlockedBloomFilter({ layout: 'split-block', blocks });
  filter.addMany(keys);
  const probes = packProbes(hashKeys(keys, filter.scheme).words);
  expect(probes.length).toBe(PROBE_BYTES * keys.length);
  const view = new DataView(probes.buffer);
  const bytes = new Uint8Array(BLOCK_BYTES * blocks);
  for (let at = 0; at < probes.length; at += PROBE_BYTES) {
    // The arithmetic of the function on the server: doubles.
    const block = BLOCK_BYTES * Math.floor((view.getUint32(at, true) * blocks) / 2 ** 32);
    for (let word = 0; word < 8; word++) {
      const bit = probes[at + 4 + word];
      bytes[block + 4 * word + (bit >>> 3)] |= 1 << (bit & 7);
    }
  }
  expect(Buffer.from(filter.toBlockBytes()).equals(bytes)).toBe(true);
});

test('serverStage doubles the room at half the rate, up to 64 MiB', () => {
  const size = { capacity: 10_000, falsePositiveRate: 0.01 };
  const [first, second] = [0, 1].map((stage) => serverStage(size, stage));
  expect([first.capacity, second.capacity]).toEqual([10_000, 20_000]);
  expect(second.blocks).toBeGreaterThan(2 * first.blocks);
  const large = serverStage({ capacity: 2 ** 28, falsePositiveRate: 0.001 }, 0);
  expect(large.blocks).toBe(MOST_BLOCKS);
  expect(large.capacity).toBeLessThan(2 ** 28);
  // The product in the function on the server stays exact.
  expect((2 ** 32 - 1) * MOST_BLOCKS).toBeLessThan(Number.MAX_SAFE_INTEGER);
});
