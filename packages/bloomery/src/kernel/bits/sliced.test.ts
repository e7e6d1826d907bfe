import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { wasmKernel } from '../wasm/kernel-choice.ts';
import { BitStore } from './bit-store.ts';
import { classicAdd, classicHas, setPlain } from './classic.ts';
import { rowBitsFor, type SlicedShape, slicedAdd, slicedBits, slicedCandidates } from './sliced.ts';
import { slicedAddChunk, slicedCandidatesIn } from './sliced-wasm.ts';

const WIDTHS = [1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 100, 128, 160, 256, 1000, 1024];

describe('a row', () => {
  test('takes a power of two of bits up to a word, and whole words above', () => {
    expect([1, 2, 3, 4, 5, 9, 17, 32, 33, 64, 65, 256].map(rowBitsFor)).toEqual([
      1, 2, 4, 4, 8, 16, 32, 32, 64, 64, 96, 256,
    ]);
  });
});

describe('the bits of a column', () => {
  test.each(WIDTHS)('are found as in a classic filter, one of %i columns', (columns) => {
    const { shape, words, filters, hashes } = filled(columns, 7 * columns);
    const out = new Uint32Array(Math.ceil(columns / 32) + 1).fill(0xffffffff);
    for (const [a, b] of hashes) {
      const found = slicedCandidates(words, a, b, shape, out);
      const expected = filters.map((bits) => classicHas(bits, a, b, shape.rows, 0, shape.hashes));
      expect(expected.map((_, c) => ((out[c >>> 5] >>> (c & 31)) & 1) === 1)).toEqual(expected);
      expect(found).toBe(expected.filter((held) => held).length);
    }
    // Words that are not the table's are left alone.
    expect(out[Math.ceil(columns / 32)]).toBe(0xffffffff);
  });

  test.each(WIDTHS)('are the same in WebAssembly, with %i columns', (columns) => {
    const wasm = wasmKernel();
    if (wasm === null) throw new Error('no WebAssembly here');
    const { shape, words, hashes } = filled(columns, 11 * columns);
    const store = new BitStore(words.slice());
    const address = wasm.admit(store, 0, Number.POSITIVE_INFINITY);
    expect(address).not.toBe(0);
    const [here, there] = [new Uint32Array(40), new Uint32Array(40)];
    for (const [a, b] of hashes) {
      const found = slicedCandidates(words, a, b, shape, here);
      expect(slicedCandidatesIn(wasm, store.words, a, b, address, shape, there)).toBe(found);
      expect(there).toEqual(here);
    }
    // Adding: the same bits, and the same numbers of changed bits and keys.
    const random = new Random(columns);
    for (let round = 0; round < 3; round++) {
      const column = random.below(columns);
      let [bits, fresh] = [0, 0];
      const chunk = Int32Array.from({ length: 200 }, () => random.bits());
      wasm.hashes.set(chunk);
      for (let i = 0; i < chunk.length; i += 2) {
        const changed = slicedAdd(words, chunk[i], chunk[i + 1], shape, column);
        bits += changed;
        if (changed > 0) fresh++;
      }
      expect(slicedAddChunk(wasm, chunk.length / 2, address, shape, column)).toBe(fresh);
      expect(wasm.values[0]).toBe(bits);
      expect(store.words.slice(0, tableWords(shape))).toEqual(words.slice(0, tableWords(shape)));
    }
  });

  test('are never found in a column that is not live', () => {
    for (const columns of [3, 256]) {
      const { shape, words, hashes } = filled(columns, 5);
      const dead = 2;
      const bit = shape.rows * shape.rowBits + dead;
      words[bit >>> 5] &= ~(1 << (bit & 31));
      const out = new Uint32Array(8);
      for (const [a, b] of hashes) {
        slicedCandidates(words, a, b, shape, out);
        expect((out[0] >>> dead) & 1).toBe(0);
      }
    }
  });
});

/** The words before the row of results, which only WebAssembly writes. */
function tableWords({ rows, rowBits }: SlicedShape): number {
  return Math.floor((rows * rowBits) / 32);
}

/** A table, the classic filters with the same keys, and hashes of keys that some of them hold. */
function filled(columns: number, seed: number) {
  const random = new Random(seed);
  const shape = { rows: 97, hashes: 3, rowBits: rowBitsFor(columns) };
  const words = new Uint32Array(Math.ceil(slicedBits(shape) / 32));
  const filters = Array.from({ length: columns }, () => new Uint32Array(Math.ceil(shape.rows / 32)));
  const hashes = Array.from({ length: 60 }, () => [random.bits(), random.bits()] as const);
  for (let column = 0; column < columns; column++) {
    const live = shape.rows * shape.rowBits + column;
    words[live >>> 5] |= 1 << (live & 31);
    for (const [a, b] of hashes) {
      if (random.below(4) !== 0) continue;
      const fresh = classicAdd(filters[column], a, b, shape.rows, 0, shape.hashes, setPlain);
      expect(slicedAdd(words, a, b, shape, column) > 0).toBe(fresh);
    }
  }
  return { shape, words, filters, hashes };
}
