import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { bestRecodingDegree } from '../math/recoding.ts';
import { chooseRecoded } from './recode.ts';
import { codeKey, SymbolCode } from './symbol-code.ts';
import { SymbolDecoder } from './symbol-decoder.ts';
import { SymbolEncoder } from './symbol-encoder.ts';

const DIGEST = Uint8Array.from({ length: 32 }, (_, i) => 255 - i);

function codedContent(bytes: number, blockBytes: number, seed = 1) {
  const content = new Random(seed).bytes(bytes);
  const code = new SymbolCode({ bytes, blockBytes, key: codeKey(DIGEST, seed) });
  const encoder = new SymbolEncoder(code, content);
  const symbol = (id: number) => ({ ids: [id], payload: encoder.symbol(id) });
  return { content, code, encoder, symbol };
}

test.each([
  [1, 16],
  [16, 16],
  [17, 16],
  [1000, 16],
  [40_000, 64],
  [64 * 1000, 64],
])('content of %i bytes comes back from coded symbols alone, in blocks of %i', (bytes, blockBytes) => {
  for (const kernel of ['wasm', 'javascript'] as const) {
    const { content, code, symbol } = codedContent(bytes, blockBytes);
    const decoder = new SymbolDecoder(code, { kernel });
    expect(decoder.kernel).toBe(kernel);
    let next = code.blocks;
    for (let lacking = decoder.solve(); lacking > 0; lacking = decoder.solve()) {
      for (let i = 0; i < lacking; i++) decoder.add(symbol(next++));
    }
    expect(decoder.content()).toEqual(content);
    expect(decoder.contradictions).toBe(0);
    expect(next - code.blocks).toBeLessThanOrEqual(code.blocks * 1.03 + 25);
    expect(decoder.add(symbol(next))).toBe('redundant');
  }
});

test('SymbolEncoder gives the same symbols in both kernels, and blocks for the first ids', () => {
  const { content, code, encoder } = codedContent(5000, 48);
  const script = new SymbolEncoder(code, content, { kernel: 'javascript' });
  for (const id of [0, 5, 104, 105, 2 ** 31, 2 ** 32 - 1])
    expect(script.symbol(id)).toEqual(encoder.symbol(id));
  expect(encoder.symbol(1)).toEqual(content.slice(48, 96));
  const last = encoder.symbol(code.blocks - 1);
  expect(last.subarray(0, 8)).toEqual(content.slice(4992));
  expect(last.subarray(8)).toEqual(new Uint8Array(40));
  const into = new Uint8Array(48);
  expect(encoder.symbol(500, into)).toBe(into);
  expect(() => new SymbolEncoder(code, content.subarray(1))).toThrow('expected 5000 bytes, got 4999');
});

test('any mixture of blocks and coded symbols in any order gives the content', () => {
  for (let seed = 1; seed <= withEffort(20, 5); seed++) {
    const { content, code, symbol } = codedContent(300 * 16, 16, seed);
    const random = new Random(seed);
    const decoder = new SymbolDecoder(code);
    const plain = 1 / (1 + random.below(5));
    while (decoder.solve() > 0) {
      const isBlock = random.bits() / 2 ** 32 < plain;
      decoder.add(symbol(isBlock ? random.below(300) : 300 + random.below(2 ** 31)));
    }
    expect(decoder.content()).toEqual(content);
  }
});

test('solve fails without harm and says how many symbols it lacks at least', () => {
  const { content, code, symbol } = codedContent(200 * 16, 16);
  const decoder = new SymbolDecoder(code);
  let attempts = 0;
  let promised = decoder.solve();
  expect(promised).toBe(200);
  for (let id = 1000; promised > 0; id++) {
    decoder.add(symbol(id));
    const lacking = decoder.solve();
    // One symbol supplies at most one of those that are lacking.
    expect(lacking).toBeGreaterThanOrEqual(promised - 1);
    promised = lacking;
    attempts++;
    expect(() => (lacking > 0 ? decoder.content() : null)).not.toThrow(TypeError);
  }
  expect(attempts).toBeGreaterThanOrEqual(200);
  expect(decoder.content()).toEqual(content);
});

test('holders of parts recode for each other, and the same decoder takes their symbols', () => {
  for (let seed = 1; seed <= withEffort(6, 2); seed++) {
    const { content, code, symbol } = codedContent(200 * 32, 32, seed);
    const random = new Random(seed);
    const draw = () => random.bits() / 2 ** 32;
    // 270 symbols in the system; the holder has 190, the receiver 170 and 90 of them in common.
    const ids = Array.from({ length: 270 }, (_, i) => (i % 3 === 0 ? i % 200 : 1000 + 31 * i));
    const holder = new SymbolDecoder(code);
    const receiver = new SymbolDecoder(code);
    for (const id of ids.slice(0, 190)) holder.add(symbol(id));
    for (const id of ids.slice(100)) receiver.add(symbol(id));
    const held = holder.heldIds();
    let sent = 0;
    while (receiver.solve() > 0) {
      expect(++sent).toBeLessThan(2000);
      const containment = held.filter((id) => receiver.has(id)).length / held.length;
      receiver.add(holder.recode(chooseRecoded(held, { containment, random: draw })));
    }
    expect(receiver.content()).toEqual(content);
    expect(receiver.contradictions).toBe(0);
  }
});

test('recoded symbols wait until all but one of their constituents are known', () => {
  const { code, symbol } = codedContent(100 * 16, 16);
  const holder = new SymbolDecoder(code);
  for (const id of [500, 501, 502, 503]) holder.add(symbol(id));
  const decoder = new SymbolDecoder(code);
  expect(decoder.add(holder.recode([500, 501, 502]))).toBe('waiting');
  expect(decoder.add(holder.recode([502, 503]))).toBe('waiting');
  expect([decoder.received, decoder.waiting]).toEqual([0, 2]);
  expect(decoder.add(symbol(503))).toBe('new');
  expect([decoder.received, decoder.waiting]).toEqual([2, 1]);
  expect(decoder.add(symbol(500))).toBe('new');
  expect([decoder.received, decoder.waiting]).toEqual([4, 0]);
  expect(decoder.recode([501])).toEqual(symbol(501));
  expect(decoder.add(holder.recode([500, 503]))).toBe('redundant');
  expect(decoder.contradictions).toBe(0);
});

test('two recoded symbols that become the same one count once, and a lie among them is noticed', () => {
  for (const lie of [0, 1]) {
    const { code, symbol } = codedContent(100 * 16, 16);
    const holder = new SymbolDecoder(code);
    for (const id of [500, 501, 502]) holder.add(symbol(id));
    const decoder = new SymbolDecoder(code);
    decoder.add(holder.recode([500, 501]));
    const other = holder.recode([500, 501]);
    other.payload[3] ^= lie;
    decoder.add(other);
    decoder.add(symbol(500));
    expect([decoder.received, decoder.waiting, decoder.contradictions]).toEqual([2, 0, lie]);
  }
});

test('superfluous symbols show that some symbol is wrong', () => {
  const { content, code, symbol } = codedContent(100 * 16, 16);
  const decoder = new SymbolDecoder(code);
  const wrong = symbol(1000);
  wrong.payload[0] ^= 1;
  decoder.add(wrong);
  for (let id = 1001; id < 1125; id++) decoder.add(symbol(id));
  expect(decoder.solve()).toBe(0);
  expect(decoder.contradictions).toBeGreaterThan(0);
  expect(decoder.content()).not.toEqual(content);
});

test('a decoder refuses what no correct sender sends, and more than it has room for', () => {
  const { code, symbol } = codedContent(100 * 16, 16);
  const decoder = new SymbolDecoder(code, { mostSymbols: 100 });
  const payload = new Uint8Array(16);
  expect(() => decoder.add({ ids: [], payload })).toThrow('1 to 50 ids');
  expect(() => decoder.add({ ids: [7, 7], payload })).toThrow('different ids');
  expect(() => decoder.add({ ids: [2 ** 32], payload })).toThrow('ids below 2^32');
  expect(() => decoder.add({ ids: [7], payload: payload.subarray(1) })).toThrow('expected 16 bytes, got 15');
  expect(decoder.received).toBe(0);
  for (let id = 1000; id < 1100; id++) decoder.add(symbol(id));
  expect(() => decoder.add(symbol(2000))).toThrow('expected at most 100 symbols');
  expect(decoder.recode([1000, 1001]).ids).toEqual([1000, 1001]);
  expect(() => new SymbolDecoder(code, { mostSymbols: 99 })).toThrow('at least 100 symbols');
  expect(() => decoder.recode([2000])).toThrow('ids that are held, got 2000');
  expect(() => decoder.block(0)).toThrow('a decoder that is solved');
});

test('crafted ids of the greatest degree cost no more than their number', () => {
  const { content, code, symbol } = codedContent(1000 * 16, 16);
  const decoder = new SymbolDecoder(code, { mostSymbols: 4000 });
  // A sender that searched 100,000 ids for those of high degree.
  const ids: number[] = [];
  for (let id = 1000; ids.length < 900; id++) if (code.blocksOf(id).length === code.mostDegree) ids.push(id);
  for (const id of ids) decoder.add(symbol(id));
  for (let id = 10_000_000; decoder.solve() > 0; id++)
    for (let i = 0; i < 20; i++) decoder.add(symbol(id + 1e6 * i));
  expect(decoder.content()).toEqual(content);
  expect(decoder.sums / 1000).toBeLessThan(code.mostDegree + 1000);
});

test('the degree of recoding grows with what the receiver has', () => {
  expect([0.1, 0.5, 0.9, 0.97].map((c) => bestRecodingDegree(c))).toEqual([1, 1, 9, 33]);
});
