/**
 * The forms that rules make, against hunspell itself: dictionaries written here, every plausible
 * string asked of both.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cpuMs } from '@bloomery/testkit/cpu-time';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ExpansionBudget, expandStem } from '../../src/dictionaries/spelling/affix-expansion.ts';
import { HunspellDictionary, SpellingError } from '../../src/dictionaries/spelling/index.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-affixes-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Fixture {
  readonly aff: string;
  readonly dic: string;
  readonly encoding?: 'utf-8' | 'latin1';
  /** Forms that must be there: that the comparison does not compare nothing with nothing. */
  readonly some: readonly string[];
  /** Strings that must not be there. */
  readonly none: readonly string[];
}

const FIXTURES: Record<string, Fixture> = {
  'suffixes with conditions': {
    aff: "SET UTF-8\nTRY esi\nSFX D Y 4\nSFX D 0 d e\nSFX D y ied [^aeiou]y\nSFX D 0 ed [^ey]\nSFX D 0 ed [aeiou]y\nSFX M N 1\nSFX M 0 's .\n",
    dic: '5\nbake/D\ncry/DM\nplay/D\nwalk/DM\nsky\n',
    some: ['baked', 'cried', 'played', 'walked', "cry's"],
    none: ['cryed', 'plaied', 'bakeed', "bake's", 'skied'],
  },
  'prefixes, suffixes and their cross products': {
    aff: 'SET UTF-8\nPFX U Y 1\nPFX U 0 un .\nPFX R N 1\nPFX R 0 re [^b]\nSFX S Y 1\nSFX S 0 s .\nSFX T N 1\nSFX T 0 ty .\n',
    dic: '3\ndo/URST\nbind/URS\nsafe/UT\n',
    some: ['undo', 'undos', 'redo', 'doty', 'unbinds', 'safety'],
    none: ['redos', 'undoty', 'rebind', 'unsafety'],
  },
  'two suffixes and continuation classes': {
    aff: 'SET UTF-8\nPFX P Y 1\nPFX P 0 pre/X .\nSFX X Y 1\nSFX X 0 xx .\nSFX A Y 1\nSFX A 0 able/BP .\nSFX B Y 1\nSFX B 0 ness .\n',
    dic: '3\ndrink/A\nread/AP\nfix/P\n',
    some: ['drinkable', 'drinkableness', 'predrinkable', 'preread', 'prereadable', 'prefixxx'],
    none: ['predrink', 'drinkness', 'fixxx'],
  },
  'two-letter flags': {
    aff: 'SET UTF-8\nFLAG long\nSFX zx Y 1\nSFX zx 0 s/g? .\nSFX g? Y 1\nSFX g? 0 bar .\nPFX 09 Y 1\nPFX 09 0 un .\n',
    dic: '2\nfoo/zx09\nbaz/09\n',
    some: ['foos', 'foosbar', 'unfoo', 'unfoosbar', 'unbaz'],
    none: ['foobar', 'bazs'],
  },
  'numeric flags': {
    aff: 'SET UTF-8\nFLAG num\nSFX 999 Y 1\nSFX 999 0 s/214,216 .\nSFX 214 Y 1\nSFX 214 0 bar .\nPFX 54321 Y 1\nPFX 54321 0 un .\n',
    dic: '1\nfoo/54321,999\n',
    some: ['foos', 'foosbar', 'unfoos'],
    none: ['foobar'],
  },
  'flags beyond ASCII, umlauts': {
    aff: 'SET UTF-8\nFLAG UTF-8\nSFX Ä Y 2\nSFX Ä 0 er [^e]\nSFX Ä 0 r e\nSFX Ü Y 1\nSFX Ü aus äuser aus\nPFX Ö Y 1\nPFX Ö 0 über .\n',
    dic: '4\nHaus/Ü\nschön/ÄÖ\nmüde/ÄÖ\nStraße/Ö\n',
    some: ['Häuser', 'schöner', 'übermüder', 'überschön'],
    none: ['Hausäuser', 'müdeer', 'überHaus'],
  },
  'sets of flags by number': {
    aff: 'SET UTF-8\nAF 2\nAF AB\nAF B\nSFX A Y 1\nSFX A 0 x .\nSFX B Y 1\nSFX B 0 y/2 .\nAM 1\nAM po:noun\n',
    dic: '2\nfoo/1\nbar/2\t1\n',
    some: ['foox', 'fooy', 'fooyy', 'bary'],
    none: ['barx', 'fooxx'],
  },
  'needed affixes, forbidden words, circumfixes': {
    aff: 'SET UTF-8\nNEEDAFFIX n\nFORBIDDENWORD f\nCIRCUMFIX c\nONLYINCOMPOUND o\nSFX S Y 1\nSFX S 0 s .\nSFX Q Y 1\nSFX Q 0 q/nS .\nPFX G Y 1\nPFX G 0 ge/c .\nSFX T Y 1\nSFX T 0 t/cG .\n',
    dic: '6\nroot/nS\nword/SQ\nwords/f\nspiel/T\nbit/oS\nplain\n',
    some: ['roots', 'wordqs', 'gespielt', 'word', 'plain'],
    none: ['root', 'words', 'wordq', 'spielt', 'gespiel', 'bit'],
  },
  'forbidden words beside others of the same letters: the first decides': {
    aff: 'SET UTF-8\nFORBIDDENWORD f\nSFX S Y 1\nSFX S 0 s .\nSFX T Y 1\nSFX T 0 t .\n',
    dic: '7\nfoo/f\nfoo/S\nbar/S\nbar/f\nbaz/Sf\nbazs/T\nqux/Sf\n',
    some: ['foos', 'bar', 'bars', 'bazs', 'bazst'],
    none: ['foo', 'baz', 'foot', 'qux', 'quxs'],
  },
  'one incomplete affix of two': {
    aff: 'SET UTF-8\nNEEDAFFIX n\nPFX P Y 1\nPFX P 0 p/n .\nPFX O Y 1\nPFX O 0 o .\nSFX S Y 1\nSFX S 0 s .\nSFX Q Y 1\nSFX Q 0 q/n .\n',
    dic: '1\nfoo/PSQO\n',
    some: ['foos', 'ofoo', 'ofoos', 'pfoos', 'ofooq'],
    none: ['pfoo', 'fooq', 'pfooq'],
  },
  'numeric flags with zeros': {
    aff: 'SET UTF-8\nFLAG num\nSFX 012 Y 1\nSFX 012 0 s .\nSFX 100 Y 1\nSFX 100 0 t .\n',
    dic: '2\nfoo/12\nbar/0100\n',
    some: ['foos', 'bart'],
    none: ['foot', 'bars'],
  },
  'Latin 1': {
    aff: 'SET ISO8859-1\nSFX E Y 1\nSFX E 0 é .\nTRY éa\n',
    dic: '2\ncaf/E\nfa\u00e7ade\n',
    encoding: 'latin1',
    some: ['café', 'façade'],
    none: ['cafe'],
  },
  'no encoding named: Latin 1': {
    aff: 'SFX E Y 1\nSFX E 0 \u00e9 .\n',
    dic: '2\ncaf/E\nfa\u00e7ade\n',
    encoding: 'latin1',
    some: ['café', 'façade'],
    none: ['cafe'],
  },
  'morphology, escaped slashes, empty lines, carriage returns': {
    aff: 'SET UTF-8\r\n# comment\r\n\r\nSFX S Y 1\r\nSFX S 0 s . is:plural\r\n',
    dic: '3\r\nfoo/S po:noun al:bar\r\nbaz po:verb\r\ntab/S\tpo:noun\r\n',
    some: ['foos', 'baz', 'tabs'],
    none: ['bazs', 'al', 'noun'],
  },
  'whole words stripped': {
    aff: 'SET UTF-8\nFULLSTRIP\nSFX A Y 2\nSFX A gut besser gut\nSFX A 0 s .\n',
    dic: '1\ngut/A\n',
    some: ['besser', 'guts'],
    none: ['gutbesser'],
  },
  'no word stripped as a whole': {
    aff: 'SET UTF-8\nSFX A Y 2\nSFX A gut besser gut\nSFX A 0 s .\n',
    dic: '1\ngut/A\n',
    some: ['guts'],
    none: ['besser'],
  },
};

describe.each(Object.entries(FIXTURES))('%s', (name, { aff, dic, encoding = 'utf-8', some, none }) => {
  const bytes = (text: string) =>
    new Uint8Array(Buffer.from(text, encoding === 'latin1' ? 'latin1' : 'utf8'));

  test('has the forms that it should have', () => {
    const forms = formsOf(new HunspellDictionary(bytes(dic), bytes(aff)));
    for (const form of some) expect(forms).toContain(form);
    for (const form of none) expect(forms).not.toContain(form);
  });

  test('has exactly the forms that hunspell accepts', () => {
    const path = join(folder, name.replaceAll(/\W+/g, '-'));
    writeFileSync(`${path}.aff`, bytes(aff));
    writeFileSync(`${path}.dic`, bytes(dic));
    const forms = formsOf(new HunspellDictionary(bytes(dic), bytes(aff)));
    const candidates = [...new Set([...forms, ...some, ...none, ...mixtures(aff, dic)])].filter(
      (w) => !/['\s\d]/.test(w) && w !== '',
    );
    const rejected = new Set(askHunspell(path, candidates));
    const accepted = candidates.filter((word) => !rejected.has(word)).sort();
    // Words with a capital are accepted in small letters' name too; that is Speller's business.
    const expected = candidates.filter((word) => forms.has(word)).sort();
    expect(accepted).toEqual(expected);
  });
});

test('letters that a condition names mean themselves, whatever they mean elsewhere', () => {
  const aff = 'SET UTF-8\nSFX A Y 3\nSFX A 0 x [a-c]\nSFX A 0 y \\d\nSFX A 0 z (+\n';
  const dic = '4\nfoob/A\nfooa/A\nfoo-/A\nfoo(+/A\n';
  const forms = formsOf(dictionary(dic, aff));
  expect([...forms].sort()).toEqual(['foo(+', 'foo(+z', 'foo-', 'foo-x', 'fooa', 'fooax', 'foob'].sort());
});

test('two prefixes, where the dictionary says so', () => {
  const aff =
    'SET UTF-8\nCOMPLEXPREFIXES\nPFX A Y 1\nPFX A 0 a/B .\nPFX B Y 1\nPFX B 0 b .\nSFX S Y 1\nSFX S 0 s .\n';
  expect([...formsOf(dictionary('1\nx/AS\n', aff))].sort()).toEqual(['ax', 'axs', 'bax', 'baxs', 'x', 'xs']);
});

test('flags of single bytes beyond ASCII, in UTF-8 text that they make invalid', () => {
  const text = (parts: (string | number)[]) =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))));
  const aff = text([
    'SET UTF-8\nAF 1\nAF ',
    0xe1,
    0xc3,
    '\nSFX ',
    0xe1,
    ' Y 1\nSFX ',
    0xe1,
    ' 0 é .\nSFX ',
    0xc3,
    ' Y 1\nSFX ',
    0xc3,
    ' 0 s .\n',
  ]);
  expect([...formsOf(new HunspellDictionary(Buffer.from('1\nkáv/1\n'), aff))]).toEqual([
    'káv',
    'kávé',
    'kávs',
  ]);
});

test('marks go to the forms', () => {
  const aff = 'SET UTF-8\nKEEPCASE k\nNOSUGGEST !\nSFX S Y 1\nSFX S 0 s .\n';
  const forms = [...dictionary('2\nkHz/k\nrude/S!\n', aff).forms()];
  expect(forms).toEqual([
    { form: 'kHz', keepCase: true, noSuggest: false, derived: false },
    { form: 'rude', keepCase: false, noSuggest: true, derived: false },
    { form: 'rudes', keepCase: false, noSuggest: true, derived: true },
  ]);
});

test('compounding is told', () => {
  expect(dictionary('1\na\n', 'SET UTF-8\nCOMPOUNDFLAG x\n').affixes.compounds).toBe(true);
  expect(dictionary('1\na\n', 'SET UTF-8\n').affixes.compounds).toBe(false);
});

test.each([
  ['SFX A', 'affix', /line 2: expected SFX with a flag/],
  ['SFX A Q 1', 'affix', /line 2: expected Y or N after SFX A, got Q/],
  ['SFX A Y x', 'affix', /line 2: expected a number of lines, got x/],
  ['SFX A Y 1\nSFX A 0 s .\nSFX A 0 t .', 'affix', /line 4: more lines for SFX A/],
  ['SFX A Y 1\nSFX A 0 s [a', 'affix', /line 3: the condition \[a has no end/],
  ['REP 1\nREP a', 'affix', /line 3: expected REP with two texts, got 1/],
  ['ICONV x', 'affix', /line 2: expected a number of lines, got x/],
  ['FLAG wide', 'affix', /expected FLAG long, num or UTF-8, got wide/],
  ['AF 1\nAF', 'affix', /line 3: AF without a value/],
])('refuses %j', (line, code, message) => {
  const attempt = () => formsOf(dictionary('1\na/A\n', `SET UTF-8\n${line}\n`));
  expect(attempt).toThrow(message);
  expect(attempt).toThrow(expect.objectContaining({ name: 'SpellingError', code }));
});

test('refuses a dictionary without its number, an unknown set of flags, bytes of another encoding, unknown encodings', () => {
  expect(() => dictionary('word\n', 'SET UTF-8\n')).toThrow(
    /line 1: expected the number of words, got "word"/,
  );
  expect(() => formsOf(dictionary('1\na/7\n', 'SET UTF-8\nAF 1\nAF A\n'))).toThrow(
    /line 2: expected the number of a set of flags from 1 to 1, got 7/,
  );
  expect(() => new HunspellDictionary(Uint8Array.of(49, 10, 0xff), Buffer.from('SET UTF-8\n'))).not.toThrow();
  expect(() =>
    formsOf(new HunspellDictionary(Uint8Array.of(49, 10, 0xff), Buffer.from('SET UTF-8\n'))),
  ).toThrow(/line 2: a word that is not UTF-8/);
  expect(() => new HunspellDictionary(Uint8Array.of(49, 10, 0xff), Buffer.from('SET ISO8859-8\n'))).toThrow(
    /is not ISO8859-8 text/,
  );
  expect(() => dictionary('1\na\n', 'SET KLINGON-1\n')).toThrow(/the encoding "KLINGON-1" is not known/);
  expect(() => formsOf(dictionary(`1\n${'a'.repeat(1001)}\n`, 'SET UTF-8\n'))).toThrow(
    /line 2: a word of 1001 letters/,
  );
});

test.each([
  [
    'a condition',
    `SFX A Y 1\nSFX A 0 s ${'a'.repeat(100_000)}`,
    /line 3: a part of 100000 letters; expected at most 1000/,
  ],
  ['an affix', `SFX A Y 1\nSFX A 0 ${'a'.repeat(1001)} .`, /line 3: a part of 1001 letters/],
  ['what is stripped', `PFX A Y 1\nPFX A ${'a'.repeat(1001)} x .`, /line 3: a part of 1001 letters/],
])('refuses %s that is too long', (_, lines, message) => {
  expect(() => dictionary('1\na/A\n', `SET UTF-8\n${lines}\n`)).toThrow(message);
});

test('a line of spaces costs no more than its length', async () => {
  const dic = `2\nfoo${' '.repeat(300_000)}bar\nfoo  po:noun\n`;
  const took = await cpuMs(() => {
    expect(() => formsOf(dictionary(dic, 'SET UTF-8\n'))).toThrow(/line 2: a word of 300006 letters/);
  });
  expect(took).toBeLessThan(5000);
  expect(formsOf(dictionary('1\nfoo  po:noun\n', 'SET UTF-8\n'))).toEqual(new Set(['foo']));
});

test('many words with many forms each are refused before memory or patience runs out', () => {
  const { affixes } = dictionary(
    '1\na\n',
    'SET UTF-8\nSFX A Y 3\nSFX A 0 s .\nSFX A 0 t .\nSFX A 0 x [^a]\n',
  );
  const expand = (budget: ExpansionBudget, times: number) => {
    const forms: string[] = [];
    for (let i = 0; i < times; i++) expandStem('a', ['A'], affixes, budget, (form) => forms.push(form));
    return forms;
  };
  // A word has three forms, and takes four trials: a flag and its rules.
  expect(expand(new ExpansionBudget('it', 6, 1000), 2)).toEqual(['a', 'as', 'at', 'a', 'as', 'at']);
  expect(() => expand(new ExpansionBudget('it', 6, 1000), 3)).toThrow('it makes more than 6 forms');
  expect(() => expand(new ExpansionBudget('it', 1000, 3), 1)).toThrow(
    'it has so many words and affixes that more than 3 rules would have to be tried',
  );
  expect(() => expand(new ExpansionBudget('it', 1000, 3), 1)).toThrow(
    expect.objectContaining({ code: 'limit' }),
  );
});

test('a few lines that would make too many forms are refused', () => {
  const rules = Array.from({ length: 1100 }, (_, i) => `SFX A 0 ${i}x/B .`).join('\n');
  const more = Array.from({ length: 1100 }, (_, i) => `SFX B 0 ${i}y .`).join('\n');
  const aff = `SET UTF-8\nSFX A Y 1100\n${rules}\nSFX B Y 1100\n${more}\n`;
  const attempt = () => formsOf(dictionary('1\na/A\n', aff));
  expect(attempt).toThrow(SpellingError);
  expect(attempt).toThrow(/has more than 100000 forms/);
});

function dictionary(dic: string, aff: string): HunspellDictionary {
  return new HunspellDictionary(Buffer.from(dic), Buffer.from(aff));
}

function formsOf(dictionary: HunspellDictionary): Set<string> {
  return new Set([...dictionary.forms()].map(({ form }) => form));
}

/**
 * Every stem with up to one affix of all in front and two behind, whether a rule allows it or not.
 */
function mixtures(aff: string, dic: string): string[] {
  const added = (kind: string) => [
    '',
    ...[...aff.matchAll(new RegExp(`^${kind} \\S+ \\S+ ([^\\s/]+)`, 'gm'))]
      .map((m) => m[1])
      .filter((a) => !/^\d+$/.test(a)),
  ];
  const stems = dic
    .split(/\r?\n/)
    .slice(1)
    .map((line) => line.split(/[/\s]/)[0])
    .filter((stem) => stem !== '');
  const out: string[] = [];
  for (const prefix of added('PFX'))
    for (const stem of stems)
      for (const one of added('SFX')) for (const two of added('SFX')) out.push(prefix + stem + one + two);
  return out;
}

/** The words that hunspell calls misspelt, as it was given them. */
function askHunspell(dictionary: string, words: readonly string[]): string[] {
  const output = execFileSync('hunspell', ['-d', dictionary, '-i', 'utf-8', '-l'], {
    input: `${words.join('\n')}\n`,
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  return output.split('\n').filter((word) => word !== '');
}
