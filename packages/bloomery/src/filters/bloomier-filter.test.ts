import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../test/contracts/codec.ts';
import { staticMembershipContract } from '../../test/contracts/static-membership.ts';
import { inBothKernels } from '../../test/contracts/subject.ts';
import { referenceAnswer, referenceField, referenceSlots } from '../../test/fuse-reference.ts';
import { awkwardStrings, counterKeys } from '../../test/keys.ts';
import { referenceForge64 } from '../../test/reference.ts';
import { FrameError } from '../frames/envelope.ts';
import type { KeyBatch } from '../kernel/batches/batch.ts';
import { hashKey } from '../kernel/batches/hash-key.ts';
import { hashKeys } from '../kernel/batches/hash-keys.ts';
import { type Key, keyBytes } from '../keys/key.ts';
import { packKeys } from '../keys/packed-keys.ts';
import { textEncoder } from '../keys/platform.ts';
import { BloomierFilter, type BloomierFilterOptions } from './bloomier-filter.ts';

staticMembershipContract<BloomierFilter>({
  name: 'BloomierFilter',
  from: (keys, given) => {
    const options = { valueBits: 3, checkBits: 5, ...given };
    if (typeof keys === 'object' && Symbol.iterator in keys) return BloomierFilter.from(zeros(keys), options);
    const count = keys === undefined || typeof keys === 'string' ? 0 : countOf(keys);
    return BloomierFilter.fromColumns(keys, new Uint8Array(count), options);
  },
  decode: (bytes, options) => BloomierFilter.decode(bytes, options),
});

function* zeros(keys: Iterable<Key>): Generator<[Key, number]> {
  for (const key of keys) yield [key, 0];
}

function countOf(keys: KeyBatch): number {
  return 'scheme' in keys ? keys.length : hashKeys(keys).length;
}

const golden = {
  hex: '424c4d59010600010000000000000000140000000705000100000c0000000000000000000000005034000000007093280100000000a073b86f000000404f7dd50000000000000000000000005828b82100209d02000000e409000000352e0080eb0300054470040048da68a32a3f8651c3c24e4588',
  falsePositives: [7, 12, 18, 29, 63, 68, 107, 119, 126, 153],
};
/** The value of 'key-i' in the golden frame. */
const goldenValue = (i: number) => (7 * i + 3) % 32;

codecContract<BloomierFilter>(
  {
    name: 'BloomierFilter',
    seedable: true,
    build: (keys, options) => {
      // A key may come twice among the awkward ones, so its value is a function of the key.
      const value = (key: string) => goldenValue(Number(/^key-(\d+)$/.exec(key)?.[1] ?? key.length));
      return BloomierFilter.from(
        keys.map((key) => [key, value(key)] as const),
        { valueBits: 5, ...options },
      );
    },
    decode: (bytes, options) => BloomierFilter.decode(bytes, options),
    // 0 is a value; "no" is undefined.
    answers: (filter, keys) =>
      keys.map((key) => filter.get(key)).map((value) => value !== undefined && [value]),
  },
  golden,
);

test('the golden bytes mean what the format says', () => {
  const bytes = Uint8Array.from(golden.hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const view = new DataView(bytes.buffer);
  expect(view.getUint32(16, true)).toBe(20);
  const [checkBits, valueBits, attempt] = bytes.subarray(20, 23);
  const segments = view.getUint32(23, true) & 0xffffff;
  const segmentLength = view.getUint32(26, true) & 0xffffff;
  expect([checkBits, valueBits, attempt, segments, segmentLength]).toEqual([7, 5, 0, 1, 12]);
  const width = checkBits + 2;
  const stride = width + valueBits;
  const table = { width, attempt, segments, segmentLength, stride };
  const payload = bytes.subarray(29, -4);
  expect(payload.length).toBe((4 * 12 * stride) / 8);
  const filter = BloomierFilter.decode(bytes);
  const byReference = (key: string) => {
    const hash = referenceForge64(keyBytes(key), 0n);
    const answer = referenceAnswer(table, payload, hash);
    if (answer > 3) return undefined;
    return referenceField(payload, referenceSlots(table, hash).slots[answer] * stride + width, valueBits);
  };
  for (let i = 0; i < 20; i++) expect(byReference(`key-${i}`)).toBe(goldenValue(i));
  for (let i = 0; i < 2000; i++) expect(filter.get(`other-${i}`)).toBe(byReference(`other-${i}`));
});

inBothKernels('BloomierFilter: values', (kernel) => {
  test('every value width and check width: each key has its value, by every way to ask', () => {
    const random = new Random(11);
    const keys = [
      ...new Set(awkwardStrings(400, 12).map((key) => key.replaceAll(/[\n\ud800-\udfff]/g, '_'))),
    ];
    for (const valueBits of [1, 2, 7, 8, 13, 16, 24, 31, 32]) {
      for (const checkBits of [1, 6, 8, 14, 22, 30]) {
        const values = keys.map(() => random.bits() >>> (32 - valueBits));
        const filter = BloomierFilter.fromColumns(keys, values, { valueBits, checkBits, seed: checkBits });
        const { scheme } = filter;
        const what = `${valueBits} value bits, ${checkBits} check bits`;
        expect(
          keys.map((key) => filter.get(key)),
          what,
        ).toEqual(values);
        expect(keys.map((key) => filter.getHash(hashKey(key, scheme)))).toEqual(values);
        const batches = [keys, keys.values(), packKeys(keys), hashKeys(keys, scheme)];
        for (const batch of batches) expect([...filter.getMany(batch)], what).toEqual(values);
        expect([...filter.getMany({ lines: textEncoder().encode(keys.join('\n')) })]).toEqual(values);
        const others = counterKeys(300, 0, 5);
        const answers = filter.getMany(others);
        expect([...filter.hasMany(others)]).toEqual(
          [...answers].map((value) => (Number.isNaN(value) ? 0 : 1)),
        );
        for (let i = 0; i < 300; i++) {
          const key = others.bytes.subarray(8 * i, 8 * i + 8);
          expect(filter.get(key) ?? Number.NaN).toBe(answers[i]);
        }
      }
    }
  });

  test('against a Map: thousands of random commands', () => {
    const random = new Random(79);
    const word = () => `key ${random.below(1500)}`;
    let options: BloomierFilterOptions = { valueBits: 4 };
    let model = new Map<string, number>();
    let filter = BloomierFilter.from([], options);
    const value = () => random.bits() >>> (32 - options.valueBits);
    for (let step = 0; step < withEffort(10_000); step++) {
      const command = random.below(200);
      const keys = [...model.keys()];
      if (command < 2 || model.size === 0) {
        options = { valueBits: 1 + random.below(32), checkBits: 1 + random.below(30), seed: random.below(9) };
        model = new Map(
          Array.from({ length: random.below(random.pick([3, 30, 500])) }, () => [word(), value()]),
        );
        filter = BloomierFilter.from(model, options);
        expect(filter.size).toBe(model.size);
      } else if (command < 4) {
        filter = random.below(2) === 0 ? BloomierFilter.decode(filter.encode()) : filter.copy();
      } else if (command < 80) {
        const key = random.pick(keys);
        const next = value();
        model.set(key, next);
        expect(
          random.below(2) === 0 ? filter.set(key, next) : filter.setHash(hashKey(key, filter.scheme), next),
        ).toBe(filter);
      } else if (command < 90) {
        const some = Array.from({ length: random.below(20) }, () => random.pick(keys));
        const values = some.map(value);
        for (const [i, key] of some.entries()) model.set(key, values[i]);
        filter.setMany(some, values);
      } else if (command < 96) {
        expect([...filter.getMany(keys)]).toEqual([...model.values()]);
        // What was set before leaves no trace.
        if (command === 90) expect(filter.encode()).toEqual(BloomierFilter.from(model, options).encode());
      } else {
        const key = word();
        const found = filter.get(key);
        if (model.has(key)) expect(found).toBe(model.get(key));
        else if (found === undefined) expect(() => filter.set(key, 0)).toThrow(RangeError);
        expect(filter.has(key)).toBe(found !== undefined);
      }
    }
    expect([...filter.getMany([...model.keys()])]).toEqual([...model.values()]);
  });

  const grid = [1, 2, 20, 64, 1000, 50_000].flatMap((n) => [1, 4, 8, 13].map((bits) => [n, bits] as const));
  test.each(grid)(
    '%i keys, %i check bits: other keys get a value at the rate 2^-checkBits',
    (n, checkBits) => {
      const questions = withEffort(kernel === 'wasm' ? 300_000 : 30_000);
      const filters = n > 1000 ? 1 : 20;
      let found = 0;
      for (let seed = 0; seed < filters; seed++) {
        const keys = counterKeys(n, 0, 2 * seed + 1);
        const filter = BloomierFilter.fromColumns(keys, new Uint8Array(n), { valueBits: 2, checkBits, seed });
        expect(filter.falsePositiveRate).toBe(2 ** -checkBits);
        const answers = filter.hasMany(counterKeys(questions / filters, 0, 2 * seed + 2));
        for (let i = 0; i < answers.length; i++) found += answers[i];
      }
      expectBinomial(found, questions, 2 ** -checkBits, `${n} keys, ${checkBits} check bits`);
    },
  );
});

describe('BloomierFilter', () => {
  const options = { valueBits: 4 };

  test('reads like a Map that is given all at once', () => {
    const years = BloomierFilter.from(
      new Map([
        ['So What', 9],
        ['Blue in Green', 3],
      ]),
      options,
    );
    expect(years.get('So What')).toBe(9);
    expect(years.get('Naima')).toBeUndefined();
    expect(years.set('So What', 0).get('So What')).toBe(0);
    expect(years.get('Blue in Green')).toBe(3);
    expect([...years.getMany(['So What', 'Naima'])]).toEqual([0, Number.NaN]);
    expect(String(years)).toBe('BloomierFilter(2 keys, 4 value bits, 8 check bits, 20 slots, forge64/0)');
    expect('add' in years || 'delete' in years || 'entries' in years).toBe(false);
  });

  test('bits per key: 1.07 times check, index and value bits at a million keys, 1.4 at a thousand', () => {
    for (const [n, most] of [
      [1000, 1.4],
      [100_000, 1.13],
      [1_000_000, 1.08],
    ]) {
      const keys = counterKeys(n);
      const values = Uint8Array.from({ length: n }, (_, i) => i % 251);
      const filter = BloomierFilter.fromColumns(keys, values, { valueBits: 8, checkBits: 8 });
      expect(filter.bitsPerKey).toBe((8 * filter.byteLength) / n);
      expect(filter.bitsPerKey / (8 + 2 + 8)).toBeLessThan(most);
      expect((8 * filter.encode().length) / n / (8 + 2 + 8)).toBeLessThan(most);
      const found = filter.getMany(keys);
      expect(found.findIndex((value, i) => value !== values[i])).toBe(-1);
    }
  });

  test('the check by its bits or by the rate', () => {
    const bitsFor = (falsePositiveRate: number) =>
      BloomierFilter.from([], { ...options, falsePositiveRate }).checkBits;
    expect(BloomierFilter.from([], options).checkBits).toBe(8);
    expect([0.9, 0.5, 0.1, 0.01, 1e-3, 2 ** -30].map(bitsFor)).toEqual([1, 1, 4, 7, 10, 30]);
    expect(() => bitsFor(2 ** -31)).toThrow(/at least 2\^-30 in a BloomierFilter/);
    expect(() => bitsFor(1)).toThrow(/strictly between 0 and 1, got 1/);
    const from = (changed: object) => () => BloomierFilter.from([], { ...options, ...changed });
    expect(from({ checkBits: 8, falsePositiveRate: 0.1 })).toThrow(
      /expected checkBits or falsePositiveRate, got both/,
    );
    expect(from({ checkBits: 31 })).toThrow(/Cannot use checkBits: expected an integer from 1 to 30, got 31/);
    expect(from({ valueBits: 33 })).toThrow(/Cannot use valueBits: expected an integer from 1 to 32, got 33/);
    expect(from({ valueBits: undefined })).toThrow(/Cannot use valueBits: expected an integer/);
    expect(from({ rate: 1 })).toThrow(/got option 'rate'/);
    expect(() => BloomierFilter.from([], undefined as never)).toThrow(TypeError);
  });

  test('values that do not fit are named', () => {
    const from = (value: unknown) => () =>
      BloomierFilter.from(
        [
          ['a', 1],
          ['b', value as number],
        ],
        options,
      );
    expect(from(16)).toThrow('Cannot use value 1 of 4 bits: expected an integer from 0 to 15, got 16');
    for (const value of [-1, 0.5, Number.NaN, 2 ** 40]) expect(from(value), `${value}`).toThrow(RangeError);
    for (const value of [undefined, null, '1', 1n]) expect(from(value)).toThrow(TypeError);
    const filter = BloomierFilter.from([['a', 1]], options);
    expect(() => filter.set('a', 16)).toThrow(
      'Cannot use a value of 4 bits: expected an integer from 0 to 15, got 16',
    );
    expect(() => filter.setMany(['a'], [99])).toThrow(/value 0 of 4 bits: .*got 99/);
    expect(() => filter.setMany(['a'], [1, 2])).toThrow('got 2 values for 1 keys');
    expect(() => BloomierFilter.fromColumns(['a', 'b'], [1], options)).toThrow('got 1 values for 2 keys');
    expect(() => BloomierFilter.fromColumns(['a'], '1' as never, options)).toThrow(TypeError);
    expect(() => BloomierFilter.fromColumns(['a'], undefined as never, options)).toThrow(TypeError);
    expect(() => BloomierFilter.from(['ab'] as never, options)).toThrow(
      /Cannot read entry 0: expected a pair of a key and a value, got string/,
    );
    expect(() => BloomierFilter.from({} as never, options)).toThrow(/fromColumns/);
    expect(filter.get('a')).toBe(1);
  });

  test('a key may come twice with one value, and is refused with two', () => {
    const twice = BloomierFilter.from(
      [
        ['a', 1],
        ['b', 2],
        ['a', 1],
      ],
      options,
    );
    expect(twice.size).toBe(2);
    expect(
      twice.equals(
        BloomierFilter.from(
          [
            ['b', 2],
            ['a', 1],
          ],
          options,
        ),
      ),
    ).toBe(true);
    expect(() =>
      BloomierFilter.from(
        [
          ['a', 1],
          ['b', 2],
          ['a', 3],
        ],
        options,
      ),
    ).toThrow('Cannot use entry 0: expected one value for its key, got 1 and later 3');
    expect(() => BloomierFilter.fromColumns([42, 42n], [0, 1], options)).toThrow(RangeError);
  });

  test('a key that is certainly not in the set is not set, and a batch with one changes nothing', () => {
    const filter = BloomierFilter.from(
      [
        ['a', 1],
        ['b', 2],
      ],
      { ...options, checkBits: 30 },
    );
    const before = filter.encode();
    expect(() => filter.set('c', 3)).toThrow(/not in the set/);
    expect(() => filter.setHash(hashKey('c'), 3)).toThrow(RangeError);
    expect(() => filter.setHash(hashKey('a', { seed: 1 }), 3)).toThrow(
      /Cannot use a hash: expected one by filter.scheme/,
    );
    expect(() => filter.setMany(['a', 'c', 'b'], [5, 6, 7])).toThrow(
      'Cannot set the value of key 1: expected a key of the set, got one that is not in the set',
    );
    expect(filter.encode()).toEqual(before);
    expect(() => BloomierFilter.from([], options).set('a', 1)).toThrow(RangeError);
  });

  test('a copy is independent', () => {
    const filter = BloomierFilter.from([['a', 1]], options);
    const copy = filter.copy().set('a', 2);
    expect([filter.get('a'), copy.get('a'), filter.equals(copy)]).toEqual([1, 2, false]);
  });

  test('a frame that contradicts itself is refused', () => {
    const sound = BloomierFilter.from(
      [
        ['a', 1],
        ['b', 2],
      ],
      { valueBits: 3, checkBits: 4 },
    ).encode();
    const refused = (change: (bytes: Uint8Array) => void): string => {
      const bytes = Uint8Array.from(sound);
      change(bytes);
      const sum = referenceForge64(bytes.subarray(0, -4), 0n) & 0xffffffffn;
      for (let i = 0; i < 4; i++) bytes[bytes.length - 4 + i] = Number((sum >> BigInt(8 * i)) & 255n);
      try {
        BloomierFilter.decode(bytes);
      } catch (error) {
        if (error instanceof FrameError) return error.code;
        throw error;
      }
      return 'none';
    };
    expect(refused(() => {})).toBe('none');
    expect(refused((b) => (b[6] = 1))).toBe('parameters');
    expect(refused((b) => (b[16] = 0))).toBe('parameters');
    expect(refused((b) => (b[20] = 0))).toBe('parameters');
    expect(refused((b) => (b[20] = 31))).toBe('parameters');
    expect(refused((b) => (b[21] = 0))).toBe('parameters');
    expect(refused((b) => (b[21] = 33))).toBe('parameters');
    expect(refused((b) => (b[22] = 64))).toBe('parameters');
    expect((20 * 9) % 8).toBe(4); // half of the last byte is not used
    expect(refused((b) => (b[b.length - 5] |= 0x80))).toBe('payload');
  });
});
