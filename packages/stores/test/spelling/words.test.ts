/**
 * Verdicts of the speller on words: case, hyphens, possessives; and the statistics of a real
 * dictionary, Debian's en_US.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { afterAll, describe, expect, test } from 'vitest';
import {
  decodeSpeller,
  encodeSpeller,
  HunspellDictionary,
  type Speller,
  type SpellerOptions,
  spellerFromHunspell,
  spellerFromWordList,
} from '../../src/dictionaries/spelling/index.ts';

/** Sharp enough that no accident disturbs: one in four billion. */
const exact = { falsePositiveRate: 2 ** -32 };
const made = (dic: string, aff = 'SET UTF-8\n', options: SpellerOptions = exact): Speller =>
  spellerFromHunspell(Buffer.from(`9\n${dic}`), Buffer.from(aff), options);

describe('case, as hunspell has it', () => {
  const speller = made('walk\nParis\nNATO\nMcDonald\nkHz/k\nbbc/k\n', 'SET UTF-8\nKEEPCASE k\n');
  test.each([
    ['walk', true],
    ['Walk', true],
    ['WALK', true],
    ['wALK', false],
    ['WaLk', false],
    ['Paris', true],
    ['PARIS', true],
    ['paris', false],
    ['NATO', true],
    ['Nato', false],
    ['nato', false],
    ['McDonald', true],
    ['MCDONALD', true],
    ['Mcdonald', false],
    ['mcdonald', false],
    ['kHz', true],
    ['KHZ', false],
    ['bbc', true],
    ['Bbc', false],
    ['BBC', false],
  ])('%s: %s', (word, right) => expect(speller.check(word)).toBe(right));
});

test('Turkish has an i without a dot, German a sharp s', () => {
  const turkish = made('ılık\nistanbul\n', 'SET UTF-8\nLANG tr_TR\n');
  expect([turkish.check('ILIK'), turkish.check('İSTANBUL'), turkish.check('ISTANBUL')]).toEqual([
    true,
    true,
    false,
  ]);
  const german = made('Straße\nMasse\n', 'SET UTF-8\nLANG de_DE\nCHECKSHARPS\n');
  expect(['STRASSE', 'MASSE', 'Straße', 'Strasse'].map((word) => german.check(word))).toEqual([
    true,
    true,
    true,
    false,
  ]);
});

describe('conversions, as hunspell has them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-iconv-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  test.each([
    ['one after the other, once', 'ICONV 2\nICONV a b\nICONV b c\n', 'b\nc\n', ['a', 'b', 'c', 'd']],
    ['the longest', 'ICONV 2\nICONV a x\nICONV ab y\n', 'y\nxz\n', ['ab', 'az', 'xb', 'y']],
    ['0 is a zero', 'ICONV 1\nICONV x 0\n', 'foo\nf0o\n', ['fxoo', 'fxo', 'foo']],
    ['at the beginning', 'ICONV 1\nICONV _x y\n', 'yfoo\nfoy\n', ['xfoo', 'fox', 'yfoo']],
    ['at the end', 'ICONV 1\nICONV x_ y\n', 'yfoo\nfoy\n', ['xfoo', 'fox', 'foy']],
    ['as a whole', 'ICONV 2\nICONV _x_ y\nICONV x z\n', 'y\nzfoo\nfoz\n', ['x', 'xfoo', 'fox', 'yfoo']],
    [
      'at one end or elsewhere',
      'ICONV 2\nICONV x_ y\nICONV x z\n',
      'fzy\nzzy\ny\n',
      ['fxx', 'xxx', 'x', 'xx'],
    ],
    ['the last of two', 'ICONV 2\nICONV x y\nICONV x z\n', 'foz\n', ['fox', 'foy']],
  ])('%s', (name, conversions, words, asked) => {
    const aff = `SET UTF-8\nWORDCHARS 0123456789\n${conversions}`;
    const path = join(folder, name.replaceAll(/\W/g, '-'));
    writeFileSync(`${path}.aff`, aff);
    writeFileSync(`${path}.dic`, `9\n${words}`);
    const speller = made(words, aff);
    const wrong = asked.filter((word) => !speller.check(word));
    expect(wrong).toEqual(hunspell(asked.join('\n'), path));
    const again = decodeSpeller(encodeSpeller(speller));
    expect(asked.filter((word) => !again.check(word))).toEqual(wrong);
    expect(wrong.length).toBeGreaterThan(0);
    expect(wrong.length).toBeLessThan(asked.length);
  });

  test('letters that fall apart on the way are put together again', () => {
    const speller = made('\u1112\u1161\u11ab\n', 'SET UTF-8\nICONV 1\nICONV 한 \u1112\u1161\u11ab\n');
    expect(['한', '\u1112\u1161\u11ab', '하'].map((word) => speller.check(word))).toEqual([
      true,
      true,
      false,
    ]);
  });
});

test('marks that are ignored, also beyond the BMP, and soft hyphens', () => {
  const speller = made('ab\nfish\n', 'SET UTF-8\nIGNORE 𝄞\u0640\n');
  expect(['a𝄞b', '𝄞\u0640', '', 'fi\u00adsh', 'f\u00adihs'].map((word) => speller.check(word))).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
});

test('a full stop belongs to the last of joined words', () => {
  const speller = made('Nr.\nwell\n');
  const dotted = (word: string) => speller.check(word, { dotted: true });
  expect(['Nr', 'well-Nr', 'Nr-well', 'well'].map(dotted)).toEqual([true, true, false, true]);
});

test('words with hyphens are joined to others as words are', () => {
  const speller = made('well\nX-ray\nmother-in-law\nwar\n');
  for (const word of ['well-X-ray', 'X-ray-well', 'well-X-ray-war', 'mother-in-law-war', 'war-mother-in-law'])
    expect(speller.check(word), word).toBe(true);
  for (const word of ['well-ray', 'X-rya-well', 'mother-in', 'in-law-war', 'X-well-ray', '-', '--'])
    expect(speller.check(word), word).toBe(false);
});

test('hyphens join words, unless the dictionary says otherwise', () => {
  const speller = made('well\nknown\nX-ray\n');
  expect(['well-known', 'X-ray', 'well-nown', '-well-', 'ray'].map((word) => speller.check(word))).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
  expect(made('well\nknown\n', 'SET UTF-8\nBREAK 0\n').check('well-known')).toBe(false);
});

test('apostrophes, composed letters, conversions, ignored marks', () => {
  const speller = made("don't\ncafé\nfish\n", "SET UTF-8\nICONV 2\nICONV ﬁ fi\nICONV ’ '\nIGNORE \u0640\n");
  expect(['don’t', 'cafe\u0301', 'ﬁsh', 'fi\u0640sh', 'fihs'].map((word) => speller.check(word))).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
});

test('numbers are right, ordinals where the dictionary has them', () => {
  const speller = made('1st/p\n0/n\n', 'SET UTF-8\nCOMPOUNDRULE 1\nCOMPOUNDRULE n*p\n');
  const words = ['12', '3.14', '1,000', '1st', '21st', '111th', '13TH', '11st', '22th', '3th'];
  expect(words.map((word) => speller.check(word))).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('possessives are a rule where many words have them, words of their own where few have', () => {
  const aff = "SET UTF-8\nSFX M N 1\nSFX M 0 's .\n";
  const many = made('dog/M\ncat/M\nwalked\nAnn/M\n', aff);
  expect(many.traits).toMatchObject({ possessives: true, forms: 4 });
  expect(
    ["dog's", "Dog's", "DOG'S", 'cat’s', "Ann's", "dgo's", "ann's", "dog's's"].map((w) => many.check(w)),
  ).toEqual([true, true, true, true, true, false, false, false]);
  // A capital S goes with capitals; and letters that no possessive has are seen, each group with
  // probability 1/2.
  expect(["dog'S", "DOG's", "Dog'S"].map((w) => many.check(w))).toEqual([false, true, false]);
  expect(["walked's", 'walked'].map((w) => many.check(w))).toEqual([false, true]);
  const words = Array.from(
    { length: 200 },
    (_, i) => `w${'abcdefghij'[i % 10]}${'klmnopqrstuvwxyzabcd'[Math.floor(i / 10)]}`,
  );
  const few = made(`${words.join('\n')}\ndog/M\n`, aff);
  expect(few.traits).toMatchObject({ possessives: false, forms: 202 });
  expect(["dog's", "wak's"].map((word) => few.check(word))).toEqual([true, false]);
  // Without its word, a possessive is a word of its own.
  const alone = spellerFromWordList(Buffer.from("dog\ndog's\nMcDonald's\n"), exact);
  expect(["dog's", "McDonald's", 'McDonald'].map((word) => alone.check(word))).toEqual([true, true, false]);
  expect(["MCDONALD'S", "DOG'S", "Mcdonald's"].map((word) => alone.check(word))).toEqual([true, true, false]);
});

test("words of one's own are right, in the cases of other words", () => {
  const speller = made('walk\n');
  speller.addWords(['bloomery', 'Forge64']);
  expect(
    ['bloomery', 'Bloomery', 'BLOOMERY', 'Forge64', 'forge64'].map((word) => speller.check(word)),
  ).toEqual([true, true, true, true, false]);
  expect(speller.check('GITHUB') || speller.check('approx', { dotted: true })).toBe(false);
  speller.addWords(['GitHub', 'approx.']);
  expect(['GitHub', 'GITHUB', 'Github', 'github'].map((word) => speller.check(word))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect([speller.check('approx', { dotted: true }), speller.check('approx')]).toEqual([true, false]);
});

test('the language is what the caller says, else the dictionary, else the fallback', () => {
  const aff = 'SET UTF-8\nLANG tr_TR\n';
  const options = { ...exact, fallbackLanguage: 'index' };
  expect(made('ılık\n', aff, options).check('ILIK')).toBe(true);
  expect(made('a\n', aff, { ...options, language: 'az' } as never).traits.language).toBe('az');
  expect(made('a\n', 'SET UTF-8\n', options).traits.language).toBe('index');
});

describe('suggestions', () => {
  const speller = made(
    "receive/S\nwalk/S\nthe\nParis\nNASA\ndon't\nphone/S\nrude/!\na\nlot\nin\nspite\n",
    'SET UTF-8\nNOSUGGEST !\nREP 2\nREP f ph\nREP alot a_lot\nSFX S Y 1\nSFX S 0 s .\n',
  );
  test.each([
    ['recieve', ['receive', 'receives']],
    ['walkk', ['walk', 'walks']],
    ['teh', ['the']],
    ['Teh', ['The']],
    ['TEH', ['THE']],
    ['paris', ['Paris']],
    ['Pariss', ['Paris']],
    ['nasa', ['NASA']],
    ['dont', ["don't"]],
    ['fone', ['phone']],
    ['alot', ['a lot', 'lot']],
    ['inspite', ['in spite', 'spite']],
    ['rudee', []],
    ['xyzzy', []],
  ])('%s → %j', (word, expected) => expect(speller.suggest(word)).toEqual(expected));

  test('a possessive is suggested after words that have one, and for a missing apostrophe', () => {
    const owners = made('dog/M\ncat/M\nwalked\nwhat/M\n', "SET UTF-8\nSFX M N 1\nSFX M 0 's .\n");
    expect(owners.traits.possessives).toBe(true);
    expect(owners.suggest("dgo's")).toEqual(["dog's"]);
    expect(owners.suggest("DGO'S")).toEqual(["DOG'S"]);
    expect(owners.suggest("wlaked's")).toEqual([]);
    expect(owners.suggest('Whats')).toEqual(["What's", 'What']);
  });

  test('two edits, and the common word before the rare one', () => {
    const frequencies = new Map([['form', 12]]);
    const options = { ...exact, frequencies };
    expect(made('farm\nform\nfirm\nmaintenance\n', undefined, options).suggest('furm')[0]).toBe('form');
    expect(made('farm\nform\nfirm\nmaintenance\n').suggest('furm')[0]).toBe('farm');
    expect(speller.suggest('reciev')).toEqual(['receive', 'receives']);
  });

  test('no suggestion has a case in which the word is wrong', () => {
    const units = made('kHz/k\n', 'SET UTF-8\nKEEPCASE k\n');
    expect(units.suggest('kHzz')).toEqual(['kHz']);
    expect(units.suggest('KHZZ')).toEqual([]);
  });

  test('no more than were asked for', () => {
    expect(speller.suggest('walkk', 1)).toEqual(['walk']);
    expect(speller.suggest('walkk', 0)).toEqual([]);
    expect(speller.suggest('w'.repeat(1000))).toEqual([]);
  });
});

describe("Debian's en_US", () => {
  const dic = readDebian('/usr/share/hunspell/en_US.dic');
  const aff = readDebian('/usr/share/hunspell/en_US.aff');
  const speller = spellerFromHunspell(dic, aff, { language: 'en_US' });
  const file = encodeSpeller(speller);
  const forms = new Set([...new HunspellDictionary(dic, aff).forms()].map(({ form }) => form));

  test('takes less than 400 kB with its word list, at a rate of 1/1024', () => {
    expect(file.length).toBeLessThan(400_000);
    expect(speller.parts.list?.bytes.length).toBeLessThan(210_000);
    expect(speller.falsePositiveRate).toBe(2 ** -10);
  });

  test('its word list has every form that may be suggested, and nothing else', () => {
    const hidden = new Set<string>();
    for (const { form, noSuggest } of new HunspellDictionary(dic, aff).forms())
      if (noSuggest) hidden.add(form);
    expect(hidden.size).toBeGreaterThan(0);
    const listed = new Set<string>();
    for (const { word, possessive } of decodeSpeller(file).parts.list!.trie.words()) {
      listed.add(word);
      if (possessive) listed.add(`${word}'s`);
    }
    expect([...listed].filter((word) => !forms.has(word) || hidden.has(word))).toEqual([]);
    expect([...forms].filter((word) => !listed.has(word) && !hidden.has(word))).toEqual([]);
  });

  test('every form is right, in all cases, and hunspell accepts every one', () => {
    expect(forms.size).toBeGreaterThan(150_000);
    const again = decodeSpeller(file);
    const wrong = [...forms].filter(
      (form) =>
        !again.check(form) ||
        !again.check(form.toUpperCase()) ||
        (form === form.toLowerCase() && !again.check(form[0].toUpperCase() + form.slice(1))),
    );
    expect(wrong).toEqual([]);
    const rejected = hunspell([...forms].join('\n'));
    expect(rejected).toEqual([]);
  });

  test('misspellings are accepted at the stated rate', () => {
    // A large rate, so that 60,000 misspellings show it.
    const speller = spellerFromHunspell(dic, aff, { language: 'en_US', falsePositiveRate: 1 / 32 });
    const random = new Random(1978);
    const words = [...forms].filter((form) => /^[a-z]{4,}$/.test(form));
    const asked = { small: [0, 0], initial: [0, 0], slips: [0, 0] };
    for (let i = 0; i < 60_000; i++) {
      const slip = misspell(random.pick(words), random);
      if (forms.has(slip) || forms.has(slip[0].toUpperCase() + slip.slice(1))) continue;
      asked.slips[0]++;
      if (speller.check(slip)) asked.slips[1]++;
      // What the letter groups let pass is asked of the filter of words: there the rate is exact.
      if (!speller.parts.groups.mayBeWord(slip)) continue;
      asked.small[0]++;
      if (speller.check(slip)) asked.small[1]++;
      asked.initial[0]++;
      if (speller.check(slip[0].toUpperCase() + slip.slice(1))) asked.initial[1]++;
    }
    expect(asked.small[0]).toBeGreaterThan(10_000);
    expectBinomial(asked.small[1], asked.small[0], speller.slipRate('slip'), 'misspellings in small letters');
    expectBinomial(
      asked.initial[1],
      asked.initial[0],
      speller.slipRate('Slip'),
      'misspellings with a capital',
    );
    expect(speller.slipRate('slip')).toBe(1 / 32);
    // Two roundings of a number below 1, together below 5e-13.
    expect(speller.slipRate('Slip')).toBeCloseTo(1 - (31 / 32) ** 2, 12);
    // The groups halve what the filter lets through, at least.
    expect(asked.slips[1] / asked.slips[0]).toBeLessThan(0.55 / 32);
  });

  test('other rates are kept too, by both structures', () => {
    for (const structure of ['static', 'bloom'] as const) {
      const other = spellerFromHunspell(dic, aff, { structure, falsePositiveRate: 1 / 256 });
      const random = new Random(7);
      let accepted = 0;
      const count = 40_000;
      for (let i = 0; i < count; i++) if (other.parts.words.has(`${random.bits()}-${i}`)) accepted++;
      expectBinomial(accepted, count, other.falsePositiveRate, `${structure} at 1/256`);
      expect(other.falsePositiveRate).toBeLessThanOrEqual(1.02 / 256);
    }
  });

  test('typical slips find their word, and every suggestion is a word', () => {
    const random = new Random(42);
    const words = [...forms].filter((form) => /^[a-z]{5,12}$/.test(form));
    let [asked, found] = [0, 0];
    const nonsense: string[] = [];
    for (let i = 0; i < 400; i++) {
      const word = random.pick(words);
      const slip = misspell(word, random);
      if (speller.check(slip)) continue;
      asked++;
      const suggestions = speller.suggest(slip, 5);
      if (suggestions.includes(word)) found++;
      nonsense.push(...suggestions.filter((text) => text.split(' ').some((part) => !forms.has(part))));
    }
    expect(nonsense).toEqual([]);
    // Measured 0.98; at 5 sigma of 390 trials, 0.94.
    expect(found / asked).toBeGreaterThan(0.94);
  });
});

/** A letter lost, changed or added, or two exchanged. */
function misspell(word: string, random: Random): string {
  const at = random.below(word.length);
  const letter = 'abcdefghijklmnopqrstuvwxyz'[random.below(26)];
  switch (random.below(4)) {
    case 0:
      return word.slice(0, at) + word.slice(at + 1);
    case 1:
      return word.slice(0, at) + letter + word.slice(at + 1);
    case 2:
      return word.slice(0, at) + letter + word.slice(at);
    default:
      return word.slice(0, at) + (word[at + 1] ?? '') + word[at] + word.slice(at + 2);
  }
}

function readDebian(path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new Error(`${path} is missing; as root: apt-get install hunspell hunspell-en-us`, { cause: error });
  }
}

function hunspell(text: string, dictionary = 'en_US'): string[] {
  const output = execFileSync('hunspell', ['-d', dictionary, '-i', 'utf-8', '-l'], {
    input: `${text}\n`,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  return output.split('\n').filter((word) => word !== '');
}
