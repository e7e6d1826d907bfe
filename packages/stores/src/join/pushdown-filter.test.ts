import { expectBinomial } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import type { KeyType } from './join-key.ts';
import { PushdownFilter } from './pushdown-filter.ts';

const keysOf = (type: KeyType, count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => {
    const at = i + from;
    if (type === 'uuid') return `${at.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
    if (type === 'bytea') return `\\x${at.toString(16).padStart(8, '0')}`;
    return type === 'integer' ? String(at) : `key ${at}`;
  });

test.each(['text', 'integer', 'uuid', 'bytea'] as const)(
  '%s: no false negative, and the rate of theory',
  (type) => {
    const filter = new PushdownFilter({ types: [type], bitsLog2: 13, hashes: 5 });
    for (const key of keysOf(type, 1000)) filter.add([key]);
    expect(keysOf(type, 1000).every((key) => filter.has([key]))).toBe(true);
    const passed = keysOf(type, 20_000, 5000).filter((key) => filter.has([key])).length;
    expectBinomial(passed, 20_000, filter.estimatedFalsePositiveRate(), type);
    // The share of bits that are set follows from the keys.
    const expected = 1 - Math.exp((-5 * 1000) / filter.bits);
    const deviation = Math.sqrt((expected * (1 - expected)) / filter.bits);
    expect(Math.abs(filter.fill() - expected)).toBeLessThan(5 * deviation);
  },
);

test('the order of the columns of a key matters', () => {
  const filter = new PushdownFilter({ types: ['text', 'text'], bitsLog2: 20, hashes: 10 });
  filter.add(['a', 'b']);
  expect([filter.has(['a', 'b']), filter.has(['b', 'a'])]).toEqual([true, false]);
});

test('the condition names its functions with their schema, and asks one bit for each hash', () => {
  const filter = new PushdownFilter({ types: ['text', 'integer'], bitsLog2: 10, hashes: 3 });
  const text = filter.condition(['"a"', '"b"']);
  expect(text.split(' and ')).toEqual([
    'pg_catalog.get_bit($1::bytea, pg_catalog.hashint8extended("b", pg_catalog.hashtextextended("a", 1::int8)) & 1023::int8) = 1',
    'pg_catalog.get_bit($1::bytea, (pg_catalog.hashint8extended("b", pg_catalog.hashtextextended("a", 1::int8)) >> 32) & 1023::int8) = 1',
    'pg_catalog.get_bit($1::bytea, pg_catalog.hashint8extended("b", pg_catalog.hashtextextended("a", 2::int8)) & 1023::int8) = 1',
  ]);
  expect(() => filter.condition(['"a"'])).toThrow('expected 2 columns, got 1');
});

test('wrong sizes are refused', () => {
  const make = (bitsLog2: number, hashes: number) =>
    new PushdownFilter({ types: ['text'], bitsLog2, hashes });
  expect(() => make(5, 1)).toThrow('expected bitsLog2 from 6 to 32, got 5');
  expect(() => make(33, 1)).toThrow('got 33');
  expect(() => make(10, 0)).toThrow('expected hashes from 1 to 30, got 0');
  expect(() => new PushdownFilter({ types: [], bitsLog2: 10, hashes: 1 })).toThrow('at least one column');
});
