import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { randomText } from '../../test/text/random-text.ts';
import { createGramScanner } from './create-gram-scanner.ts';
import { DEFAULT_SCHEME, EXTRA_RULES, type GramScheme, needleBits, PRECISE_SCHEME } from './gram-scheme.ts';

/** Cuts a text into blocks, with pieces of random sizes. */
function blocksOf(scheme: GramScheme, kernel: 'wasm' | 'javascript', text: Uint8Array, seed: number) {
  const random = new Random(seed);
  const scanner = createGramScanner(scheme, kernel);
  const blocks: { end: number; ones: number; lines: number; bits: Uint8Array }[] = [];
  let start = 0;
  const close = (end: number) => {
    blocks.push({ end, ones: scanner.ones, lines: scanner.lines, bits: scanner.take() });
    start = end;
  };
  for (let at = 0; at < text.length; ) {
    const piece = text.subarray(0, Math.min(text.length, at + 1 + random.below(700)));
    at = scanner.scan(piece, at, start + 5000 - at);
    if (scanner.full) close(at);
  }
  scanner.endLine();
  close(text.length);
  return blocks;
}

function randomScheme(random: Random): GramScheme {
  if (random.below(3) === 0) return smallScheme(random);
  const gram = 3 + random.below(5);
  const extraRule = random.pick(EXTRA_RULES);
  const extra = extraRule === 'none' ? 0 : gram + 1 + random.below(8 - gram);
  const bitsLog2 = 10 + random.below(4);
  return { gram, extra, extraRule, bitsLog2, limit: 1 + random.below(2 ** (bitsLog2 - 1)) };
}

/** A scheme whose lines are scanned by sixteen bytes, with small blocks. */
function smallScheme(random: Random): GramScheme {
  const extras = random.pick([
    { extra: 0, extraRule: 'none' },
    { extra: 8, extraRule: 'run' },
  ] as const);
  return { gram: 5, bitsLog2: 10, limit: 1 + random.below(900), ...extras };
}

test('both kernels cut the same blocks with the same bits, by any scheme and in any pieces', () => {
  const random = new Random(1);
  for (let round = 0; round < withEffort(20, 8); round++) {
    const scheme = round === 0 ? DEFAULT_SCHEME : round === 1 ? PRECISE_SCHEME : randomScheme(random);
    const text = randomText(random, round === 2 ? 300_000 : random.below(8000));
    const wasm = blocksOf(scheme, 'wasm', text, round);
    const script = blocksOf(scheme, 'javascript', text, round + 1000);
    expect(JSON.stringify(wasm.map(inNumbers))).toBe(JSON.stringify(script.map(inNumbers)));
    expect(wasm.every(({ bits }, i) => sameBytes(bits, script[i].bits))).toBe(true);
    expect(wasm.at(-1)!.lines).toBe(text.filter((byte) => byte === 10).length);
    expect(wasm.every(({ ones, bits }) => ones === countOnes(bits))).toBe(true);
    expect(wasm.slice(0, -1).every(({ end }) => text[end - 1] === 10)).toBe(true);
  }
});

test('every needle within a line finds all its bits in the block, in any case of its letters', () => {
  const random = new Random(2);
  for (let round = 0; round < withEffort(20, 8); round++) {
    const scheme = randomScheme(random);
    const text = randomText(random, 3000);
    const whole = createGramScanner({ ...scheme, limit: 2 ** scheme.bitsLog2 });
    expect(whole.scan(text, 0, 1e9)).toBe(text.length);
    const bits = whole.take();
    let missed = 0;
    for (let i = 0; i < 200; i++) {
      const start = random.below(text.length);
      const piece = text.subarray(start, start + random.below(30));
      const newline = piece.indexOf(10);
      const needle = (newline < 0 ? piece : piece.subarray(0, newline)).map(upper);
      for (const bit of needleBits(needle, scheme)) missed += ((bits[bit >>> 3] >>> (bit & 7)) & 1) ^ 1;
    }
    expect(missed).toBe(0);
  }
});

test('a gram never crosses a newline, nor the end of a file', () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const scanner = createGramScanner(DEFAULT_SCHEME);
  scanner.scan(bytes('abcd\nefgh\n1.2.3.4\n'), 0, 1e9);
  const ones = scanner.ones;
  expect(ones).toBe(needleBits(bytes('1.2.3.4'), DEFAULT_SCHEME).length);
  scanner.scan(bytes('wxyz'), 0, 1e9);
  scanner.endLine();
  scanner.scan(bytes('wxyz'), 0, 1e9);
  expect(scanner.ones).toBe(ones);
  expect(() => needleBits(bytes('a\nb'), DEFAULT_SCHEME)).toThrow('within one line');
});

function upper(byte: number): number {
  return byte >= 97 && byte <= 122 && byte % 2 === 0 ? byte - 32 : byte;
}

function inNumbers({ end, ones, lines }: { end: number; ones: number; lines: number }): number[] {
  return [end, ones, lines];
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function countOnes(bits: Uint8Array): number {
  let ones = 0;
  for (const byte of bits) for (let rest = byte; rest > 0; rest >>>= 1) ones += rest & 1;
  return ones;
}
