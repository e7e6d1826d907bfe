/** The dictionary file: what comes back, and which untrusted bytes are refused. */

import { readFileSync } from 'node:fs';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import {
  decodeSpeller,
  encodeSpeller,
  type Speller,
  SpellingError,
  spellerFromHunspell,
  spellerFromWordList,
} from '../../src/dictionaries/spelling/index.ts';

const small = (): Speller =>
  spellerFromHunspell(
    Buffer.from('5\nwalk/S\nkHz/k\nMcDonald\nrude/!\nNr.\n'),
    Buffer.from(
      "SET UTF-8\nLANG xx\nTRY abc\nKEEPCASE k\nNOSUGGEST !\nICONV 1\nICONV ’ '\nREP 1\nREP f ph\nWORDCHARS 0\nSFX S Y 1\nSFX S 0 s .\n",
    ),
  );

test('a file says all that the speller knew', () => {
  const speller = small();
  const again = decodeSpeller(encodeSpeller(speller));
  expect(again.traits).toEqual(speller.traits);
  expect(again.traits).toMatchObject({
    language: 'xx',
    forms: 7,
    keepCase: true,
    upperOnly: true,
    dotted: true,
    replacements: [['f', 'ph']],
  });
  expect(encodeSpeller(again)).toEqual(encodeSpeller(speller));
  for (const word of ['walk', 'walks', 'Walks', 'WALKS', 'kHz', 'McDonald', 'MCDONALD', 'rude'])
    expect(again.check(word), word).toBe(true);
  expect(again.check('Nr', { dotted: true })).toBe(true);
  expect(again.check('Nr')).toBe(speller.check('Nr'));
});

test('a file of version 1 is read; it has no word list and so no suggestions', () => {
  // Written by encodeSpeller(small()) when it made version 1.
  const golden =
    'QlNQTAEuJgBDAAAAJAAAACwAAAAkAAAABwAAAHh4HmFja2xkcndobW5lb3N1eh4wHh7igJkfJx8eZh9waB8eH3MfQkxNWQEHAAEAAAAAAAAAAAcAAAAK' +
    'AAEAAAcAAAAAAAAAAAAAAAAAAAAAAMi+DwAAACgIAAAA4AkAam7wCAAA2Kc5+EJMTVkBBwABBAAAAAAAAAAIAAAAAQABAAAIAACARBCgyK393kJMTVkB' +
    'BwABAwAAAAAAAAAKAAAAAwABAAAIAAAAABCDAAADABRABdxDTPfAQkxNWQEHAAEIAAAAAAAAAAEAAAAIAAEAAAEAAAAAAGertTPOESiWjA==';
  const speller = decodeSpeller(Buffer.from(golden, 'base64'));
  expect(speller.traits).toEqual(small().traits);
  for (const word of ['walk', 'Walks', 'WALKS', 'kHz', 'MCDONALD', 'rude'])
    expect(speller.check(word), word).toBe(true);
  expect(speller.suggest('wlak')).toEqual([]);
  expect(small().suggest('wlak')).toEqual(['walk', 'walks']);
  const rewritten = decodeSpeller(encodeSpeller(speller));
  expect([rewritten.check('walks'), rewritten.suggest('wlak')]).toEqual([true, []]);
});

test('the same words give the same bytes, in any order', () => {
  const make = (words: string[]) =>
    encodeSpeller(
      spellerFromWordList(Buffer.from(words.join('\n')), { language: 'xx', falsePositiveRate: 0.01 }),
    );
  expect(make(['ant', 'bee', 'cat'])).toEqual(make(['cat', 'ant', 'bee']));
  expect([...make(['ant', 'bee', 'cat']).subarray(0, 8)]).toEqual([
    0x42,
    0x53,
    0x50,
    0x4c,
    2,
    32,
    make(['ant', 'bee', 'cat'])[6],
    0,
  ]);
});

test('a Bloom filter inside is read as one', () => {
  const speller = spellerFromWordList(Buffer.from('ant\nbee\n'), {
    structure: 'bloom',
    falsePositiveRate: 0.001,
  });
  const again = decodeSpeller(encodeSpeller(speller));
  expect(String(again.parts.words)).toMatch(/^BloomFilter/);
  expect(again.check('Bee')).toBe(true);
});

test('every strict prefix is refused, and so is a byte more', () => {
  const bytes = encodeSpeller(small());
  for (let length = 0; length < bytes.length; length++) {
    expect(() => decodeSpeller(bytes.subarray(0, length)), `${length} bytes`).toThrow(SpellingError);
  }
  expect(() => decodeSpeller(Uint8Array.of(...bytes, 0))).toThrow(
    expect.objectContaining({ code: 'trailing' }),
  );
  expect(() => decodeSpeller(bytes.subarray(0, 100))).toThrow(expect.objectContaining({ code: 'truncated' }));
});

test('every flipped bit is refused', () => {
  const bytes = encodeSpeller(small());
  for (let bit = 0; bit < 8 * bytes.length; bit++) {
    const changed = bytes.slice();
    changed[bit >> 3] ^= 1 << (bit & 7);
    expect(() => decodeSpeller(changed), `bit ${bit}`).toThrow(SpellingError);
  }
});

test('random bytes behind a sound head and checksum are an error or a speller, never anything else', () => {
  const random = new Random(31);
  const bytes = encodeSpeller(small());
  let refused = 0;
  for (let round = 0; round < 2000; round++) {
    const changed = bytes.slice();
    for (let i = 0; i <= random.below(4); i++)
      changed[5 + random.below(changed.length - 9)] = random.below(256);
    reseal(changed);
    try {
      const speller = decodeSpeller(changed);
      speller.check("Walk's");
      speller.suggest('wlak');
    } catch (error) {
      expect(error).toBeInstanceOf(SpellingError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(500);
});

test('what was written can be read, whatever the affix file says', () => {
  const speller = (lines: string) =>
    spellerFromHunspell(Buffer.from('1\nwalk\n'), Buffer.from(`SET UTF-8\n${lines}`));
  const pairs = (name: string, count: number, text = 'x') =>
    `${name} ${count}\n${Array.from({ length: count }, (_, i) => `${name} ${i}q ${text}\n`).join('')}`;
  const nothing = speller('REP 3\nREP ^ a\nREP $ b\nREP ^f$ ph\n');
  expect(nothing.traits.replacements).toEqual([['f', 'ph']]);
  expect(decodeSpeller(encodeSpeller(nothing)).traits).toEqual(nothing.traits);
  const many = speller(pairs('REP', 5000));
  expect(many.traits.replacements).toHaveLength(4096);
  expect(decodeSpeller(encodeSpeller(many)).check('walk')).toBe(true);
  expect(speller(`REP 2\nREP a ${'b'.repeat(257)}\nREP a b\n`).traits.replacements).toEqual([['a', 'b']]);
  expect(decodeSpeller(encodeSpeller(speller(pairs('ICONV', 4096)))).traits.conversions).toHaveLength(4096);
  for (const [lines, message] of [
    [pairs('ICONV', 4097), /has 4097 conversions; expected at most 4096/],
    [pairs('ICONV', 1, 'b'.repeat(257)), /has conversions of more than 256 letters/],
  ] as const) {
    expect(() => encodeSpeller(speller(lines))).toThrow(message);
    expect(() => encodeSpeller(speller(lines))).toThrow(expect.objectContaining({ code: 'limit' }));
  }
  // Two parts become one, which is too long. An attacker can compute its checksum.
  const long = encodeSpeller(speller(pairs('ICONV', 2, 'b'.repeat(200))));
  const first = long.indexOf(0x1f, 28);
  const second = long.indexOf(0x1f, first + 1);
  long[second] = 0x62;
  long[long.indexOf(0x1f, second)] = 0x62;
  reseal(long);
  expect(() => decodeSpeller(long)).toThrow(/expected conversions of at most 256 letters/);
  expect(() => decodeSpeller(long)).toThrow(expect.objectContaining({ code: 'content' }));
});

test('says what is wrong', () => {
  const bytes = encodeSpeller(small());
  expect(() => decodeSpeller(readFileSync(new URL(import.meta.url)))).toThrow(
    /expected the magic bytes 66,83,80,76, got 47/,
  );
  expect(() => decodeSpeller(bytes, { maxBytes: 100 })).toThrow(expect.objectContaining({ code: 'limit' }));
  expect(() => decodeSpeller('x' as never)).toThrow(TypeError);
  const later = bytes.slice();
  later[4] = 3;
  expect(() => decodeSpeller(later)).toThrow(/expected version 2, got 3/);
  const damaged = bytes.slice();
  damaged[60] ^= 1;
  expect(() => decodeSpeller(damaged)).toThrow(expect.objectContaining({ code: 'checksum' }));
  expect(() => spellerFromWordList(new Uint8Array(0))).toThrow(/has no words/);
  expect(() => spellerFromWordList(Uint8Array.of(97, 0, 98))).toThrow(/line 1: a NUL byte/);
  expect(() => spellerFromWordList(Uint8Array.of(97, 10, 0xff))).toThrow(/line 2: not UTF-8/);
  expect(() => spellerFromWordList(new Uint8Array(5000).fill(97))).toThrow(
    /line 1: expected a word, got 5000 bytes/,
  );
});

/** A sound checksum for changed bytes: what a forger would do. */
function reseal(bytes: Uint8Array): void {
  try {
    decodeSpeller(bytes);
  } catch (error) {
    const sum = /expected checksum (\d+)/.exec((error as Error).message)?.[1];
    if (sum !== undefined) new DataView(bytes.buffer).setUint32(bytes.length - 4, Number(sum), true);
  }
}
