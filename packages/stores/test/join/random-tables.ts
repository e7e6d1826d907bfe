/** Random tables for property tests of joins: few distinct values, NULLs, duplicates, odd texts. */

import type { Random } from '@bloomery/testkit/statistics';
import type { KeyType } from '../../src/join/index.ts';

/** A table of key columns, and a number for each row. */
export interface RandomTable {
  readonly rows: readonly (readonly (string | null)[])[];
}

const LETTERS = [...'ab \t\\\n"\',é€😀N'];

/** Random values of a type in PostgreSQL's text form, from a pool of about `distinct`. */
function pool(random: Random, type: KeyType, distinct: number): string[] {
  const width = random.pick([4, 16, 32, 64]);
  return Array.from({ length: distinct }, () => {
    if (type === 'text') return Array.from({ length: random.below(5) }, () => random.pick(LETTERS)).join('');
    if (type === 'integer') {
      const wide = (BigInt(random.bits()) << 32n) | BigInt(random.bits() >>> 0);
      return BigInt.asIntN(width, wide).toString();
    }
    const hex = Buffer.from(random.bytes(type === 'uuid' ? 16 : random.below(4))).toString('hex');
    if (type === 'bytea') return `\\x${hex}`;
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  });
}

/** Two tables that have some keys in common. */
export function randomTables(
  random: Random,
  types: readonly KeyType[],
): [near: RandomTable, far: RandomTable] {
  const pools = types.map((type) => pool(random, type, 1 + random.below(60)));
  const table = (rows: number): RandomTable => ({
    rows: Array.from({ length: rows }, () =>
      pools.map((values) => (random.below(12) === 0 ? null : random.pick(values))),
    ),
  });
  return [table(random.below(60)), table(random.below(200))];
}
