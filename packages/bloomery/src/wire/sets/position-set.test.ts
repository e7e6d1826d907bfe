import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { PositionSet } from './position-set.ts';

/** Universes in which chunks are bounded by their number, by both, and by the span of 32 bits. */
const UNIVERSES = [300, 2 ** 16, 2 ** 34, 2 ** 40, 2 ** 48];

describe.each(UNIVERSES)('PositionSet in a universe of %i', (universe) => {
  test('does what a sorted array does, over random insertions and deletions', () => {
    const random = new Random(universe);
    const set = new PositionSet();
    let model: number[] = [];
    for (let round = 0; round < withEffort(60, 20); round++) {
      // Grows, then shrinks, so that chunks are split, joined and given back.
      const isGrowing = round % 20 < 10;
      for (let i = 0; i < 300; i++) {
        const known = model.length > 0 && random.below(100) < (isGrowing ? 20 : 90);
        const position = known ? model[random.below(model.length)] : uniform(random, universe);
        const at = lowerBound(model, position);
        const isThere = model[at] === position;
        expect(set.has(position)).toBe(isThere);
        if (isGrowing ? random.below(10) > 0 : random.below(10) === 0) {
          expect(set.insert(position)).toBe(!isThere);
          if (!isThere) model.splice(at, 0, position);
        } else {
          expect(set.delete(position)).toBe(isThere);
          if (isThere) model.splice(at, 1);
        }
      }
      expect(set.size).toBe(model.length);
      expect([...set]).toEqual(model);
      for (let i = 0; i < 50; i++) {
        const position = uniform(random, universe);
        expect(set.rank(position)).toBe(lowerBound(model, position));
        if (model.length === 0) continue;
        const rank = random.below(model.length);
        expect(set.select(rank)).toBe(model[rank]);
        expect(set.rank(model[rank])).toBe(rank);
      }
    }
    for (const position of model) expect(set.delete(position)).toBe(true);
    model = [];
    expect([...set]).toEqual(model);
    expect(set.insert(universe - 1)).toBe(true);
    expect([...set]).toEqual([universe - 1]);
  });

  test('gives the same set built in order, and reads it from any rank', () => {
    const random = new Random(7);
    const positions = [...new Set(Array.from({ length: 3000 }, () => uniform(random, universe)))];
    positions.sort((a, b) => a - b);
    const set = new PositionSet();
    for (const position of positions) set.append(position);
    expect([...set]).toEqual(positions);
    const part = new Float64Array(500);
    for (const rank of [0, 1, 255, 256, 700, positions.length - 3, positions.length]) {
      const count = set.read(rank, part);
      expect([...part.subarray(0, count)]).toEqual(positions.slice(rank, rank + 500));
    }
    const middle = Math.floor(positions.length / 2);
    const copy = set.copy();
    expect(set.delete(positions[middle])).toBe(true);
    expect(copy.has(positions[middle])).toBe(true);
    expect(copy.insert(positions[middle])).toBe(false);
    expect([...copy]).toEqual(positions);
  });
});

test('PositionSet and its copies change independently, whichever of them changes', () => {
  const random = new Random(5);
  const sets = [{ set: new PositionSet(), model: new Set<number>() }];
  for (let round = 0; round < 4000; round++) {
    const { set, model } = sets[random.below(sets.length)];
    const position = random.below(3000);
    if (random.below(3) > 0) expect(set.insert(position)).toBe(!model.has(position) && !!model.add(position));
    else expect(set.delete(position)).toBe(model.delete(position));
    if (round % 500 === 499) sets.push({ set: set.copy(), model: new Set(model) });
  }
  for (const { set, model } of sets) expect([...set]).toEqual([...model].sort((a, b) => a - b));
});

test('PositionSet takes less than 5 bytes per position in order, less than 6.5 after random changes', () => {
  const random = new Random(11);
  const set = new PositionSet();
  for (let i = 0; i < 100_000; i++) set.append(i * 93);
  expect(set.byteLength / set.size).toBeLessThan(5);
  for (let i = 0; i < 100_000; i++) if (i % 100 !== 0) set.delete(i * 93);
  while (set.size < 100_000) set.insert(uniform(random, 93e5));
  expect(set.byteLength / set.size).toBeLessThan(6.5);
});

test('PositionSet of few positions takes little, and grows into whole pages', () => {
  const [inOrder, anyhow] = [new PositionSet(), new PositionSet()];
  const model: number[] = [];
  const random = new Random(3);
  for (let count = 0; count < 600; count++) {
    // A copy holds the same page until one of the two changes it.
    const copy = inOrder.copy();
    expect(copy.byteLength).toBe(inOrder.byteLength);
    if (count === 100) expect(Math.max(inOrder.byteLength, anyhow.byteLength)).toBeLessThan(600);
    inOrder.append(count * 93);
    expect([copy.size, copy.has(count * 93), copy.insert(count * 93)]).toEqual([count, false, true]);
    anyhow.insert(random.below(2 ** 30));
    model.push(count * 93);
    if (count % 15 === 0) expect([...inOrder]).toEqual(model);
  }
  expect([inOrder.size, anyhow.size, new PositionSet().byteLength]).toEqual([600, 600, 24]);
});

function uniform(random: Random, universe: number): number {
  return Math.floor((random.below(2 ** 24) / 2 ** 24 + random.below(2 ** 24) / 2 ** 48) * universe);
}

function lowerBound(model: readonly number[], position: number): number {
  let [low, high] = [0, model.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (model[middle] < position) low = middle + 1;
    else high = middle;
  }
  return low;
}
