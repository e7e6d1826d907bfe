/** The golden file of a `KeySet`: bytes that were written once can be read forever. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KeySet } from '../../src/index.ts';

const golden = new Uint8Array(readFileSync(new URL('../golden/key-set-v1.blmk', import.meta.url)));
const secret = Uint8Array.from({ length: 16 }, (_, i) => i);
const KEYS = Array.from({ length: 20 }, (_, i) => `key-${i}`);

test('KeySet: the golden file holds key-0 to key-19, and the same keys give its bytes', () => {
  const set = KeySet.decode(golden, { secret });
  expect([...set].map((key) => String.fromCharCode(...(key as Uint8Array))).sort()).toEqual([...KEYS].sort());
  const again = new KeySet({ secret, symbols: 64 });
  again.addMany(KEYS);
  expect(again.encode()).toEqual(golden);
});
