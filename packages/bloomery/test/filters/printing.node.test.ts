/** Node's own `console.log` finds the line of a structure, also inside of other objects. */

import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { BloomFilter } from '../../src/index.ts';

test('console.log prints a filter as one line', () => {
  const filter = new BloomFilter({ bits: 9593, hashes: 7 });
  const line = 'BloomFilter(9593 bits, 7 hashes, classic, forge64/0)';
  expect(inspect(filter)).toBe(line);
  expect(inspect({ songs: filter })).toBe(`{ songs: ${line} }`);
});
