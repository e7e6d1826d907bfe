import { Random } from '@bloomery/testkit/statistics';
import { hashKey, SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { sipHashWords } from './siphash.ts';

test("sipHashWords with 2 and 4 rounds is the library's SipHash-2-4", () => {
  const random = new Random(3);
  const out = new Int32Array(2);
  for (let words = 0; words <= 5; words++) {
    for (let i = 0; i < 50; i++) {
      const secret = Int32Array.from({ length: 4 }, () => random.bits());
      const data = Int32Array.from({ length: 2 * words }, () => random.bits());
      sipHashWords(data, 0, words, secret, out, [2, 4]);
      const expected = hashKey(new Uint8Array(data.buffer), {
        key: new SecretKey(new Uint8Array(secret.buffer)),
      });
      expect([out[0] >>> 0, out[1] >>> 0]).toEqual([expected.low >>> 0, expected.high >>> 0]);
    }
  }
});
