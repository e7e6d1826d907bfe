import { readFileSync } from 'node:fs';
import { cpuMs } from '@bloomery/testkit/cpu-time';
import { EFFORT } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { FrameError, hashKey } from 'bloomery';
import { PAGE } from 'bloomery/frames';
import { beforeAll, describe, expect, test } from 'vitest';
import { exceptionFilter, findExceptions, strongestPatterns } from './build-hyphenation.ts';
import { type DictionaryBytes, ExceptionDictionary, encodeExceptions } from './exception-dictionary.ts';
import type { FilteredHyphenator } from './filtered-hyphenator.ts';
import { encodeHyphenation, openHyphenation } from './hyphenation-bytes.ts';
import { Hyphenator, wordsOf } from './hyphenator.ts';
import { parsePatternFile } from './pattern-file.ts';

const WORD_LIST = '/usr/share/dict/american-english-huge'; // Debian package wamerican-huge
const PATTERNS = '/usr/share/hyphen/hyph_en_US.dic'; // Debian package hyphen-en-us

describe("Bloom's experiment with Debian's files", () => {
  const file = parsePatternFile(readFileSync(PATTERNS));
  const all = new Hyphenator(file);
  const random = new Random(9);
  const list = [...new Set([...wordsOf(readFileSync(WORD_LIST, 'utf8'))].map((word) => word.toLowerCase()))];
  const words = EFFORT > 1 ? list : list.filter(() => random.below(12) === 0);
  const truth = new Map<string, number[]>();
  let bytes: Uint8Array;
  let hyphenator: FilteredHyphenator;
  let exceptionCount: number;

  beforeAll(() => {
    for (const word of words) truth.set(word, all.points(word));
    const rules = new Hyphenator({ ...file, patterns: strongestPatterns(all, words, 3000) });
    const { exceptions, truthWords } = findExceptions({ rules, truth });
    exceptionCount = exceptions.size;
    const filter = exceptionFilter(exceptions.keys(), exceptions.size, 0.02);
    bytes = encodeHyphenation({ rules, filter, exceptions, truthWords });
    hyphenator = openHyphenation(inMemory(bytes));
  });

  test('the breaks are the true ones, with and without the filter', () => {
    const plain = openHyphenation(inMemory(bytes));
    plain.usesFilter = false;
    const wrong = words.filter((word) => {
      const expected = `${truth.get(word)}`;
      return `${hyphenator.ask(word).points}` !== expected || `${plain.ask(word).points}` !== expected;
    });
    expect(wrong).toEqual([]);
    expect(plain.counts).toMatchObject({ saved: 0, found: exceptionCount, lookups: hyphenator.counts.words });
    expect(plain.estimatedFalseDropRate()).toBe(1);
  });

  test('most lookups are saved, as many as theory says', () => {
    const { counts, filter } = hyphenator;
    expect(counts.found).toBe(exceptionCount);
    expect(exceptionCount / counts.words).toBeLessThan(0.2);
    expect(counts.words + counts.shortWords).toBe(words.length);
    const others = counts.words - exceptionCount;
    expectBinomial(
      counts.falseDrops,
      others,
      hyphenator.estimatedFalseDropRate(),
      'false drops of this filter',
    );
    // Against the plan: the rate of a filter varies with its bits, by far less than the sampling
    // does.
    const planned = 0.02;
    expect(hyphenator.estimatedFalseDropRate()).toBeLessThan(1.1 * planned);
    const saved = (1 - filter.estimatedFalsePositiveRate()) * others;
    expectNormal(counts.saved, saved, Math.sqrt(others * planned * (1 - planned)), 'lookups saved');
    expect(counts.reads).toBeLessThanOrEqual(
      counts.lookups * Math.ceil(Math.log2(hyphenator.dictionary.pages + 1)),
    );
    expect(counts.reads).toBeGreaterThan(counts.lookups);
  });

  test('fewer patterns, more exceptions', () => {
    const some = words.slice(0, 3000);
    const wrongWith = (count: number) => {
      const rules = new Hyphenator({ ...file, patterns: strongestPatterns(all, some, count) });
      return findExceptions({ rules, truth: some.map((word) => [word, all.points(word)] as const) })
        .exceptions.size;
    };
    const [few, more, every] = [wrongWith(200), wrongWith(2000), wrongWith(file.patterns.length)];
    expect(few).toBeGreaterThan(more);
    expect(every).toBe(0);
  });
});

describe('a small file', () => {
  const rules = new Hyphenator({
    patterns: ['1b', '1t'],
    leftMinimum: 2,
    rightMinimum: 3,
    noHyphen: ['x', 'yz'],
  });
  const truth = [
    ['Alphabet', [2, 5]],
    ['rabbit', [3]],
    ['table', [2]],
    ['at', [1]],
    ['ébéniste', [2, 4]],
    ['x'.repeat(300), [7]],
  ] as const;
  const { exceptions, truthWords, tooLong } = findExceptions({ rules, truth });
  const filter = exceptionFilter(exceptions.keys(), exceptions.size, 0.001);
  const bytes = encodeHyphenation({ rules, filter, exceptions, truthWords });

  test('holds what the rules get wrong, within the minimums', () => {
    expect({ truthWords, tooLong }).toEqual({ truthWords: 4, tooLong: 1 });
    expect([...exceptions.keys()]).toEqual(['alphabet', 'rabbit', 'ébéniste']);
    const read = openHyphenation(inMemory(bytes));
    expect([...read.dictionary.entries()]).toEqual([
      ['alphabet', [2, 5]],
      ['rabbit', [3]],
      ['ébéniste', [2, 4]],
    ]);
    expect(read).toMatchObject({ truthWords: 4, exceptions: 3 });
    expect(read.rules).toMatchObject({
      patterns: ['1b', '1t'],
      leftMinimum: 2,
      rightMinimum: 3,
      noHyphen: ['x', 'yz'],
    });
  });

  test('answers in any case, and says who answered', () => {
    const read = openHyphenation(inMemory(bytes));
    expect(read.ask('ALPHABET')).toEqual({ points: [2, 5], source: 'dictionary' });
    expect(read.ask('Ébéniste').source).toBe('dictionary');
    expect(read.ask('cabbage')).toEqual({ points: [2, 3], source: 'rules' });
    expect(read.ask('at')).toEqual({ points: [], source: 'short' });
    expect(read.hyphenate('Rabbit', '·')).toBe('Rab·bit');
    expect(read.counts).toMatchObject({
      words: 4,
      shortWords: 1,
      lookups: 3,
      found: 3,
      falseDrops: 0,
      saved: 1,
    });
  });

  test('no prefix, no flipped bit and no random bytes are taken', () => {
    const use = (broken: Uint8Array) => {
      const read = openHyphenation(inMemory(broken));
      read.usesFilter = false;
      read.ask('alphabet');
    };
    expect(() => use(bytes)).not.toThrow();
    for (let length = 0; length < bytes.length; length += length < 200 ? 1 : 97) {
      expect(() => use(bytes.subarray(0, length)), `${length} bytes`).toThrow(FrameError);
    }
    for (let bit = 0; bit < 8 * bytes.length; bit += bit < 8 * 60 ? 1 : 101) {
      // Zeros between the filter and the pages mean nothing.
      if (bit > 8 * 60 && bit < 8 * PAGE) continue;
      const flipped = bytes.slice();
      flipped[bit >> 3] ^= 1 << (bit & 7);
      expect(() => use(flipped), `bit ${bit}`).toThrow(FrameError);
    }
    expect(() => use(new Uint8Array([...bytes, 0]))).toThrow(/expected \d+ bytes/);
    const random = new Random(4);
    for (let i = 0; i < 300; i++) {
      const noise = random.bytes(random.below(200));
      noise.set(bytes.subarray(0, Math.min(5, noise.length)));
      expect(() => use(noise)).toThrow(FrameError);
    }
  });
});

describe('untrusted rules', () => {
  const fileOf = (patterns: string[], noHyphen: string[] = []) => {
    const rules = new Hyphenator({ patterns, leftMinimum: 1, rightMinimum: 1, noHyphen });
    return encodeHyphenation({
      rules,
      filter: exceptionFilter([], 0, 0.5),
      exceptions: new Map(),
      truthWords: 0,
    });
  };

  test('have limits, for those who write and for those who read', () => {
    const unbroken = (count: number) => Array.from({ length: count }, (_, i) => `x${i}`);
    expect(() => fileOf(['1'.padEnd(256, 'a')])).toThrow(
      'Cannot write the rules: they have patterns of at most 255 characters, got one of 256',
    );
    expect(() => fileOf(['1a'], unbroken(257))).toThrow('at most 256 strings without breaks around them');
    expect(() => fileOf(Array.from({ length: 9000 }, (_, i) => `${i}`.padEnd(240, 'a')))).toThrow(
      /^Cannot write the rules: they have at most 2097152 bytes, got \d+$/,
    );
    const most = fileOf(['1'.padEnd(255, 'a'), '1b'], unbroken(256));
    expect(openHyphenation(inMemory(most)).rules.noHyphen).toHaveLength(256);
    // A comma for a letter, a letter for the end of a line: with a checksum that fits.
    for (const [at, value] of [
      [33, 0x2c],
      [most.indexOf(10, most.indexOf(10, 32) + 1), 0x61],
    ]) {
      const changed = most.slice();
      changed[at] = value;
      expect(() => openHyphenation(inMemory(reseal(changed))), `byte ${at}`).toThrow(
        expect.objectContaining({ code: 'limit' }),
      );
    }
    for (const [at, value] of [
      [5, 0],
      [6, 0],
      [7, 1],
    ]) {
      const changed = most.slice();
      changed[at] = value;
      expect(() => openHyphenation(inMemory(reseal(changed))), `byte ${at}`).toThrow(
        expect.objectContaining({ code: 'parameters' }),
      );
    }
    const large = new Uint8Array(2 ** 22 + 3 * PAGE);
    large.set(most.subarray(0, 32));
    new DataView(large.buffer).setUint32(16, 2 ** 22, true);
    new DataView(large.buffer).setUint32(20, 2 * PAGE, true);
    expect(() => openHyphenation(inMemory(large))).toThrow(/rules have at most 2097152 bytes, got 4194304/);
  });

  test('take time in proportion to a word, however many letters a pattern can go on with', async () => {
    const many = Array.from({ length: 60_000 }, (_, i) => `a1${String.fromCodePoint(0x20000 + i)}`);
    const rules = new Hyphenator({ patterns: many, leftMinimum: 1, rightMinimum: 1 });
    const last = String.fromCodePoint(0x20000 + 59_999);
    const took = await cpuMs(() => {
      expect(rules.points(`a${last}`.repeat(20_000))).toHaveLength(20_000);
      expect(rules.hyphenate(`a${last}`.repeat(100_000), '-')).toHaveLength(400_000);
    });
    expect(took).toBeLessThan(10_000);
  });

  function reseal(bytes: Uint8Array<ArrayBuffer>): Uint8Array {
    try {
      openHyphenation(inMemory(bytes));
    } catch (error) {
      const sum = /expected checksum (\d+)/.exec((error as Error).message)?.[1];
      new DataView(bytes.buffer).setUint32(28, Number(sum), true);
    }
    return bytes;
  }
});

describe('the dictionary', () => {
  const random = new Random(2);
  const entries = new Map<string, number[]>();
  while (entries.size < 3000) {
    const word = Array.from({ length: 1 + random.below(12) }, () => random.pick([...'abcdeé密'])).join('');
    entries.set(
      word,
      Array.from({ length: random.below(4) }, (_, i) => 2 * i + 1),
    );
  }

  test('against a map: all words, and as many others', () => {
    const bytes = encodeExceptions(entries);
    const dictionary = new ExceptionDictionary(inMemory(bytes), 0, bytes.length / PAGE);
    expect(dictionary.pages).toBeGreaterThan(8);
    expect(new Map(dictionary.entries())).toEqual(entries);
    for (const [word, points] of entries) {
      if (`${dictionary.lookup(word)}` !== `${points}`) expect.fail(word);
      const other = `${word}x`;
      if (dictionary.lookup(other) !== undefined) expect.fail(other);
    }
    for (const outside of ['', 'A', '\u{10ffff}']) expect(dictionary.lookup(outside)).toBeUndefined();
  });

  test('records that go beyond their page are refused, though its checksum fits', () => {
    const pageOf = (...records: number[][]) => {
      const page = new Uint8Array(PAGE);
      page.set(records.flat());
      new DataView(page.buffer).setUint32(
        PAGE - 4,
        hashKey(page.subarray(0, PAGE - 4), { seed: 0 }).low >>> 0,
        true,
      );
      return new ExceptionDictionary(inMemory(page), 0, 1);
    };
    const filler = Array.from({ length: 16 }, () => [253, ...new Array(253).fill(97), 0]).flat(); // 4080 of 4092 bytes
    expect(pageOf(filler, [10, ...new Array(10).fill(98), 0]).lookup('b'.repeat(10))).toEqual([]);
    for (const last of [[11, ...new Array(11).fill(98)], [9, ...new Array(9).fill(98), 2], [255]]) {
      expect(() => pageOf(filler, last).lookup('b'.repeat(10)), `${last}`).toThrow(
        expect.objectContaining({ name: 'FrameError', code: 'payload' }),
      );
      expect(() => [...pageOf(filler, last).entries()]).toThrow(FrameError);
    }
  });

  test('none at all', () => {
    expect(encodeExceptions(new Map())).toHaveLength(0);
    expect(new ExceptionDictionary(inMemory(new Uint8Array(0)), 0, 0).lookup('word')).toBeUndefined();
  });

  test('what has no place in it is refused', () => {
    expect(() => encodeExceptions(new Map([['x'.repeat(256), []]]))).toThrow(/1 to 255 bytes, got 256/);
    expect(() => encodeExceptions(new Map([['', []]]))).toThrow(/got 0/);
    expect(() => encodeExceptions(new Map([['word', [256]]]))).toThrow(RangeError);
    expect(() => new ExceptionDictionary(inMemory(new Uint8Array(PAGE)), 0, 2)).toThrow(FrameError);
  });
});

function inMemory(bytes: Uint8Array): DictionaryBytes {
  return { size: bytes.length, read: (position, length) => bytes.subarray(position, position + length) };
}
