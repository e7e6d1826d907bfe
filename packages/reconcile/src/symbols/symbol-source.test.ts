import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { halfMask } from '../wire/half-mask.ts';
import { CELL, encodeCells, idBytesOf, subtractCells } from './cell.ts';
import { IdMapping } from './id-mapping.ts';
import { Peeler } from './peeler.ts';
import { SymbolSource } from './symbol-source.ts';

function randomWords(random: Random, count: number): Int32Array {
  return Int32Array.from({ length: 2 * count }, () => random.bits());
}

/** The symbols of a set, id by id, without blocks. */
function naiveCells(words: Int32Array, end: number, idBytes: number): Int32Array {
  const cells = new Int32Array(CELL * end);
  const mapping = new IdMapping();
  for (let k = 0; k < words.length; k += 2) {
    const low = words[k] & halfMask(8 * idBytes - 32);
    const high = words[k + 1] & halfMask(8 * idBytes);
    for (mapping.start(high, low); mapping.index < end; mapping.step()) {
      const at = CELL * mapping.index;
      cells[at] ^= high;
      cells[at + 1] ^= low;
      cells[at + 2] ^= mapping.check;
      cells[at + 3]++;
    }
  }
  return cells;
}

test('SymbolSource gives the symbols of IdMapping, however they are cut into blocks', () => {
  const random = new Random(1);
  const words = randomWords(random, 300);
  for (const idBytes of [3, 4, 5, 6, 7, 8]) {
    const source = new SymbolSource(words, 300, idBytes);
    const cells: number[] = [];
    for (let end = 1; end < 1500; end += 1 + random.below(2 * end)) cells.push(...source.block(end));
    expect(Int32Array.from(cells)).toEqual(naiveCells(words, cells.length / CELL, idBytes));
  }
});

test('IdMapping: symbol i holds an id with probability 1 / (1 + i/2), but for the first ones', () => {
  const random = new Random(2);
  const count = 40_000;
  const cells = new SymbolSource(randomWords(random, count), count, 5).block(2001);
  expect(cells[3]).toBe(count);
  expectBinomial(cells[CELL + 3], count, 0.64, 'symbol 1');
  for (const i of [8, 30, 200, 2000])
    expectBinomial(cells[CELL * i + 3], count, 1 / (1 + i / 2), `symbol ${i}`);
});

test('cells: subtracting what was sent leaves nothing, in every width', () => {
  const words = randomWords(new Random(3), 1000);
  for (let width = 5; width <= 11; width++) {
    const cells = new SymbolSource(words, 1000, idBytesOf(width)).block(100);
    const sent = encodeCells(cells, 100, width);
    expect(sent.length).toBe(100 * width);
    subtractCells(cells, sent, width);
    expect(cells.some((word) => word !== 0)).toBe(false);
  }
});

test('Peeler finds the ids of both sides in every width, and stops at symbols that contradict each other', () => {
  const random = new Random(4);
  const [ours, theirs] = [randomWords(random, 50), randomWords(random, 30)];
  for (let width = 5; width <= 11; width++) {
    const bits = 8 * idBytesOf(width);
    const peeler = new Peeler(width);
    const [a, b] = [new SymbolSource(ours, 50, bits / 8), new SymbolSource(theirs, 30, bits / 8)];
    for (let end = 16; !peeler.done; end += 16) {
      expect(end).toBeLessThan(400);
      peeler.append(a.block(end), encodeCells(b.block(end), 16, width));
    }
    const pairs = (ids: Int32Array) =>
      Array.from({ length: ids.length / 2 }, (_, i) => `${ids[2 * i]} ${ids[2 * i + 1]}`).sort();
    const idsOf = (words: Int32Array) =>
      words.map((_, i) => words[i ^ 1] & halfMask(i % 2 === 0 ? bits : bits - 32));
    expect(pairs(peeler.ids(1))).toEqual(pairs(idsOf(ours)));
    expect(pairs(peeler.ids(-1))).toEqual(pairs(idsOf(theirs)));
    expect([peeler.found, peeler.balance]).toEqual([80, 20]);
  }

  // One id with both signs would be found again and again.
  const one = new SymbolSource(ours.subarray(0, 2), 1, 8).block(2);
  const loop = new Peeler(11);
  const mixed = one.slice();
  mixed[3] = 1;
  mixed[CELL + 3] = -1;
  for (let k = 0; k < 3; k++) mixed[CELL + k] = mixed[k];
  loop.append(mixed, new Uint8Array(22));
  expect(loop.done).toBe(false);
});
