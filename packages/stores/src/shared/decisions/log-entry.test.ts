import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { MOST_HASHES, packHashes, readEntry } from './log-entry.ts';

const ascii = (text: string) => new TextEncoder().encode(text);

test('readEntry reads the hashes that packHashes wrote, whatever the bytes lie in', () => {
  const words = Int32Array.from([1, -2, 0x7fffffff, -0x80000000]);
  const packed = packHashes(words);
  expect(packed).toEqual(Uint8Array.from([1, 0, 0, 0, 254, 255, 255, 255, 255, 255, 255, 127, 0, 0, 0, 128]));
  // A reply of the server is a view somewhere in a larger buffer.
  const reply = Buffer.concat([Buffer.from('xyz'), packed]).subarray(3);
  expect(readEntry([ascii('h'), reply])).toEqual({ kind: 'hashes', words });
});

test('readEntry reads the counts of trimmings and merges', () => {
  expect(readEntry([ascii('t'), ascii('17')])).toEqual({ kind: 'trimmed', entries: 17 });
  expect(readEntry([ascii('m'), ascii('9')])).toEqual({ kind: 'merged', entries: 9 });
  expect(readEntry([ascii('b'), ascii('')])).toEqual({ kind: 'begin' });
});

test('readEntry takes everything else as unknown', () => {
  const wrong: Uint8Array[][] = [
    [],
    [ascii('h')],
    [ascii('h'), new Uint8Array(0)],
    [ascii('h'), new Uint8Array(7)],
    [ascii('h'), new Uint8Array(8 * MOST_HASHES + 8)],
    [ascii('hh'), new Uint8Array(8)],
    [ascii('h'), new Uint8Array(8), ascii('h'), new Uint8Array(8)],
    [ascii('t'), ascii('')],
    [ascii('t'), ascii('-1')],
    [ascii('t'), ascii('1.5')],
    [ascii('t'), ascii('12345678901234567890')],
    [ascii('z'), ascii('1')],
  ];
  for (const fields of wrong) expect(readEntry(fields).kind).toBe('unknown');
});

test('readEntry never throws on random bytes', () => {
  const random = new Random(7);
  for (let round = 0; round < 2000; round++) {
    const fields = Array.from({ length: random.below(4) }, () => random.bytes(random.below(20)));
    expect(() => readEntry(fields)).not.toThrow();
  }
});
