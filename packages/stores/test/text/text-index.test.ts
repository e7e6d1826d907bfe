/**
 * The index against a naive search: no block with the needle is ever left out, the others pass at
 * the rate of theory, and no damage to the bytes leaves one out either.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, expectNormal, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { createGramScanner } from '../../src/text/create-gram-scanner.ts';
import { DEFAULT_SCHEME, type GramScheme, needleBits } from '../../src/text/gram-scheme.ts';
import type { RangeSource } from '../../src/text/index-head.ts';
import type { RequiredText } from '../../src/text/required-text.ts';
import { TextIndex } from '../../src/text/text-index.ts';
import { TextIndexError } from '../../src/text/text-index-error.ts';
import { TextIndexWriter } from '../../src/text/text-index-writer.ts';
import { randomText } from './random-text.ts';

const SMALL: GramScheme = { gram: 5, extra: 8, extraRule: 'run', bitsLog2: 10, limit: 512 };
const ID = Uint8Array.from({ length: 16 }, (_, i) => i);

function memory(bytes: Uint8Array): RangeSource {
  return {
    size: bytes.length,
    read: async (ranges) => ranges.map(({ offset, length }) => bytes.slice(offset, offset + length)),
  };
}

/** Indexes a text; returns the index and the text of each block. */
function indexText(text: Uint8Array, scheme: GramScheme, stripeBlocks = 64) {
  const parts: Uint8Array[] = [];
  const writer = new TextIndexWriter({ scheme, id: ID, stripeBlocks, write: (bytes) => parts.push(bytes) });
  const scanner = createGramScanner(scheme);
  const blocks: Uint8Array[] = [];
  let lines = 0;
  for (let start = 0; start < text.length; ) {
    const end = scanner.scan(text, start, 1e9);
    const extent = { file: 7, start, length: end - start, lines, source: start, sourceLength: end - start };
    writer.addBlock(scanner.take(), [{ ...extent, skip: 0 }]);
    blocks.push(text.subarray(start, end));
    lines = scanner.lines;
    start = end;
  }
  const size = writer.finish();
  const bytes = Buffer.concat(parts);
  expect(bytes.length).toBe(size);
  return { bytes: new Uint8Array(bytes), blocks };
}

function required(needle: Uint8Array): RequiredText {
  return { kind: 'text', bytes: needle };
}

function folded(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('latin1')
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

test('search returns every block that contains the needle, with its extents', async () => {
  const random = new Random(11);
  const text = randomText(random, 120_000);
  const { bytes, blocks } = indexText(text, SMALL);
  const index = await TextIndex.open(memory(bytes));
  expect(index.blocks).toBe(blocks.length);
  expect(blocks.length).toBeGreaterThan(130);
  expect(index.id).toEqual(ID);
  expect(index.scheme).toEqual(SMALL);
  const texts = blocks.map(folded);
  const linesBefore = [0];
  for (const block of texts) linesBefore.push(linesBefore.at(-1)! + block.split('\n').length - 1);
  let skipped = 0;
  let wrong = 0;
  for (let i = 0; i < withEffort(200, 100); i++) {
    const start = random.below(text.length);
    const line = text.subarray(start, start + 1 + random.below(20));
    const needle = line.includes(10) ? line.subarray(0, line.indexOf(10)) : line;
    const found = await index.search(required(needle));
    const numbers = new Set(found.map(({ block }) => block));
    const wanted = folded(needle);
    texts.forEach((block, number) => {
      if (block.includes(wanted) && !numbers.has(number)) wrong++;
    });
    skipped += blocks.length - found.length;
    for (const { block, extents } of found) {
      const [{ start: from, length, lines }] = extents;
      if (Buffer.compare(text.subarray(from, from + length), blocks[block]) !== 0) wrong++;
      if (lines !== linesBefore[block]) wrong++;
    }
  }
  expect(wrong).toBe(0);
  expect(skipped).toBeGreaterThan(0);
});

test('combinations: all needs each part, any needs one, and a part that decides nothing skips nothing', async () => {
  const lines = Array.from({ length: 4000 }, (_, i) => `line ${i} is ${(i * 7919).toString(36)}-${i % 97}q`);
  const { bytes, blocks } = indexText(new TextEncoder().encode(`${lines.join('\n')}\n`), SMALL);
  const index = await TextIndex.open(memory(bytes));
  const text = (needle: string): RequiredText => required(new TextEncoder().encode(needle));
  const ask = async (of: RequiredText) => new Set(await index.candidateBlocks(of));
  const a = await ask(text('line 17 is'));
  const b = await ask(text('line 3999 is'));
  const any = await ask({ kind: 'any', of: [text('line 17 is'), text('line 3999 is')] });
  const all = await ask({ kind: 'all', of: [text('line 17 is'), text('line 3999 is')] });
  expect([...any].sort()).toEqual([...new Set([...a, ...b])].sort());
  expect([...all]).toEqual([...a].filter((block) => b.has(block)));
  expect(index.decides(text('abcd'))).toBe(false);
  expect((await ask(text('abcd'))).size).toBe(blocks.length);
  expect((await ask({ kind: 'any', of: [text('line 17 is'), text('ab')] })).size).toBe(blocks.length);
  expect(await ask({ kind: 'all', of: [text('line 17 is'), text('ab')] })).toEqual(a);
});

test('one hash: half of the bits are set, and a foreign needle of q grams passes at the rate 2^-q', async () => {
  const random = new Random(5);
  const scheme: GramScheme = { gram: 6, extra: 0, extraRule: 'none', bitsLog2: 14, limit: 2 ** 13 };
  // Random letters: grams of the text and of the needles have nothing in common but their bits.
  const letters = (n: number, from: number) =>
    Uint8Array.from({ length: n }, (_, i) => (i % 64 === 63 ? 10 : from + random.below(13)));
  const { bytes, blocks } = indexText(letters(2_000_000, 97), scheme, 4096);
  const index = await TextIndex.open(memory(bytes));
  const full = blocks.length - 1;
  expect(full).toBeGreaterThan(100);
  for (const grams of [1, 3, 6]) {
    let passed = 0;
    let asked = 0;
    for (let i = 0; i < 200; i++) {
      const needle = letters(5 + grams, 110);
      if (needleBits(needle, scheme).length !== grams) continue;
      asked++;
      passed += (await index.candidateBlocks(required(needle))).filter((block) => block < full).length;
    }
    // A block ends at the end of the line that reaches the limit, so its fill is at most one line
    // above one half: 2^13 to 2^13 + 58 of 2^14 bits.
    const fill = (2 ** 13 + 29) / 2 ** 14;
    const trials = asked * full;
    if (grams === 1) expectBinomial(passed, trials, fill, 'one gram');
    else {
      // The error of the fill counts `grams` times.
      const sigma = Math.sqrt(trials * fill ** grams);
      expectNormal(passed, trials * fill ** grams, sigma * (1 + grams / 10), `${grams} grams`);
    }
  }
});

test('a damaged index is an error with a code, or answers as before: every prefix, every bit, random bytes', async () => {
  const random = new Random(6);
  const text = randomText(random, 6000);
  const { bytes } = indexText(text, { ...SMALL, bitsLog2: 12, limit: 600 }, 8);
  const needles = Array.from({ length: 3 }, (_, i) => required(text.subarray(900 * i, 900 * i + 9)));
  const ask = async (damaged: Uint8Array) => {
    const index = await TextIndex.open(memory(damaged));
    const answers = [];
    for (const needle of needles) answers.push(await index.search(needle));
    return answers;
  };
  const before = JSON.stringify(await ask(bytes));
  const outcome = async (damaged: Uint8Array) => {
    try {
      return JSON.stringify(await ask(damaged)) === before ? 'same' : 'missed';
    } catch (error) {
      if (!(error instanceof TextIndexError)) throw error;
      return error.code;
    }
  };
  const outcomes = new Map<string, number>();
  const count = async (damaged: Uint8Array) => {
    const name = await outcome(damaged);
    outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
    return name;
  };
  for (let end = 0; end < bytes.length; end++) await count(bytes.subarray(0, end));
  expect(outcomes.has('same')).toBe(false);
  for (let i = 0; i < withEffort(3000, 500); i++) {
    const damaged = bytes.slice();
    damaged[random.below(bytes.length)] ^= 1 << random.below(8);
    await count(damaged);
  }
  for (let i = 0; i < withEffort(300, 100); i++) {
    const damaged = bytes.slice();
    const at = random.below(bytes.length - 40);
    damaged.set(random.bytes(1 + random.below(40)), at);
    damaged.copyWithin(random.below(bytes.length), random.below(bytes.length), bytes.length);
    await count(damaged);
    await count(random.bytes(random.below(300)));
  }
  expect(outcomes.has('missed')).toBe(false);
  // Bits in rows that no needle asks for change nothing.
  expect([...outcomes.keys()]).toEqual(
    expect.arrayContaining(['same', 'checksum', 'truncated', 'not-an-index']),
  );
});

test('a huge size in a sealed trailer allocates nothing', async () => {
  const { bytes } = indexText(randomText(new Random(7), 500), SMALL);
  const source = memory(bytes);
  await expect(TextIndex.open({ ...source, size: 2 ** 45 })).rejects.toThrow(TextIndexError);
});

test('TextIndexWriter refuses schemes out of bounds and bits of another size', () => {
  const make = (scheme: Partial<GramScheme>) =>
    new TextIndexWriter({ scheme: { ...DEFAULT_SCHEME, ...scheme }, id: ID, write: () => {} });
  for (const wrong of [{ gram: 2 }, { extra: 9 }, { extra: 5 }, { bitsLog2: 21 }, { limit: 0 }])
    expect(() => make(wrong)).toThrow(RangeError);
  expect(() => make({}).addBlock(new Uint8Array(8), [])).toThrow('expected 131072 bits, got 64');
});

test('a full stripe is read by rows of 516 bytes: a needle in a terabyte takes under 5 MB of the index', async () => {
  // 2.5 million blocks of 400 kB are 610 full stripes. Three of them are written, with small
  // filters: the bytes that a search reads do not depend on the number of rows.
  const stripes = 610;
  const random = new Random(8);
  const columns = Array.from({ length: 4096 }, () => random.bytes(16));
  const parts: Uint8Array[] = [];
  const scheme: GramScheme = { ...DEFAULT_SCHEME, bitsLog2: 10, limit: 512 };
  const writer = new TextIndexWriter({ scheme, id: ID, write: (bytes) => parts.push(bytes) });
  const bits = columns.map((column) => Uint8Array.from({ length: 128 }, (_, i) => column[i % 16]));
  const extent = { file: 1, length: 400_000, lines: 0, sourceLength: 400_000, skip: 0 };
  for (let block = 0; block < 3 * 4096; block++)
    writer.addBlock(bits[block % 4096], [{ ...extent, start: block * 400_000, source: block * 400_000 }]);
  writer.finish();
  const index = await TextIndex.open(memory(new Uint8Array(Buffer.concat(parts))));
  const before = index.bytesRead;
  await index.candidateBlocks(required(new TextEncoder().encode('123456789abc')));
  const perStripe = (index.bytesRead - before) / 3;
  // A full stripe has rows of 512 bytes and a checksum, whatever the size of the filters is.
  expect(perStripe).toBe(needleBits(new TextEncoder().encode('123456789abc'), scheme).length * 516);
  expect(perStripe * stripes).toBeLessThan(5_000_000);
});

test('a long needle reads rows until no block is left, and finds the blocks that all rows leave', async () => {
  const random = new Random(9);
  const scheme: GramScheme = { ...DEFAULT_SCHEME, bitsLog2: 10, limit: 512 };
  const needle = new TextEncoder().encode('4bf92f3577b34da6a3ce929d0e0e4736');
  const bits = needleBits(needle, scheme);
  expect(bits.length).toBeGreaterThan(24);
  const isSet = (column: Uint8Array) => bits.every((bit) => (column[bit >>> 3] >>> (bit & 7)) & 1);
  const columns = Array.from({ length: 5 * 4096 - 5 }, () => random.bytes(128));
  for (const block of [0, 17, 8191, 5 * 4096 - 6])
    for (const bit of bits) columns[block][bit >>> 3] |= 1 << (bit & 7);
  const parts: Uint8Array[] = [];
  const writer = new TextIndexWriter({ scheme, id: ID, write: (bytes) => parts.push(bytes) });
  const extent = { file: 1, start: 0, length: 1, lines: 0, source: 0, sourceLength: 1, skip: 0 };
  for (const column of columns) writer.addBlock(column, [extent]);
  writer.finish();
  const index = await TextIndex.open(memory(new Uint8Array(Buffer.concat(parts))));
  const before = index.bytesRead;
  const found = await index.candidateBlocks(required(needle));
  expect(found).toEqual(columns.flatMap((column, block) => (isSet(column) ? [block] : [])));
  const absent = new TextEncoder().encode('00f067aa0ba902b7a3ce929d0e0e4736');
  const middle = index.bytesRead;
  expect(await index.candidateBlocks(required(absent))).toEqual([]);
  // All rows in the three stripes with the needle. In the others log2(4096) rows leave one block on
  // average, and the next few none.
  expect(middle - before).toBeLessThan((3 * bits.length + 2 * 20) * 516);
  expect(index.bytesRead - middle).toBeLessThan(5 * 18 * 516);
});
