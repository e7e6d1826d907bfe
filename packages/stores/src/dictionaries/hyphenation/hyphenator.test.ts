import { readFileSync } from 'node:fs';
import { cpuMs } from '@bloomery/testkit/cpu-time';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { Hyphenator, insertMarks, replaceWords, splitPattern, wordsOf } from './hyphenator.ts';
import { PatternError, parsePatternFile, parseTruth } from './pattern-file.ts';
import { PatternTrie } from './pattern-trie.ts';

const DEBIAN_PATTERNS = '/usr/share/hyphen/hyph_en_US.dic'; // Debian package hyphen-en-us

const rules = (patterns: string[], leftMinimum = 1, rightMinimum = 1) =>
  new Hyphenator({ patterns, leftMinimum, rightMinimum });

describe("Liang's algorithm", () => {
  test('the example of The TeXbook, appendix H: hyphenation', () => {
    const textbook = rules(['hy3ph', 'he2n', 'hena4', 'hen5at', '1na', 'n2at', '1tio', '2io', 'o2n'], 2, 3);
    expect(textbook.hyphenate('hyphenation', '-')).toBe('hy-phen-ation');
    expect(textbook.points('HYPHENATION')).toEqual([2, 6]);
  });

  test('the largest number wins, odd ones allow', () => {
    expect(rules(['a1b']).hyphenate('xaby', '-')).toBe('xa-by');
    expect(rules(['a1b', 'xa2b']).hyphenate('xaby', '-')).toBe('xaby');
    expect(rules(['a1b', 'xa2b', 'xa3by']).hyphenate('xaby', '-')).toBe('xa-by');
    expect(rules(['a1b', 'a2b']).hyphenate('xaby', '-')).toBe('xaby');
    expect(rules(['a2b', 'a1b']).hyphenate('xaby', '-')).toBe('xaby');
  });

  test('dots are the borders of the word', () => {
    expect(rules(['.a1b']).hyphenate('abab', '-')).toBe('a-bab');
    expect(rules(['a1b.']).hyphenate('abab', '-')).toBe('aba-b');
    expect(rules(['1.a', 'b.1']).hyphenate('abab', '-')).toBe('abab');
  });

  test('minimums at the ends', () => {
    const everywhere = ['1a'];
    expect(rules(everywhere, 2, 3).hyphenate('aaaaaaa', '-')).toBe('aa-a-a-aaa');
    expect(rules(everywhere, 4, 4).hyphenate('aaaaaaa', '-')).toBe('aaaaaaa');
    expect(rules(everywhere, 4, 3).points('aaaaaaa')).toEqual([4]);
    expect(rules(everywhere, 2, 3).isShort('aaaa')).toBe(true);
    expect(rules(everywhere, 2, 3).isShort('🔑🔑🔑🔑')).toBe(true);
    expect(rules(everywhere, 2, 3).isShort('aaaaa')).toBe(false);
    expect(() => rules(everywhere, 0)).toThrow(
      'Cannot hyphenate: expected a whole number from 1 to 255 as leftMinimum, got 0',
    );
  });

  test('letters are code points; no break comes before a mark', () => {
    expect(rules(['ß1e']).hyphenate('straße', '-')).toBe('straß-e');
    expect(rules(['𝔞1𝔟']).hyphenate('x𝔞𝔟y', '-')).toBe('x𝔞-𝔟y');
    expect(rules(['e1']).hyphenate('cafe\u0301s', '-')).toBe('cafe\u0301s');
    expect(rules(['İ1s']).hyphenate('İstanbul', '-')).toBe('İ-stanbul');
  });

  test('NOHYPHEN forbids breaks at both borders', () => {
    const forbidding = new Hyphenator({
      patterns: ['1a', '1b'],
      leftMinimum: 1,
      rightMinimum: 1,
      noHyphen: ['ab'],
    });
    // Twice 'ab': no break before, none behind; inside it the pattern holds.
    expect(forbidding.hyphenate('babbaba', '-')).toBe('ba-bba-ba');
    expect(forbidding.hyphenate('bbxab', '-')).toBe('b-bxa-b');
    expect(forbidding.hyphenate('abxa', '-')).toBe('a-bx-a');
  });

  test('against a naive search of every pattern at every place', () => {
    const random = new Random(5);
    const piece = (letters: string, most: number) =>
      Array.from({ length: 1 + random.below(most) }, () => random.pick([...letters])).join('');
    for (let round = 0; round < 100; round++) {
      const patterns = Array.from({ length: 20 }, () => {
        const letters = [...piece('abc', 3)];
        const dotted = random.below(5) === 0 ? ['.', ...letters] : letters;
        return dotted.map((letter) => `${random.below(3) === 0 ? random.below(6) : ''}${letter}`).join('');
      });
      const hyphenator = rules(patterns, 1 + random.below(2), 1 + random.below(3));
      const word = piece('abcd', 12);
      expect(hyphenator.points(word), `${patterns} on ${word}`).toEqual(naivePoints(hyphenator, word));
    }
  });
});

describe("Debian's American patterns", () => {
  const file = parsePatternFile(readFileSync(DEBIAN_PATTERNS));
  const english = new Hyphenator(file);

  test('are read as they are', () => {
    expect(file).toMatchObject({ format: 'libhyphen', leftMinimum: 2, rightMinimum: 3 });
    expect(file.patterns.length).toBeGreaterThan(4447); // Liang's own
    expect(file.patterns).toContain('.a2ch4');
  });

  // What libhyphen 2.8.8 gives for them (hnj_hyphen_hyphenate2), and TeX for those of them that are
  // in its lore.
  test.each(
    `hy-phen-ation con-cate-na-tion su-per-cal-ifrag-ilis-tic-ex-pi-ali-do-cious al-go-rithm com-puter type-set-ting
    dic-tio-nary as-so-ciate as-so-ciates ta-ble present project dec-li-na-tion oblig-a-tory phil-an-thropic rec-i-proc-ity
    re-cog-ni-zance ref-or-ma-tion ret-ri-bu-tion uni-ver-sity math-e-mat-ics pro-gram-ming per-for-mance
    rep-re-sen-ta-tion com-mu-ni-ca-tion un-der-stand-ing in-de-pen-dent re-spon-si-bil-ity char-ac-ter-is-tic au-to-matic
    in-for-ma-tion in-ter-na-tional or-ga-ni-za-tion de-vel-op-ment gov-ern-ment en-vi-ron-ment par-tic-u-larly
    im-me-di-ately op-por-tu-nity re-la-tion-ship sig-nif-i-cant tra-di-tional ap-pli-ca-tion ex-pe-ri-ence
    tem-per-a-ture pho-to-graph pho-tog-ra-pher man-u-script democ-racy eco-nomic lit-er-a-ture en-gi-neer-ing
    sci-en-tific lab-o-ra-tory mi-cro-scope tele-scope ele-phant but-ter-fly choco-late um-brella straw-berry kitchen
    win-dow yel-low lit-tle peo-ple beau-ti-ful won-der-ful bloom fil-ter mem-ber-ship ex-cep-tion`.split(
      /\s+/,
    ),
  )('%s', (expected) => {
    expect(english.hyphenate(expected.replaceAll('-', ''), '-')).toBe(expected);
  });
});

describe('pattern files', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test('TeX: patterns, exceptions, comments, ^^ notation, macros around', () => {
    const file = parsePatternFile(
      bytes(
        '% \\patterns{x1y}\n\\message{hi}\n\\patterns{ % comment\n.ach4 hy3ph\n^^e91t}\n\\hyphenation{\nas-so-ciate ta-ble\npresent}\n',
      ),
    );
    expect(file).toMatchObject({
      format: 'tex',
      patterns: ['.ach4', 'hy3ph', 'é1t'],
      leftMinimum: 2,
      rightMinimum: 3,
    });
    expect([...file.exceptions]).toEqual([
      ['associate', [2, 4]],
      ['table', [2]],
      ['present', []],
    ]);
  });

  test('libhyphen: encoding, minimums, NOHYPHEN, comments', () => {
    const latin1 = Buffer.from(
      "ISO8859-1\r\n% comment\nLEFTHYPHENMIN 3\nRIGHTHYPHENMIN 0\nCOMPOUNDLEFTHYPHENMIN 5\nNOHYPHEN ',-\n\n# more\nü1b\n",
      'latin1',
    );
    expect(parsePatternFile(latin1)).toEqual({
      format: 'libhyphen',
      patterns: ['ü1b'],
      leftMinimum: 3,
      rightMinimum: 1,
      noHyphen: ["'", '-'],
      exceptions: new Map(),
    });
    expect(parsePatternFile(bytes('\ufeffUTF-8\na1b\n')).patterns).toEqual(['a1b']);
    expect(parsePatternFile(Buffer.from('KOI8-R\n\u00c11b\n', 'latin1')).patterns).toEqual(['а1b']);
  });

  test.each([
    ['hello\nworld\n', 'expected TeX \\patterns{…}, or a libhyphen file that begins with its encoding'],
    ['', 'expected TeX'],
    [
      'UTF-8\nf1f/ff=f,1,2\n',
      'line 2: "f1f/ff=f,1,2" changes the spelling at the break, which is not supported',
    ],
    ['UTF-8\na1b\nNEXTLEVEL\nb1c\n', 'line 3: NEXTLEVEL (patterns for compounds) is not supported'],
    ['UTF-8\nLEFTHYPHENMIN many\n', 'line 2: expected a number of letters, got "many"'],
    ['UTF-8\na.b\n', 'line 2: "a.b" is no pattern: a dot stands at an end'],
    ['UTF-8\na12b\n', 'line 2: "a12b" is no pattern'],
    ['\\patterns{\na1b\n\\foo}', 'line 3: "\\\\foo" is no pattern'],
    ['\\patterns{a1b', 'line 1: \\patterns{ has no closing brace'],
  ])('%j is refused', (text, message) => {
    expect(() => parsePatternFile(bytes(text))).toThrow(PatternError);
    expect(() => parsePatternFile(bytes(text))).toThrow(message);
  });

  test('very many lists in one file are read in their order, with the lines that they are in', async () => {
    const many = '\\patterns{a1b}\n'.repeat(100_000);
    const took = await cpuMs(() => {
      expect(parsePatternFile(bytes(many)).patterns).toHaveLength(100_000);
      expect(() => parsePatternFile(bytes(`${many}\n\\patterns{\na12b}`))).toThrow(
        'line 100003: "a12b" is no pattern',
      );
    });
    expect(took).toBeLessThan(10_000);
  });

  test('bytes that are not in the encoding are refused', () => {
    expect(() => parsePatternFile(Buffer.from('UTF-8\nü1b\n', 'latin1'))).toThrow('the bytes are no UTF-8');
  });

  test('hyphenated words: all marks, TeX lists, the last of two counts', () => {
    expect([
      ...parseTruth('Hy-phen-ation\nta\u00adble  win·dow lit‧tle -odd-\nplain % no-thing\nhyphen-ation'),
    ]).toEqual([
      ['hyphenation', [6]],
      ['table', [2]],
      ['window', [3]],
      ['little', [3]],
      ['odd', []],
      ['plain', []],
    ]);
    expect([...parseTruth('junk \\hyphenation{ta-ble}')]).toEqual([['table', [2]]]);
    expect(() => parseTruth('ok\nhy3ph')).toThrow('line 2: "hy3ph" is no hyphenated word');
  });
});

test('words of a text', () => {
  const text = "Don't break naïve­ly: cafe\u0301, 3rd x-ray";
  expect([...wordsOf(text)]).toEqual(['Don', 't', 'break', 'naïve­ly', 'cafe\u0301', 'rd', 'x', 'ray']);
  expect(replaceWords(text, (word) => `<${word.length}>`)).toBe("<3>'<1> <5> <8>: <5>, 3<2> <1>-<3>");
  expect(insertMarks('𝔞𝔟𝔠', [1, 2], '-')).toBe('𝔞-𝔟-𝔠');
});

test('the trie finds what a search finds', () => {
  const strings = ['a', 'ab', 'abc', 'b', 'bc', 'ca', 'zz'].map((text) =>
    [...text].map((c) => c.charCodeAt(0)),
  );
  const found: string[] = [];
  new PatternTrie(strings).eachMatch(
    [...'xabca'].map((c) => c.charCodeAt(0)),
    (index, at) => found.push(`${index}@${at}`),
  );
  expect(found).toEqual(['0@1', '1@1', '2@1', '3@2', '4@2', '5@3', '0@4']);
});

function naivePoints({ patterns, leftMinimum, rightMinimum }: Hyphenator, word: string): number[] {
  const dotted = `.${word}.`;
  const numbers = new Array<number>(dotted.length + 1).fill(0);
  for (const pattern of patterns) {
    const letters = pattern.replace(/\d/g, '');
    const { values } = splitPattern(pattern);
    for (let at = 0; at + letters.length <= dotted.length; at++) {
      if (!dotted.startsWith(letters, at)) continue;
      for (const [i, value] of values.entries()) numbers[at + i] = Math.max(numbers[at + i], value);
    }
  }
  const points: number[] = [];
  for (let i = leftMinimum; i <= word.length - rightMinimum; i++)
    if (numbers[i + 1] % 2 === 1) points.push(i);
  return points;
}
