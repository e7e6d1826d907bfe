import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bloomery, temporaryFolder } from '../run-command.ts';

const cwd = temporaryFolder();
mkdirSync(join(cwd, 'texts', 'deep'), { recursive: true });
const put = (name: string, contents: string | Uint8Array) =>
  writeFileSync(join(cwd, 'texts', name), contents);
const words = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => `word${from + i}`).join(' ');
put('a.txt', words(0, 1000));
put('b.txt', words(100, 1000).toUpperCase());
put('deep/c.txt', words(5000, 6000));
put('short.txt', 'only four words here');
put('empty.txt', ' -- \n');
put('picture.png', Uint8Array.of(0x89, 0x50, 0, 1));
put('.hidden', words(0, 1000));

test('similar --text compares the documents of a folder, the most similar pair first', () => {
  const { code, stdout, stderr } = bloomery(['similar', '--text', 'texts', '--top', '2'], { cwd });
  expect(code).toBe(0);
  const [head, first, , more] = stdout.split('\n');
  expect(head).toMatch(/^Jaccard +interval \(95 %\) +words +A +B$/);
  // Exactly 900 of 1000 words are common; three digits are printed.
  expect(first).toMatch(/^ +0\.(89\d|90\d) +0\.8\d\d to 0\.9\d\d +1,000, 900 +texts\/a\.txt +texts\/b\.txt$/);
  expect(more).toBe('and 4 pairs that are less similar; --top shows more');
  expect(stderr).toMatch(/texts\/picture\.png: not text, left out/);
  expect(stderr).toMatch(/texts\/empty\.txt: no words, left out/);
  expect(stderr).toMatch(/texts\/short\.txt: fewer than 20 distinct words, too short to compare/);
});

test('similar --text prints JSON with the estimates and the number of words', () => {
  const files = ['texts/a.txt', 'texts/short.txt'];
  const result = JSON.parse(bloomery(['similar', '--text', ...files, '--json'], { cwd }).stdout);
  expect(result).toMatchObject({
    confidence: 0.95,
    bits: 131_072,
    comparisons: 1,
    documents: [
      { path: files[0], terms: 1000, short: false },
      { path: files[1], terms: 4, short: true },
    ],
    pairs: [{ a: files[0], b: files[1], short: true }],
  });
  expect(Object.keys(result.pairs[0].jaccard)).toEqual(['value', 'low', 'high', 'standardError']);
});

test('similar refuses options that contradict, and fewer than two documents', () => {
  for (const [args, message] of [
    [['--text', 'texts/a.txt', 'texts/a.txt'], /expected two or more documents with words in them, got 1/],
    [
      ['--text', 'texts/a.txt', 'texts/b.txt', '--size-a', '7'],
      /are for filters, and --text is for text files/,
    ],
    [['texts/a.txt', 'texts/b.txt', '--top', '3'], /--top and --bits are for documents/],
  ] as const) {
    const { code, stderr } = bloomery(['similar', ...args], { cwd });
    expect([code, stderr], args.join(' ')).toEqual([2, expect.stringMatching(message)]);
  }
  const wide = bloomery(['similar', '--text', 'texts/a.txt', 'texts/b.txt', '--bits', '128'], { cwd });
  expect(wide.stderr).toMatch(/too many words for 128 bits, so the interval is wide; --bits takes more/);
});
