/** The contract of filters that can be combined: union is exact, unlike filters are refused. */

import { expect, test } from 'vitest';
import { OverfullError } from '../../src/index.ts';
import { awkwardStrings } from '../keys.ts';
import { inBothKernels, type Membership, type Mergeable, type Subject } from './subject.ts';

export function mergeableContract<F extends Membership & Mergeable<F>>(
  subject: Subject<F>,
  /**
   * Filters that differ from `create({ capacity: 500, falsePositiveRate: 0.01 })` in one parameter
   * each.
   */
  unlike: () => F[],
): void {
  const options = { capacity: 500, falsePositiveRate: 0.01 };
  const make = (keys: string[]): F => {
    const filter = subject.create(options);
    filter.addMany(keys);
    return filter;
  };
  const keys = [...new Set(awkwardStrings(700, 8))].slice(0, 600);
  const left = keys.slice(0, 250);
  const right = keys.slice(200, 500);

  inBothKernels(`${subject.name}: merging`, () => {
    test('the union is bit for bit the filter of all keys, in any order', () => {
      const all = make([...left, ...right]);
      expect(make(left).union(make(right)).encode()).toEqual(all.encode());
      expect(make(right).union(make(left)).equals(all)).toBe(true);
      expect(make(left).merge(make(right)).equals(all)).toBe(true);
      const thirds = [keys.slice(0, 100), keys.slice(100, 200), keys.slice(200, 300)].map(make);
      const [a, b, c] = thirds;
      expect(
        a
          .union(b)
          .union(c)
          .equals(a.union(b.union(c))),
      ).toBe(true);
      expect(a.union(a).equals(a)).toBe(subject.multiset !== true);
    });

    test('union and intersection leave their operands alone, merge changes the receiver only', () => {
      const a = make(left);
      const b = make(right);
      const before = [a.encode(), b.encode()];
      a.union(b);
      a.intersection(b);
      a.copy().merge(b);
      expect([a.encode(), b.encode()]).toEqual(before);
      a.merge(b);
      expect(b.encode()).toEqual(before[1]);
    });

    test('the intersection has every common key and is within both', () => {
      const both = make(left).intersection(make(right));
      for (const key of left.filter((k) => right.includes(k))) expect(both.has(key)).toBe(true);
      expect(both.isSubsetOf(make(left)) && both.isSubsetOf(make(right))).toBe(true);
      expect(both.onesCount()).toBe(make(left).sharedOnesCount(make(right)));
      // The honest caveat: a superset of the filter of the common keys.
      expect(make(left.filter((k) => right.includes(k))).isSubsetOf(both)).toBe(true);
    });

    test('subset and equality', () => {
      const a = make(left);
      const all = make([...left, ...right]);
      expect(a.isSubsetOf(all)).toBe(true);
      expect(all.isSubsetOf(a)).toBe(false);
      expect(a.equals(make(left))).toBe(true);
      expect(a.equals(all)).toBe(false);
      const copy = a.copy();
      copy.add('something that is not in it');
      expect(a.equals(copy)).toBe(false);
    });

    test('a merge that makes a filter overfull is refused, and changes nothing', () => {
      const keys = Array.from({ length: 4000 }, (_, i) => `key ${i}`);
      const strict = (from: number, to: number, overfull: 'allow' | 'throw' = 'throw'): F => {
        const filter = subject.create({ capacity: 1000, falsePositiveRate: 0.01, overfull });
        filter.addMany(keys.slice(from, to));
        return filter;
      };
      const half = strict(0, 500);
      expect(half.copy().merge(strict(500, 1000)).has(keys[999])).toBe(true);
      expect(half.copy().merge(strict(0, 500)).has(keys[499])).toBe(true);
      const before = half.encode();
      for (const other of [strict(1000, 2000), strict(1000, 4000, 'allow')]) {
        expect(() => half.merge(other)).toThrow(OverfullError);
        expect(() => half.union(other)).toThrow(/^Cannot add keys: expected at most 1000, got more$/);
        expect(half.encode()).toEqual(before);
        half.intersection(other);
      }
      const tiny = (first: number, count: number): F => {
        const filter = subject.create({ capacity: 10, falsePositiveRate: 0.5, overfull: 'throw' });
        filter.addMany(keys.slice(first, first + count));
        return filter;
      };
      expect(() => {
        const all = tiny(0, 10);
        for (let i = 1; i < 100; i++) all.merge(tiny(10 * i, 10));
      }).toThrow(OverfullError);
    });

    test('unlike filters are refused, with both sides in the message', () => {
      const a = make(left);
      for (const other of unlike()) {
        for (const combine of [
          () => a.merge(other),
          () => a.union(other),
          () => a.intersection(other),
          () => a.isSubsetOf(other),
          () => a.sharedOnesCount(other),
        ]) {
          expect(combine).toThrow(RangeError);
          expect(combine).toThrow(`unlike filters: ${a} and ${other}`);
        }
        expect(a.equals(other)).toBe(false);
      }
      expect(() => a.merge({} as never)).toThrow(RangeError);
    });
  });
}
