import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { referenceBandAnswer } from '../../../test/band-reference.ts';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { counterKeys } from '../../../test/keys.ts';
import { hashScheme } from '../../hashing/hash-scheme.ts';
import { bandColumns } from '../../math/fuse-size.ts';
import { BAND_KEYS, bandAnswer, isSoundBand, locateRow, row } from './band.ts';
import { buildBand, solveBand } from './band-build.ts';
import { FuseLayout } from './fuse.ts';
import { distinct, hashesOf } from './fuse-build.ts';

const hashes = (count: number, tag = 0) => hashesOf(counterKeys(count, 0, tag), hashScheme());
const layoutOf = (columns: number, width: number, attempt = 0) =>
  new FuseLayout({ segments: 0, segmentLength: columns }, attempt, { stride: width, width });

inBothKernels('a band', () => {
  test.each([1, 2, 31, 32, 33, 63, 64, 65, 97, 700])('of %i keys answers by the definition', (n) => {
    for (const width of [1, 7, 8, 31, 32]) {
      const keys = hashes(n, width);
      const band = buildBand(keys, width, bandColumns);
      if (band === null) throw new Error(`no band for ${n} keys`);
      const { layout, words, size } = band;
      expect(size).toBe(n);
      const bytes = new Uint8Array(words.buffer);
      const definition = { columns: layout.slots, attempt: layout.attempt, width };
      const probes = [...keys.subarray(0, 80), ...hashes(60, width + 1)];
      for (let i = 0; i < probes.length; i += 2) {
        const hash = (BigInt(probes[i + 1] >>> 0) << 32n) | BigInt(probes[i] >>> 0);
        const expected = referenceBandAnswer(definition, bytes, hash) === 0 ? 0 : 1;
        expect(bandAnswer(words, layout, probes[i], probes[i + 1])).toBe(expected);
      }
      for (let i = 0; i < keys.length; i += 2) {
        expect(bandAnswer(words, layout, keys[i], keys[i + 1])).toBe(0);
      }
    }
  });
});

test('a square system of random rows has a solution as often as theory says', () => {
  // Rows of 40 columns are dense. 40 of them are independent with probability Π (1 - 2^-i). With
  // values of 32 bits, dependent rows agree once in 2^32.
  let independent = 1;
  for (let i = 1; i <= 40; i++) independent *= 1 - 2 ** -i;
  let solved = 0;
  const sets = 4000;
  for (let set = 0; set < sets; set++) {
    if (solveBand(distinct(hashes(40, set)), layoutOf(40, 32)) !== null) solved++;
  }
  expectBinomial(solved, sets, independent, 'independent rows');
});

test('every bit of a row is 1 in half of the keys, and all columns are reached', () => {
  for (const columns of [5, 40, 64, 200]) {
    const layout = layoutOf(columns, 8);
    const random = new Random(columns);
    const window = Math.min(64, columns);
    const ones = new Array<number>(window).fill(0);
    const starts = new Set<number>();
    const draws = 20_000;
    for (let i = 0; i < draws; i++) {
      locateRow(layout, random.bits() | 0, random.bits() | 0);
      starts.add(row[0]);
      for (let bit = 0; bit < window; bit++) ones[bit] += (row[1 + (bit >> 5)] >>> (bit & 31)) & 1;
      if (window <= 32) expect(row[2]).toBe(0);
      if (window < 32) expect(row[1] >>> window).toBe(0);
    }
    expect([...starts].sort((a, b) => a - b)).toEqual(
      Array.from({ length: columns - window + 1 }, (_, i) => i),
    );
    for (const [bit, count] of ones.entries()) expectBinomial(count, draws, 0.5, `bit ${bit} of ${columns}`);
  }
});

test('bands have hardly more columns than keys, and few attempts are needed', () => {
  for (const n of [1, 10, 100, 1000, 4000, BAND_KEYS]) {
    let attempts = 0;
    const sets = n <= 1000 ? 40 : 3;
    for (let set = 0; set < sets; set++) {
      const band = buildBand(hashes(n, 1000 + set), 8, bandColumns);
      expect(band?.layout.slots).toBeLessThanOrEqual(1.05 * n + 12);
      attempts += 1 + (band?.layout.attempt ?? 64);
    }
    expect(attempts / sets, `${n} keys`).toBeLessThan(10);
    expect(bandColumns(n)).toBeLessThanOrEqual(1.03 * n);
  }
});

test('the empty set and sets above the limit get no band, whatever their duplicates', () => {
  expect(buildBand(hashes(0), 8, bandColumns)).toBeNull();
  expect(buildBand(hashes(BAND_KEYS + 1), 8, bandColumns)).toBeNull();
  const twice = Int32Array.from([...hashes(300), ...hashes(300), ...hashes(300)]);
  expect(buildBand(twice, 8, bandColumns)).toEqual(buildBand(hashes(300), 8, bandColumns));
});

test('isSoundBand refuses sizes that no band has', () => {
  expect(isSoundBand(1, 1, 0)).toBe(true);
  expect(isSoundBand(10_000, 65_536, 63)).toBe(true);
  for (const [size, columns, attempt] of [
    [0, 1, 0],
    [0, 0, 0],
    [2, 1, 0],
    [1, 65_537, 0],
    [1, 1, 64],
  ]) {
    expect(isSoundBand(size, columns, attempt)).toBe(false);
  }
});
