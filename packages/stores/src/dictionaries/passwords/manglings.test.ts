import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { mostUnmangled, unmangled } from './manglings.ts';
import { PasswordBlocklist } from './password-blocklist.ts';

const lengths = { shortest: 4, longest: 20 };

test('unmangled undoes decorations, look-alikes and the order of the letters', () => {
  for (const mangled of ['dragon12', '1dragon', '!!dragon2024', 'dr4g0n', 'dr@gon#1', 'nogard', '9n0g4rd!'])
    expect(unmangled(mangled, lengths).has('dragon'), mangled).toBe(true);
  for (const mangled of ['h3ll0', 'h3ll012', 'he1lo', 'hel!o', '1he|lo1'])
    expect(unmangled(mangled, lengths).has('hello'), mangled).toBe(true);
  for (const other of ['dragon1234567', 'drag0n x', 'xdragon', 'dragon12x'])
    expect(unmangled(other, lengths).has('dragon'), other).toBe(false);
});

test('unmangled asks only for lengths that words have, and never for the password itself', () => {
  const texts = unmangled('12abc', { shortest: 4, longest: 4 });
  expect([...texts].every((text) => text.length === 4)).toBe(true);
  expect(unmangled('abcd', lengths).has('abcd')).toBe(false);
  expect(unmangled('1ab', lengths).size).toBe(0);
});

test('mostUnmangled bounds the texts of every password, and is reached', () => {
  const random = new Random(5);
  for (const length of [1, 4, 5, 8, 12, 19, 24, 26, 27]) {
    const most = mostUnmangled(length, lengths);
    for (let round = 0; round < 300; round++) {
      const password = Array.from({ length }, () => random.pick([...'abc01345!$@'])).join('');
      expect(unmangled(password, lengths).size).toBeLessThanOrEqual(most);
    }
  }
  expect(mostUnmangled(12, lengths)).toBe(167);
  expect(mostUnmangled(27, lengths)).toBe(0);
  // Six distinct digits at each end, and a middle in which every folding differs.
  expect(unmangled('234567a1b234567', { shortest: 4, longest: 20 }).size).toBe(167);
});

describe('a blocklist', () => {
  const words = ['dragon', 'password', 'sunshine', 'football', 'cat'];
  const blocklist = PasswordBlocklist.from(words, { refusalRate: 1e-6 });

  test.each(['Dragon12', 'Sunshine1!', 'P4$$w0rd', 'drowssap', '1Football2024', 'p@55w0rd99'])(
    'refuses %s as mangled',
    (password) => expect(blocklist.refuses(password)).toEqual({ refused: true, reason: 'mangled' }),
  );

  test('accepts short words with marks, long decorations and passphrases', () => {
    for (const good of ['cat!!', 'dragon83719264', 'correct horse battery staple', 'dragon sunshine lamp'])
      expect(blocklist.refuses(good), good).toMatchObject({ refused: false });
  });

  test('without manglings only words and their neighbours are refused, also after encoding', () => {
    const plain = PasswordBlocklist.from(words, { refusalRate: 1e-6, manglings: false });
    for (const list of [plain, PasswordBlocklist.decode(plain.encode())]) {
      expect(list.refuses('Dragon12').refused).toBe(false);
      expect(list.refuses('Dragon1').reason).toBe('near');
      expect(list.parameters.manglings).toBe(false);
    }
    const again = PasswordBlocklist.decode(blocklist.encode());
    expect(again.refuses('Dragon12').reason).toBe('mangled');
  });

  test('strong random passwords are refused at most at the rate asked for', () => {
    const random = new Random(9);
    const printable = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i));
    const letters = [...'abcdefghijklmnopqrstuvwxyz'];
    const list = Array.from({ length: 20_000 }, () =>
      Array.from({ length: 6 + random.below(6) }, () => random.pick(letters)).join(''),
    );
    const large = PasswordBlocklist.from(list, { refusalRate: 0.05 });
    let refused = 0;
    const asked = 4000;
    let expected = 0;
    for (let i = 0; i < asked; i++) {
      const password = Array.from({ length: 12 }, () => random.pick(printable)).join('');
      if (large.refuses(password).refused) refused++;
      const manglings = unmangled(password.toLowerCase(), { shortest: 6, longest: 11 }).size;
      const { shortest, longest, alphabet } = large.parameters;
      // A password of 12 characters has neighbours of 11 only, one for each deletion.
      const runs = [...password.toLowerCase()].filter((c, j, all) => c !== all[j - 1]).length;
      expect([shortest, longest, alphabet.length]).toEqual([6, 11, 26]);
      expected += 1 - (1 - large.filter.falsePositiveRate) ** (1 + runs + manglings);
    }
    expectBinomial(refused, asked, expected / asked, 'mistaken refusals');
    expect(expected / asked).toBeLessThan(0.05);
  });
});
