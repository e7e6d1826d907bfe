import { createHash } from 'node:crypto';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { sha256 } from './sha256.ts';

test('sha256 agrees with OpenSSL at every length around its blocks', () => {
  const random = new Random(1);
  for (let length = 0; length < 300; length++) {
    const message = random.bytes(length);
    expect(Buffer.from(sha256(message))).toEqual(createHash('sha256').update(message).digest());
  }
});
