/**
 * The contract of every structure that is built once from its keys: it has all of them, by
 * whichever way in, and the same set always gives the same bytes.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import type { HashScheme, Key, KeyBatch, KeyHash } from '../../src/index.ts';
import { hashKey, hashKeys, packKeys, SecretKey, useKernel } from '../../src/index.ts';
import { keyBytes } from '../../src/keys/key.ts';
import { textEncoder } from '../../src/keys/platform.ts';
import { awkwardStrings, counterKeys } from '../keys.ts';
import { type CreateOptions, inBothKernels } from './subject.ts';

export interface StaticMembership<F> {
  readonly scheme: HashScheme;
  readonly size: number;
  readonly byteLength: number;
  has(key: Key): boolean;
  hasMany(keys: KeyBatch): Uint8Array;
  hasHash(hash: KeyHash): boolean;
  copy(): F;
  equals(other: F): boolean;
  encode(): Uint8Array;
}

export interface StaticSubject<F extends StaticMembership<F>> {
  readonly name: string;
  /** The structure of these keys, with a rate of a few per cent. */
  readonly from: (keys: KeyBatch, options?: Pick<CreateOptions, 'seed' | 'key'>) => F;
  readonly decode: (bytes: Uint8Array, options?: { readonly key?: SecretKey }) => F;
}

const SECRET = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => 7 * i + 1));

export function staticMembershipContract<F extends StaticMembership<F>>(subject: StaticSubject<F>): void {
  const { name, from, decode } = subject;
  const optionSets = [{}, { seed: 99 }, { key: SECRET }];
  const hasAll = (structure: F, keys: KeyBatch) => structure.hasMany(keys).every((answer) => answer === 1);

  inBothKernels(`${name}: membership`, () => {
    test.each(optionSets)('has every key it was built from, of every type (%o)', (options) => {
      const integers = [0, -1, 42, 2 ** 53 - 1, 7n, -(2n ** 70n)];
      const keys: Key[] = [...new Set(awkwardStrings(2000, 1)), ...integers, Uint8Array.of(1)];
      const structure = from(keys, options);
      expect(keys.filter((key) => !structure.has(key))).toEqual([]);
      expect(hasAll(structure, keys)).toBe(true);
      // '\ud800' and '\udfff' are one key: both become U+FFFD.
      const different = new Set(keys.map((key) => String(keyBytes(key))));
      expect(structure.size).toBe(different.size);
    });

    test.each(optionSets)(
      'every way in gives the same bytes, and every way to ask the same answers (%o)',
      (options) => {
        const lines = awkwardStrings(3000, 3).map((line) => line.replaceAll('\n', '_'));
        lines[17] = 'z'.repeat(150_000); // longer than the kernel's input region
        const others = awkwardStrings(4000, 4).map((line) => line.replaceAll('\n', '_'));
        const probes = [...lines.slice(0, 500), ...others];
        const text = textEncoder();
        const first = from(lines, options);
        const { scheme } = first;
        const waysIn: KeyBatch[] = [
          new Set(lines),
          lines.values(),
          lines.map((line) => text.encode(line)),
          packKeys(lines),
          { lines: text.encode(lines.join('\n')) },
          { lines: text.encode(`${lines.join('\n')}\n`) },
          hashKeys(lines, scheme),
          // Neither the order of the keys nor their number matters.
          [...lines].reverse(),
          shuffled(lines, 5),
          [...lines, ...shuffled(lines, 6), ...lines.slice(100, 200)],
        ];
        const answers = probes.map((key) => (first.has(key) ? 1 : 0));
        for (const [way, keys] of waysIn.entries()) {
          const structure = from(keys, options);
          expectSameBytes(structure.encode(), first.encode(), `way ${way}`);
          expect(structure.size).toBe(first.size);
          expect([...structure.hasMany(probes)], `way ${way}`).toEqual(answers);
        }
        const waysToAsk: KeyBatch[] = [
          probes.values(),
          packKeys(probes),
          { lines: text.encode(probes.join('\n')) },
          hashKeys(probes, scheme),
        ];
        for (const keys of waysToAsk) expect([...first.hasMany(keys)]).toEqual(answers);
        expect(probes.map((key) => (first.hasHash(hashKey(key, scheme)) ? 1 : 0))).toEqual(answers);
        expect(answers.slice(0, 500)).not.toContain(0);
        expect(answers).toContain(0);
      },
    );

    test('a key may come any number of times, and all of them may be one', () => {
      const one = from(Array.from({ length: 5000 }, () => 'the only one'));
      expect(one.size).toBe(1);
      expect(one.encode()).toEqual(from(['the only one']).encode());
      expect(one.has('the only one')).toBe(true);
      const numbers = Array.from({ length: 6000 }, (_, i) => (i * i) % 1009);
      const squares = from(numbers);
      expect(squares.size).toBe(new Set(numbers).size);
      expect(squares.encode()).toEqual(from(new Set(numbers)).encode());
      expect(hasAll(squares, numbers)).toBe(true);
    });

    test('the empty set is a set, and has nothing', () => {
      const empties = [from([]), from(new Set()), from({ lines: new Uint8Array(0) }), from(packKeys([]))];
      const probes = awkwardStrings(3000, 2);
      for (const empty of [...empties, decode(empties[0].encode()), empties[0].copy()]) {
        expect(empty.size).toBe(0);
        expect(probes.filter((key) => empty.has(key) || empty.hasHash(hashKey(key)))).toEqual([]);
        expect(empty.hasMany(probes)).toEqual(new Uint8Array(3000));
        expect(empty.encode()).toEqual(empties[0].encode());
        expect(empty.equals(empties[1])).toBe(true);
      }
      expect(empties[0].byteLength).toBeLessThan(64);
    });

    test('every small size: all keys in, size exact, read back the same', () => {
      for (let n = 1; n <= 140; n++) {
        const keys = counterKeys(n, 0, n);
        const structure = from(keys, { seed: n });
        expect(structure.size).toBe(n);
        expect(hasAll(structure, keys), `${n} keys`).toBe(true);
        expect(hasAll(decode(structure.encode()), keys), `${n} keys`).toBe(true);
      }
    });

    test('against a Set: thousands of random commands', () => {
      const random = new Random(78);
      const word = () => `key ${random.below(1500)}`;
      let model = new Set<string>();
      let structure = from([]);
      for (let step = 0; step < withEffort(10_000); step++) {
        const command = random.below(100);
        const key = word();
        if (command < 2) {
          const keys = Array.from({ length: random.below(random.pick([3, 30, 900])) }, word);
          model = new Set(keys);
          structure = from(keys, { seed: random.below(5) });
          expect(structure.size).toBe(model.size);
        } else if (command < 4) {
          structure = random.below(2) === 0 ? decode(structure.encode()) : structure.copy();
        } else if (command < 10) {
          expect(hasAll(structure, model)).toBe(true);
        } else {
          const answer = structure.has(key);
          if (model.has(key)) expect(answer).toBe(true);
          expect(structure.hasMany([key, key])[1]).toBe(answer ? 1 : 0);
          expect(structure.hasHash(hashKey(key, structure.scheme))).toBe(answer);
        }
      }
    });

    test('equal are equal sets under equal options, and a copy is equal', () => {
      const keys = awkwardStrings(500, 8);
      const structure = from(keys);
      expect(structure.equals(from(shuffled(keys, 1)))).toBe(true);
      expect(structure.copy().equals(structure)).toBe(true);
      expect(structure.equals(from(keys, { seed: 1 }))).toBe(false);
      expect(structure.equals(from(keys.slice(1)))).toBe(false);
      expect(structure.equals(from(keys.map((key) => `${key}!`)))).toBe(false);
      expect(structure.equals({} as F)).toBe(false);
    });

    test('a hash of another seed is refused, not answered; so is what is no batch', () => {
      const structure = from(['a']);
      expect(() => structure.hasHash(hashKey('a', { seed: 5 }))).toThrow(
        /expected one by filter.scheme \(forge64\/0\), got forge64\/5/,
      );
      expect(() => structure.hasMany(hashKeys(['a'], { seed: 5 }))).toThrow(RangeError);
      expect(() => from(hashKeys(['a'], { seed: 5 }))).toThrow(
        /expected one by filter.scheme \(forge64\/0\), got forge64\/5/,
      );
      expect(() => from('text' as never)).toThrow(TypeError);
      expect(() => from(undefined as never)).toThrow(TypeError);
      expect(() => from([1.5])).toThrow(RangeError);
      expect(() => from(['a'], { seed: -1 })).toThrow(
        /expected a seed, an integer from 0 to 2\^64 - 1, got -1/,
      );
      expect(() => from(['a'], { sed: 1 } as never)).toThrow(/got option 'sed'/);
    });
  });

  test(`${name}: both kernels build the same bytes`, () => {
    for (const n of [0, 1, 2, 3, 10, 33, 100, 500, 1999, 2600, 3000, 11_500, 50_000]) {
      const keys = counterKeys(n, 7, 3);
      const frames = (['wasm', 'javascript'] as const).map((kernel) => {
        useKernel(kernel);
        return from(keys, { seed: n }).encode();
      });
      useKernel('auto');
      expectSameBytes(frames[0], frames[1], `${n} keys`);
    }
  });
}

function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = new Random(seed);
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [result[i], result[j]] = [result[j], result[i]];
  }
  return result;
}
