import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ReconcileError } from '../reconcile-error.ts';
import { AutomergeSyncFilter } from './sync-filter.ts';
import { readAutomergeSync } from './sync-message.ts';

const random = new Random(2);
const hashes = Array.from({ length: 10 }, () => random.bytes(32));

function errorOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof ReconcileError)) throw error;
    return error.code;
  }
}

test('readAutomergeSync: prefixes, flipped bits and random bytes are messages or typed errors', () => {
  const filter = AutomergeSyncFilter.of(hashes.slice(0, 5)).encode();
  const message = Uint8Array.of(0x42, 1, ...hashes[0], 0, 1, 1, ...hashes[1], filter.length, ...filter, 9, 9);
  expect(readAutomergeSync(message)).toMatchObject({
    heads: [hashes[0]],
    need: [],
    rest: Uint8Array.of(9, 9),
  });
  const head = message.length - 2;
  for (let length = 0; length < head; length++)
    expect(
      errorOf(() => readAutomergeSync(message.subarray(0, length))),
      `${length}`,
    ).toBe('malformed');
  for (let bit = 0; bit < 8 * message.length; bit++) {
    const flipped = message.slice();
    flipped[bit >> 3] ^= 1 << (bit & 7);
    errorOf(() => readAutomergeSync(flipped).have[0]?.filter.has(hashes[7]));
  }
  for (let round = 0; round < withEffort(3000); round++) {
    const bytes = random.bytes(1 + random.below(60));
    bytes[0] = 0x43;
    errorOf(() => readAutomergeSync(bytes).have[0]?.filter.has(hashes[7]));
  }
  expect(() => readAutomergeSync(Uint8Array.of(0x42, 0, 0, 129, 2))).toThrow(/expected at most 256, got 257/);
  expect(() => readAutomergeSync(Uint8Array.of(0x41))).toThrow(/expected 0x42 or 0x43, got 0x41/);
});
