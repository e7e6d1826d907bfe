import { readFileSync } from 'node:fs';
import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { FrameError, hashKey, type PackedKeys, SecretKey } from 'bloomery';
import { describe, expect, test } from 'vitest';
import { BlocklistBuilder } from './blocklist-builder.ts';
import { mostNeighbours, neighboursOf } from './neighbours.ts';
import { normalizePassword, WILDCARD } from './normalize-password.ts';
import { PasswordBlocklist } from './password-blocklist.ts';

const WORD_LIST = '/usr/share/dict/american-english-huge'; // Debian package wamerican-huge
const ACCEPTED = { refused: false, reason: null };

describe('a word list', () => {
  const random = new Random(1);
  const all = readFileSync(WORD_LIST, 'utf8').trim().split('\n');
  const words = EFFORT > 1 ? all : Array.from({ length: 20_000 }, () => random.pick(all));
  const blocklist = PasswordBlocklist.from(words);

  test('every word is refused, in any case', () => {
    // An expectation for each of a hundred thousand would take longer than the lookups.
    const accepted = words.filter((word) => blocklist.refuses(word).reason !== 'listed');
    expect(accepted).toEqual([]);
    expect(words.slice(0, 1000).filter((word) => !blocklist.refuses(word.toUpperCase()).refused)).toEqual([]);
  });

  test('every variant at edit distance 1 of a thousand words is refused', () => {
    const sample = words.filter((word) => word.length >= 4);
    const count = EFFORT > 1 ? 1000 : 25;
    for (let i = 0; i < count; i++) {
      const word = random.pick(sample);
      for (const variant of variantsOf(word)) {
        if (!blocklist.refuses(variant).refused)
          expect.fail(`${variant}, one edit from ${word}, was accepted`);
      }
    }
  }, 600_000);

  test('what is two edits away, or random, is accepted', () => {
    const few = PasswordBlocklist.from(['correct', 'horse', 'battery', 'staple'], { refusalRate: 1e-6 });
    for (const password of ['corr33t', 'hrs', 'hosre', 'batteryxx', 'xstaplex', 'correcthorse']) {
      expect(few.refuses(password), password).toEqual(ACCEPTED);
    }
    expect(few.refuses('h0rse')).toEqual({ refused: true, reason: 'near' });
  });
});

test('the rate is kept at every length up to the typical one, also beyond the longest word', () => {
  for (const list of [['dragon', 'monkey'], ['a', 'bc'], manyWords()]) {
    const blocklist = PasswordBlocklist.from(list, { refusalRate: 1e-3 });
    const rates = Array.from({ length: 12 }, (_, i) => blocklist.estimatedRefusalRate(i + 1));
    expect(Math.max(...rates)).toBeLessThanOrEqual(1e-3);
    // The most neighbours and the most manglings may belong to different lengths.
    expect(blocklist.estimatedRefusalRate()).toBeGreaterThanOrEqual(Math.max(...rates));
    expect(blocklist.estimatedRefusalRate()).toBeLessThanOrEqual(1e-3);
    expect(blocklist.estimatedRefusalRate()).toBeGreaterThan(0.5e-3 - 1e-6); // no bit too many
  }
});

test('random passwords are refused by mistake as often as the formula says, at each length', () => {
  const random = new Random(7);
  const letters = [...'abcdefghijklmnopqrstuvwxyz0123456789'];
  const word = (length: number) => Array.from({ length }, () => random.pick(letters)).join('');
  const list = Array.from({ length: 3000 }, () => word(5 + random.below(20)));
  // So that there are wildcards as well.
  for (const rare of 'éøü') list.push(word(9) + rare + word(9));
  const blocklist = PasswordBlocklist.from(list, { refusalRate: 0.1, typicalLength: 14 });
  expect(blocklist.parameters.wildcards).toBe(true);
  expect(blocklist.estimatedRefusalRate(14)).toBeLessThanOrEqual(0.1);
  const f = blocklist.filter.falsePositiveRate;
  const alphabet = [...blocklist.parameters.alphabet, WILDCARD];
  for (const length of [10, 14, 20]) {
    let [refused, expected, variance] = [0, 0, 0];
    for (let i = 0; i < withEffort(800); i++) {
      const password = word(length);
      const { shortest, longest } = blocklist.parameters;
      const lookups = 1 + keysOf(neighboursOf([...password], { alphabet, shortest, longest })).length;
      expect(lookups).toBeLessThanOrEqual(blocklist.mostLookups(length));
      const p = 1 - (1 - f) ** lookups;
      expected += p;
      variance += p * (1 - p);
      if (blocklist.refuses(password).refused) refused++;
    }
    expectNormal(refused, expected, Math.sqrt(variance), `refusals at length ${length}`);
  }
});

describe('lengths', () => {
  const blocklist = PasswordBlocklist.from(['cat', 'of', 'lions'], { refusalRate: 1e-6 });

  test('short words refuse only themselves', () => {
    expect(blocklist.refuses('cat')).toEqual({ refused: true, reason: 'listed' });
    expect(blocklist.refuses('cats')).toEqual(ACCEPTED);
    expect(blocklist.refuses('bat')).toEqual(ACCEPTED);
    expect(blocklist.refuses('o')).toEqual(ACCEPTED);
    expect(blocklist.refuses('lion')).toEqual({ refused: true, reason: 'near' });
    const eager = PasswordBlocklist.from(['cat'], { nearMinimum: 1, refusalRate: 1e-6 });
    expect(eager.refuses('bat').refused).toBe(true);
  });

  test('passwords longer than all words by more than six are not looked up', () => {
    expect(blocklist.mostLookups(12)).toBe(1);
    expect(blocklist.refuses('lions'.repeat(100_000))).toEqual(ACCEPTED);
    expect(blocklist.refuses('lionsx').reason).toBe('near');
  });

  test('an empty password is refused', () => {
    expect(blocklist.refuses('')).toEqual({ refused: true, reason: 'empty' });
  });

  test('words that are too long or empty are left out and counted', () => {
    const builder = new BlocklistBuilder({ longest: 10 });
    for (const word of ['', 'abcdefghij', 'abcdefghijk']) builder.add(word);
    expect(builder.skipped).toEqual({ empty: 1, tooLong: 1 });
    const built = builder.build();
    expect(built.words).toBe(1);
    expect(built.refuses('abcdefghijk').reason).toBe('near');
  });
});

describe('characters', () => {
  test.each([
    ['Straße', 'STRASSE'],
    ['Straße', 'STRAẞE'],
    ['groß', 'GROẞ'],
    ['ﬁnance', 'FINANCE'],
    ['cafe\u0301', 'café'],
    ['ΣΊΣΥΦΟΣ', 'σίσυφος'],
    ['Ｐａｓｓ', 'pass'],
  ])('%s and %s are one word', (a, b) => {
    expect(normalizePassword(a)).toBe(normalizePassword(b));
    expect(PasswordBlocklist.from([a]).refuses(b).reason).toBe('listed');
  });

  test('every letter is the same in any case and in any composition, and stays what it is', () => {
    const unlike: string[] = [];
    for (let code = 0; code <= 0x1ffff; code++) {
      if (code === 0xd800) code = 0xe000; // no letters, these
      const letter = String.fromCodePoint(code);
      const normal = normalizePassword(letter);
      const decomposed = letter.normalize('NFD');
      for (const other of [
        normal,
        letter.toUpperCase(),
        letter.toLowerCase(),
        decomposed,
        decomposed.toUpperCase(),
      ])
        if (normalizePassword(other) !== normal) unlike.push(`U+${code.toString(16)} as ${other}`);
    }
    expect(unlike).toEqual([]);
  });

  test('half of a pair is no character, and no other half either', () => {
    expect(normalizePassword('a\ud83d')).toBe('a\ufffd');
    expect(normalizePassword('\udd11🔑', { caseSensitive: true })).toBe('\ufffd🔑');
    const blocklist = PasswordBlocklist.from(['abc\ud83dx', 'abc\ud83ex'], { refusalRate: 1e-6 });
    expect(blocklist.words).toBe(1);
    expect(blocklist.refuses('abc\udd11x').reason).toBe('listed');
  });

  test('the wildcard cannot be typed', () => {
    expect(normalizePassword(`ab${WILDCARD}`)).toBe('ab\ufffd');
    const blocklist = PasswordBlocklist.from(['smørrebrød', 'château', 'müsli', ...manyWords()], {
      refusalRate: 1e-6,
    });
    expect(blocklist.parameters.wildcards).toBe(true);
    expect(blocklist.refuses(`sm${WILDCARD}rrebrød`).reason).toBe('near');
  });

  test('rare characters are found wherever they differ', () => {
    const rare = ['smørrebrød', '密码密码密码', 'пароль123', '🔑🔑🔑🔑🔑'];
    const blocklist = PasswordBlocklist.from([...rare, ...manyWords()], { refusalRate: 1e-6 });
    expect(blocklist.parameters.wildcards).toBe(true);
    for (const word of rare) {
      expect(blocklist.refuses(word).reason, word).toBe('listed');
      for (const variant of variantsOf(word, [...'azé密🔒9 ']))
        expect(blocklist.refuses(variant).refused, variant).toBe(true);
    }
    expect(blocklist.refuses('smorrebrod').refused).toBe(false);
  });

  test('letters of two code units count once', () => {
    const keys = PasswordBlocklist.from(['🔑🔑🔑🔑'], { refusalRate: 1e-6 });
    expect(['🔑🔑🔑🔑', '🔑🔑🔑🔑🔑', '🔑🔑🔒🔑', '🔑🔑🔑'].map((word) => keys.refuses(word).reason)).toEqual(
      ['listed', 'near', 'near', 'near'],
    );
    expect(keys.refuses('🔑🔑')).toEqual(ACCEPTED);
  });

  test('a wildcard is entered for each rare character of words that others can be near to, and for nothing else', () => {
    const words = ['smørrebrød', 'ø', 'aøb', 'müsli', ...manyWords()];
    const blocklist = PasswordBlocklist.from(words);
    expect(blocklist.parameters.alphabet.join('')).toBe('abcdefghijklmnopqrstuvwxyz');
    expect(blocklist.filter.size).toBe(blocklist.words + 3);
  });

  test('case can be told apart', () => {
    const blocklist = PasswordBlocklist.from(['Passwort'], { caseSensitive: true, refusalRate: 1e-6 });
    expect(blocklist.refuses('Passwort').reason).toBe('listed');
    expect(blocklist.refuses('passwort').reason).toBe('near');
    expect(blocklist.refuses('PASSWORT').refused).toBe(false);
  });

  test('lines are UTF-8, or else Latin-1; CR is no part of a word', () => {
    const builder = new BlocklistBuilder({ refusalRate: 1e-6 });
    builder.addLines(
      Uint8Array.from([...Buffer.from('müsli\r\nanna\n'), ...Buffer.from('jörg', 'latin1'), 10]),
    );
    expect(builder.latin1).toBe(1);
    const blocklist = builder.build();
    for (const word of ['müsli', 'anna', 'jörg']) expect(blocklist.refuses(word).reason, word).toBe('listed');
    expect(blocklist.words).toBe(3);
  });
});

describe('bytes', () => {
  const words = ['correct', 'horse', 'smørrebrød', ...manyWords()];
  const bytes = PasswordBlocklist.from(words).encode();

  test('the same set gives the same bytes', () => {
    expect(PasswordBlocklist.from([...words, ...words].reverse()).encode()).toEqual(bytes);
  });

  test('what was encoded answers the same', () => {
    const read = PasswordBlocklist.decode(bytes);
    expect(read.parameters).toEqual(PasswordBlocklist.from(words).parameters);
    for (const password of ['correkt', 'horse', 'smXrrebrød'])
      expect(read.refuses(password).refused).toBe(true);
    expect(read.encode()).toEqual(bytes);
  });

  test('a golden file', () => {
    const options = { refusalRate: 0.001, manglings: false };
    const golden = PasswordBlocklist.from(['password', 'letmein', 'schön'], options).encode();
    expect(Buffer.from(golden).toString('hex')).toBe(GOLDEN);
  });

  test('a golden file with a static filter of the first form is read, and stays as it is', () => {
    const read = PasswordBlocklist.decode(Buffer.from(FORMER_GOLDEN, 'hex'));
    for (const word of ['password', 'letmein', 'schön']) expect(read.refuses(word).reason).toBe('listed');
    expect(read.refuses('unrelated phrase').refused).toBe(false);
    expect(Buffer.from(read.encode()).toString('hex')).toBe(FORMER_GOLDEN);
  });

  test('no prefix, no flipped bit and no random bytes are taken', () => {
    for (let length = 0; length < bytes.length; length += length < 200 ? 1 : 97) {
      expect(() => PasswordBlocklist.decode(bytes.subarray(0, length)), `${length} bytes`).toThrow(
        FrameError,
      );
    }
    for (let bit = 0; bit < 8 * 160; bit++) {
      const flipped = bytes.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      expect(() => PasswordBlocklist.decode(flipped), `bit ${bit}`).toThrow(FrameError);
    }
    const random = new Random(3);
    for (let i = 0; i < 200; i++) {
      const noise = random.bytes(random.below(300));
      noise.set(bytes.subarray(0, Math.min(noise.length, 5)));
      expect(() => PasswordBlocklist.decode(noise)).toThrow(FrameError);
    }
    expect(() => PasswordBlocklist.decode('BLPW' as never)).toThrow(TypeError);
  });

  test('heads that no builder writes are refused, though their checksum fits', () => {
    const wide = PasswordBlocklist.from(['abc\ufffe', 'abd\u{1f511}'], { refusalRate: 0.01 }).encode();
    const letters = wide[22];
    const at = 24 + 3 * (letters - 2); // U+FFFE, and then a key
    expect([...wide.subarray(at, at + 6)]).toEqual([0xfe, 0xff, 0, 0x11, 0xf5, 1]);
    const changed = (changes: Record<number, number>) => {
      const copy = wide.slice();
      for (const [place, value] of Object.entries(changes)) copy[Number(place)] = value;
      const head = 24 + 3 * letters;
      new DataView(copy.buffer).setUint32(head, hashKey(copy.subarray(0, head)).low >>> 0, true);
      return copy;
    };
    expect(PasswordBlocklist.decode(changed({})).encode()).toEqual(wide);
    for (const changes of [
      { 5: 8 }, // a flag that there is not
      { 6: 0 }, // nearMinimum
      { 7: 0 }, // typicalLength
      { 8: 5 }, // the shortest word is longer than the longest
      { 8: 0 }, // there is none, but a longest
      { 20: 0xf0, 21: 0x3f }, // a rate of 1 and more
      { [at]: 0xff }, // the wildcard
      { [at + 3]: 0xfe, [at + 4]: 0xff, [at + 5]: 0 }, // the same character twice
      { [at + 5]: 0x11 }, // beyond Unicode
    ]) {
      const decode = () => PasswordBlocklist.decode(changed(changes as Record<number, number>));
      expect(decode, JSON.stringify(changes)).toThrow(expect.objectContaining({ code: 'parameters' }));
      expect(decode).toThrow(FrameError);
    }
  });

  test('a keyed one needs its key, and does not hold it', () => {
    const secret = new Uint8Array(16).fill(0xa5);
    const key = new SecretKey(secret);
    const keyed = PasswordBlocklist.from(words, { key }).encode();
    expect(Buffer.from(keyed).includes(Buffer.from(secret))).toBe(false);
    expect(PasswordBlocklist.decode(keyed, { key }).refuses('horses').reason).toBe('near');
    expect(() => PasswordBlocklist.decode(keyed)).toThrow(/secret key/);
    expect(() => PasswordBlocklist.decode(keyed, { key: new SecretKey(new Uint8Array(16)) })).toThrow(
      FrameError,
    );
    expect(() => PasswordBlocklist.decode(bytes, { key })).toThrow(FrameError);
  });
});

describe('options', () => {
  test.each([
    [{ refusalRate: 0 }, /expected refusalRate to be between 0 and 1, got 0/],
    [{ refusalRate: 1 }, /between 0 and 1/],
    [{ typicalLength: 0 }, /expected a whole number from 1 to 255 as typicalLength, got 0/],
    [{ nearMinimum: 256 }, /nearMinimum/],
    [{ longest: 1.5 }, /longest/],
    [{ refusalrate: 0.1 }, /expected the options .*, got 'refusalrate'/],
    [{ key: 'secret' }, /SecretKey/],
  ])('%j is refused', (options, message) => {
    expect(() => PasswordBlocklist.from(['word'], options as never)).toThrow(message);
  });

  test('a rate beyond the filter is refused with the least possible one', () => {
    expect(() => PasswordBlocklist.from(manyWords(), { refusalRate: 1e-9, manglings: false })).toThrow(
      /^Cannot build the blocklist: expected refusalRate to be at least 7.3e-8 for this list and typicalLength 12, got 1e-9$/,
    );
  });

  test('a password that is no string is no password, and is not told', () => {
    const blocklist = PasswordBlocklist.from(['word']);
    expect(() => blocklist.refuses(12345 as never)).toThrow(
      /^Cannot check the password: expected a string, got number$/,
    );
  });

  test('no words refuse nothing', () => {
    const none = PasswordBlocklist.decode(PasswordBlocklist.from([]).encode());
    expect(none.refuses('anything')).toEqual(ACCEPTED);
  });
});

test('a password with very many neighbours is asked in batches, and still refused', () => {
  const alphabet = Array.from({ length: 1024 }, (_, i) => String.fromCodePoint(0x4e00 + i));
  const password = alphabet.slice(0, 100);
  let [batches, last] = [0, ''];
  for (const batch of neighboursOf(password, { alphabet, shortest: 99, longest: 101 })) {
    expect(batch.bytes.length).toBeLessThanOrEqual(2 ** 16);
    batches++;
    last = keysOf([batch]).at(-1) as string;
  }
  expect(batches).toBeGreaterThan(900);
  expect(last).toBe([...password, alphabet[1023]].join(''));
  const word = 'abcdefghij'.repeat(7);
  const blocklist = PasswordBlocklist.from([word, ...manyWords()], { refusalRate: 1e-6 });
  for (const near of [
    `x${word.slice(1)}`,
    `${word}x`,
    `${word.slice(0, -1)}x`,
    word.slice(0, -1),
    word.slice(1),
  ])
    expect(blocklist.refuses(near).reason, near).toBe('near');
});

test('neighbours are all strings at distance 1 over the alphabet, each once', () => {
  const alphabet = ['a', 'b', 'é', '🔑'];
  for (const word of ['a', 'ab', 'aab', 'abca', 'cccc', 'xay', 'aé密', '🔑a🔑']) {
    const found = keysOf(neighboursOf([...word], { alphabet, shortest: 0, longest: 9 }));
    expect(new Set(found).size).toBe(found.length);
    expect(new Set(found)).toEqual(new Set(variantsOf(word, alphabet)));
    expect(found.length).toBeLessThanOrEqual(
      mostNeighbours([...word].length, { alphabet, shortest: 0, longest: 9 }),
    );
  }
});

function keysOf(batches: Iterable<PackedKeys>): string[] {
  const keys: string[] = [];
  for (const { bytes, offsets } of batches) {
    for (const [i, end] of offsets.subarray(1).entries())
      keys.push(new TextDecoder().decode(bytes.subarray(offsets[i], end)));
  }
  return keys;
}

/** All strings one edit away, over letters, digits and some others. */
function variantsOf(word: string, alphabet: readonly string[] = ALPHABET): string[] {
  const characters = [...word];
  const variants = new Set<string>();
  for (let i = 0; i <= characters.length; i++) {
    const [head, tail] = [characters.slice(0, i), characters.slice(i)];
    for (const other of alphabet) {
      variants.add([...head, other, ...tail].join(''));
      if (tail.length > 0) variants.add([...head, other, ...tail.slice(1)].join(''));
    }
    if (tail.length > 0) variants.add([...head, ...tail.slice(1)].join(''));
  }
  variants.delete(word);
  return [...variants];
}

/** Enough of them that a rare character is cheaper as a wildcard. */
function manyWords(): string[] {
  const random = new Random(11);
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  return Array.from({ length: 4000 }, () => Array.from({ length: 12 }, () => random.pick(letters)).join(''));
}

const ALPHABET = [...'abcdefghijklmnopqrstuvwxyz0123456789!-é密 '];
const GOLDEN =
  '424c50570100040c050803000000fca9f1d24d62503f10006100006300006400006500006800006900006c00006d00006e00006f0000700000' +
  '720000730000740000770000f60000d6fb57c0424c4d5901070101000000000000000003000000120500000003000065c6570528142a3467e7' +
  '14';
/** The same list, written before small static filters were bands. */
const FORMER_GOLDEN =
  '424c50570100040c050803000000fca9f1d24d62503f10006100006300006400006500006800006900006c00006d00006e00006f0000700000' +
  '720000730000740000770000f60000d6fb57c0424c4d5901070001000000000000000003000000120001000006000000000000000000000000' +
  '00000000000000000000000000000000000000000000000000000000f8610e0000000000000000c03a2ff006a249bc56';
