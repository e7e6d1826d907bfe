/**
 * The contract of every filter that keys can be added to: no false negative, by whichever way in.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import {
  hashKey,
  hashKeys,
  type Key,
  OverfullError,
  packKeys,
  SecretKey,
  sizeEstimate,
} from '../../src/index.ts';
import { platform, textEncoder } from '../../src/keys/platform.ts';
import { awkwardStrings, counterKeys } from '../keys.ts';
import { inBothKernels, type Membership, type Subject } from './subject.ts';

const SECRET = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => 7 * i + 1));

export function membershipContract<F extends Membership>(subject: Subject<F>): void {
  const { create, fixedSize = true } = subject;
  const optionSets = subject.seedable ? [{}, { seed: 99 }, { key: SECRET }] : [{}];

  inBothKernels(`${subject.name}: membership`, () => {
    test.each(optionSets)('has every key that was added, of every type (%o)', (options) => {
      const keys: Key[] = [
        ...awkwardStrings(2000, 1),
        0,
        -1,
        42,
        2 ** 53 - 1,
        7n,
        -(2n ** 70n),
        new Uint8Array(0),
        Uint8Array.of(1),
      ];
      const filter = create({ capacity: keys.length, falsePositiveRate: 0.01, ...options });
      for (const key of keys) {
        filter.add(key);
        expect(filter.has(key)).toBe(true);
      }
      for (const key of keys) expect(filter.has(key)).toBe(true);
    });

    test('an empty filter has nothing', () => {
      const filter = create({ capacity: 1000, falsePositiveRate: 0.01 });
      expect(awkwardStrings(1000, 2).filter((key) => filter.has(key))).toEqual([]);
      expect(filter.estimatedSize()).toBe(0);
      expect(filter.estimatedFalsePositiveRate()).toBe(0);
    });

    test.each(optionSets)('every way in gives the same filter and the same answers (%o)', (options) => {
      const lines = [...new Set(awkwardStrings(3000, 3).map((text) => text.replaceAll('\n', '_')))];
      lines[17] = 'z'.repeat(150_000); // longer than the kernel's input region
      const probes = [
        ...lines.slice(0, 500),
        ...awkwardStrings(4000, 4).map((text) => text.replaceAll('\n', '_')),
      ];
      const text = textEncoder();
      const make = () => create({ capacity: 3000, falsePositiveRate: 0.05, ...options });
      const scheme = make().scheme;
      const waysIn: ((filter: F) => number)[] = [
        (f) => lines.map((key) => f.add(key)).filter(Boolean).length,
        (f) => f.addMany(lines),
        (f) => f.addMany(new Set(lines)),
        (f) => f.addMany(lines.values()),
        (f) => f.addMany(lines.map((line) => text.encode(line))),
        (f) => f.addMany(packKeys(lines)),
        (f) => f.addMany({ lines: text.encode(lines.join('\n')) }),
        (f) => f.addMany({ lines: text.encode(`${lines.join('\n')}\n`) }),
        (f) => f.addMany(hashKeys(lines, scheme)),
        (f) => lines.map((key) => f.addHash(hashKey(key, scheme))).filter(Boolean).length,
      ];
      const filters = waysIn.map((add) => {
        const filter = make();
        return { filter, fresh: add(filter), bytes: filter.encode() };
      });
      const answers = probes.map((key) => (filters[0].filter.has(key) ? 1 : 0));
      for (const [way, { filter, fresh, bytes }] of filters.entries()) {
        expectSameBytes(bytes, filters[0].bytes, `way ${way}`);
        expect(fresh, `way ${way}: keys that changed a bit`).toBe(filters[0].fresh);
        expect([...filter.hasMany(probes)]).toEqual(answers);
      }
      const { filter } = filters[0];
      expect([...filter.hasMany(probes.values())]).toEqual(answers);
      expect([...filter.hasMany(packKeys(probes))]).toEqual(answers);
      expect([...filter.hasMany({ lines: text.encode(probes.join('\n')) })]).toEqual(answers);
      expect([...filter.hasMany(hashKeys(probes, scheme))]).toEqual(answers);
      expect(probes.map((key) => (filter.hasHash(hashKey(key, scheme)) ? 1 : 0))).toEqual(answers);
      expect(answers.slice(0, 500).every((answer) => answer === 1)).toBe(true);
    });

    test('lines: a final newline begins no key, an empty line is the empty key', () => {
      const text = textEncoder();
      const filter = create({ capacity: 100, falsePositiveRate: 0.001 });
      expect(filter.hasMany({ lines: new Uint8Array(0) }).length).toBe(0);
      expect(filter.hasMany({ lines: text.encode('a\nb\n') }).length).toBe(2);
      expect(filter.hasMany({ lines: text.encode('a\nb') }).length).toBe(2);
      expect(filter.hasMany({ lines: text.encode('\n') }).length).toBe(1);
      expect(filter.hasMany({ lines: text.encode('a\n\nb') }).length).toBe(3);
      filter.addMany({ lines: text.encode('x\n\ny') });
      expect([filter.has('x'), filter.has(''), filter.has('y')]).toEqual([true, true, true]);
      expect(() => filter.addMany({ lines: 'a\nb' as never })).toThrow(TypeError);
    });

    test('against a Set: thousands of random commands, never a false negative, add is true only for new keys', () => {
      const random = new Random(77);
      let filter = create({ capacity: 400, falsePositiveRate: 0.02 });
      const model = new Set<string>();
      for (let step = 0; step < withEffort(10_000); step++) {
        const key = `key ${random.below(1200)}`;
        const command = random.below(100);
        if (command < 30) {
          if (filter.add(key)) expect(model.has(key)).toBe(false);
          model.add(key);
        } else if (command < 36) {
          const keys = Array.from({ length: random.below(30) }, () => `key ${random.below(1200)}`);
          const before = keys.filter((k) => !model.has(k));
          expect(filter.addMany(keys)).toBeLessThanOrEqual(new Set(before).size);
          for (const k of keys) model.add(k);
        } else if (command < 37) {
          filter = subject.decode(filter.encode()) as F;
        } else if (command === 99 && random.below(20) === 0) {
          filter.clear();
          model.clear();
        } else if (model.has(key)) {
          expect(filter.has(key)).toBe(true);
          expect(filter.hasMany([key])[0]).toBe(1);
        } else {
          const answer = filter.has(key);
          expect(filter.hasMany([key, key])[1]).toBe(answer ? 1 : 0);
        }
      }
      for (const key of model) expect(filter.has(key)).toBe(true);
    });

    test('a hash of another seed is refused, not answered', () => {
      const filter = create({ capacity: 10, falsePositiveRate: 0.01 });
      expect(() => filter.hasHash(hashKey('a', { seed: 5 }))).toThrow(
        /expected one by filter.scheme \((forge64|xxh64)\/0\), got forge64\/5/,
      );
      expect(() => filter.addHash(hashKey('a', { key: SECRET }))).toThrow(RangeError);
      expect(() => filter.hasMany(hashKeys(['a'], { seed: 5 }))).toThrow(RangeError);
    });

    test('estimates its size: the interval holds the truth', () => {
      const filter = create({ capacity: 20_000, falsePositiveRate: 0.01 });
      filter.addMany(counterKeys(15_000, 0, 5));
      const estimate = subject.sizeEstimate ?? ((f: F, o: object) => sizeEstimate(f as never, o));
      const { value, low, high } = estimate(filter, { confidence: 1 - 5.7e-7 });
      // The same formula twice.
      expect(Math.abs(value / filter.estimatedSize() - 1)).toBeLessThan(1e-12);
      expect(low <= 15_000 && 15_000 <= high, `${low} <= 15000 <= ${high}`).toBe(true);
      expect(low < value && value < high && high - low < 3000).toBe(true);
    });

    test.runIf(fixedSize)('a saturated filter says Infinity, and maybe to everything', () => {
      const tiny = create({ capacity: 1, falsePositiveRate: 0.5 });
      tiny.addMany(counterKeys(20_000));
      expect(tiny.estimatedSize()).toBe(Number.POSITIVE_INFINITY);
      expect(tiny.estimatedFalsePositiveRate()).toBe(1);
      expect(tiny.has('anything')).toBe(true);
    });

    test.runIf(fixedSize)('overfull: allowed, warned about once, or refused, and never at capacity', () => {
      const options = { capacity: 5000, falsePositiveRate: 0.01 };
      const strict = create({ ...options, overfull: 'throw' });
      strict.addMany(counterKeys(5000));
      expect(() => strict.addMany(counterKeys(5000, 5000))).toThrow(OverfullError);
      const byOne = create({ ...options, overfull: 'throw' });
      let added = 0;
      expect(() => {
        for (; added < 8000; added++) byOne.add(added);
      }).toThrow(/expected at most 5000, got more$/);
      expect(added).toBeGreaterThanOrEqual(5000);
      expect(added).toBeLessThan(5100);
      for (let i = 0; i < added; i++) expect(byOne.has(i)).toBe(true);

      const warnings: string[] = [];
      const console = platform.console!;
      const original = console.warn;
      console.warn = (message: string) => void warnings.push(message);
      try {
        const loud = create({ ...options, overfull: 'warn' });
        for (let i = 0; i < 12_000; i++) loud.add(i);
      } finally {
        console.warn = original;
      }
      expect(warnings.length).toBe(1);
      expect(warnings[0]).toMatch(/^bloomery: Cannot add keys: expected at most 5000, got more$/);
    });

    test.runIf(fixedSize)('overfull: tiny filters refuse as well, by one and in batches', () => {
      for (const capacity of [1, 2, 3, 10, 50]) {
        for (const falsePositiveRate of [0.5, 0.1, 0.001]) {
          const options = { capacity, falsePositiveRate, overfull: 'throw' } as const;
          const [byOne, byBatch] = [create(options), create(options)];
          for (let i = 0; i < capacity; i++) byOne.add(i);
          byBatch.addMany(counterKeys(capacity));
          const context = `capacity ${capacity} at ${falsePositiveRate}`;
          expect(() => {
            for (let i = 0; i < 2000 * capacity; i++) byOne.add(`more ${i}`);
          }, context).toThrow(OverfullError);
          const more = Array.from({ length: 2000 * capacity }, (_, i) => `more ${i}`);
          expect(() => byBatch.addMany(more), context).toThrow(OverfullError);
          // Keys that a full filter holds can be added again, since that changes no bit.
          expect(byOne.add(0)).toBe(false);
          expect(byBatch.addMany(counterKeys(capacity))).toBe(0);
        }
      }
    });

    test.runIf(fixedSize)('overfull: a batch is refused at the first key that is too many', () => {
      const options = { capacity: 700, falsePositiveRate: 0.001, overfull: 'throw' } as const;
      const strict = create(options);
      expect(() => strict.addMany(counterKeys(5000))).toThrow(OverfullError);
      expect([...strict.hasMany(counterKeys(700))]).not.toContain(0);
      // About one key in a thousand is not recognised as new when the filter is full.
      expect(strict.estimatedSize()).toBeLessThan(730);
    });

    test.runIf(fixedSize)('overfull: a decoded filter refuses as soon as its ones prove it', () => {
      const full = create({ capacity: 2000, falsePositiveRate: 0.01 });
      full.addMany(counterKeys(2000));
      const again = subject.decode(full.encode(), { overfull: 'throw' });
      expect(() => again.addMany(counterKeys(3000, 2000))).toThrow(OverfullError);
      expect(again.estimatedSize()).toBeLessThan(2400);
    });

    test.runIf(fixedSize)('overfull: a decoded filter with too many ones takes the keys that it has', () => {
      const full = create({ capacity: 2000, falsePositiveRate: 0.01 });
      full.addMany(counterKeys(3000));
      const again = subject.decode(full.encode(), { overfull: 'throw' });
      expect(again.add(0)).toBe(false);
      expect(again.addMany(counterKeys(3000))).toBe(0);
      expect(() => again.addMany(counterKeys(3000, 3000))).toThrow(OverfullError);
      expect(() => {
        for (let i = 3000; i < 6000; i++) again.add(i);
      }).toThrow(OverfullError);
    });

    test('impossible parameters are errors that name them', () => {
      const good = { capacity: 10, falsePositiveRate: 0.01 };
      for (const capacity of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '10', undefined, 2n]) {
        expect(() => create({ ...good, capacity: capacity as number }), `capacity ${capacity}`).toThrow(
          /capacity/,
        );
      }
      for (const falsePositiveRate of [0, 1, -0.1, 1.5, Number.NaN, '0.01', undefined]) {
        expect(
          () => create({ ...good, falsePositiveRate: falsePositiveRate as number }),
          `${falsePositiveRate}`,
        ).toThrow(/falsePositiveRate/);
      }
      expect(() => create({ capacity: 1e15, falsePositiveRate: 0.01 })).toThrow(RangeError);
      if (fixedSize) expect(() => create({ ...good, overfull: 'panic' as never })).toThrow(/overfull/);
      expect(() => create({ ...good, rate: 0.1 } as never)).toThrow(/got option 'rate'/);
    });
  });
}
