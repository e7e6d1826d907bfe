import { DCSO, DCSO_BROKEN, DCSO_GZIP, FLEUR_HANG, KEYS } from '@bloomery/testkit/golden/foreign-files';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { DcsoFilter } from './dcso.ts';
import { beginSequence, nextInSequence } from './hashes/dcso-generator.ts';
import { fnv1 } from './hashes/fnv1.ts';
import { keyWords, loadKey } from './shared/foreign-key.ts';
import { FormatError } from './shared/format-error.ts';
import { gzip } from './shared/gzip.ts';
import { r } from './shared/int64.ts';

const DATA = DCSO.subarray(48 + 1200);

foreignContract<string | Uint8Array>({
  name: 'DCSO',
  format: 'dcso',
  file: DCSO,
  headerLength: 48,
  decode: DcsoFilter.decode,
  keys: KEYS,
  absent: (i) => `absent-${i}`,
  probe: 'x',
  bitBytes: 1200,
  openEnded: true, // what follows the bits is data
  wholePrefix: (length) => length >= 48 + 1200,
});

test('the same keys give the file of the bloom command, data included', () => {
  const filter = DcsoFilter.create({ capacity: 1000, falsePositiveRate: 0.01, data: DATA });
  for (const key of KEYS) filter.add(key);
  expect(filter.encode()).toEqual(DCSO);
  expect([filter.bits, filter.hashes, filter.size]).toEqual([9585, 7, 999]);
  expect(String.fromCharCode(...filter.data)).toBe('meta: {"source":"anchors"}\n');
});

test('the test vector of DCSO/bloom, bloom_test.go: the bits of "bar" among 958,505', () => {
  const filter = DcsoFilter.create({ capacity: 100_000, falsePositiveRate: 0.01 });
  expect([filter.bits, filter.hashes]).toEqual([958_505, 7]);
  expect(filter.add('bar')).toBe(true);
  const bits = filter.encode().subarray(48);
  const found: number[] = [];
  for (let i = 0; i < 8 * bits.length; i++) if ((bits[i >> 3] >> (i & 7)) & 1) found.push(i);
  expect(found).toEqual([20311, 36825, 412501, 835777, 658914, 853361, 307361].sort((a, b) => a - b));
});

test('FNV-1: the vectors of its authors (draft-eastlake-fnv, appendix C)', () => {
  const hash = (key: string) => {
    const out = new Int32Array(2);
    const length = loadKey(key);
    fnv1(keyWords(), length, out);
    return (BigInt(out[1] >>> 0) << 32n) | BigInt(out[0] >>> 0);
  };
  expect(hash('')).toBe(0xcbf29ce484222325n);
  expect(hash('a')).toBe(0xaf63bd4c8601b7ben);
  expect(hash('foobar')).toBe(0x340d8765a4dda9c2n);
});

test('the sequence of hashes is exact, also where no key will ever lead', () => {
  const prime = 2n ** 64n - 59n;
  const random = new Random(6);
  const starts = Array.from({ length: 61 }, (_, i) => 2n ** 64n - BigInt(i + 1));
  for (let i = 0; i < 500; i++)
    starts.push((BigInt(random.bits() >>> 0) << 32n) | BigInt(random.bits() >>> 0));
  // Numbers whose product with g lies in the last 59 below 2^64.
  const inverse = inverseOf(18446744073709550147n);
  for (let i = 1n; i <= 60n; i++) starts.push(BigInt.asUintN(64, -i * inverse));
  for (const start of starts) {
    let expected = start % prime;
    beginSequence(Number(BigInt.asIntN(32, start)), Number(BigInt.asIntN(32, start >> 32n)));
    for (let step = 0; step < 5; step++) {
      expect((BigInt(r[1] >>> 0) << 32n) | BigInt(r[0] >>> 0)).toBe(expected);
      expected = BigInt.asUintN(64, expected * 18446744073709550147n) % prime;
      nextInSequence();
    }
  }
});

/** Inverse of an odd number mod 2^64, by Newton's iteration. */
function inverseOf(odd: bigint): bigint {
  let x = odd;
  for (let i = 0; i < 6; i++) x = BigInt.asUintN(64, x * (2n - odd * x));
  return x;
}

describe('gzip', () => {
  test('reads the file that the command wrote, compressed or not', async () => {
    const filter = await DcsoFilter.decodeMaybeGzip(DCSO_GZIP);
    expect(filter.encode()).toEqual(DCSO.subarray(0, 1248));
    expect((await DcsoFilter.decodeMaybeGzip(DCSO)).encode()).toEqual(DCSO);
    expect((await DcsoFilter.decodeMaybeGzip(await filter.encodeGzip())).equals(filter)).toBe(true);
  });

  test('a compressed file is named as such to those who did not expect it', () => {
    expect(() => DcsoFilter.decode(DCSO_GZIP)).toThrow(
      /expected a plain file, got gzip: use decodeMaybeGzip/,
    );
  });

  test('output is bounded: 64 MiB of zeros in 64 KiB stop at the limit', async () => {
    const bomb = await gzip(new Uint8Array(2 ** 26));
    expect(bomb.length).toBeLessThan(2 ** 17);
    const error = await DcsoFilter.decodeMaybeGzip(bomb, { maxBytes: 2 ** 20 }).catch((e) => e);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.code).toBe('limit');
  });

  test('the limit holds for all that comes out, to the byte', async () => {
    expect((await DcsoFilter.decodeMaybeGzip(DCSO_GZIP, { maxBytes: 1248 })).bits).toBe(9585);
    const error = await DcsoFilter.decodeMaybeGzip(DCSO_GZIP, { maxBytes: 1247 }).catch((e) => e);
    expect(error).toBeInstanceOf(FormatError);
    expect(error.code).toBe('limit');
  });

  test('broken ones are FormatErrors', async () => {
    for (const length of [0, 1, 2, 10, 11, 100, 600, DCSO_GZIP.length - 9, DCSO_GZIP.length - 1]) {
      const error = await DcsoFilter.decodeMaybeGzip(DCSO_GZIP.subarray(0, length)).catch((e) => e);
      expect(error, `${length} bytes`).toBeInstanceOf(FormatError);
    }
    const changed = Uint8Array.from(DCSO_GZIP);
    changed[700] ^= 1; // the checksum
    expect(await DcsoFilter.decodeMaybeGzip(changed).catch((e) => e)).toBeInstanceOf(FormatError);
  });
});

test('files that made other readers hang or crash', () => {
  const broken = errorOf(() => DcsoFilter.decode(DCSO_BROKEN)) as FormatError;
  expect(broken).toBeInstanceOf(FormatError);
  expect(broken.message).toMatch(/expected a capacity of at least 1, got 0/);
  // Its k of 2^63 and m of 0 on their own.
  const k = Uint8Array.from(DCSO_BROKEN);
  k[8] = 1;
  expect(() => DcsoFilter.decode(k)).toThrow(/expected k from 1 to 32767, got 9223372036854776000/);
  k[31] = 0;
  k[24] = 7;
  expect(() => DcsoFilter.decode(k)).toThrow(/expected m from 1 to 68719476736, got 0/);
  const hang = errorOf(() => DcsoFilter.decode(FLEUR_HANG));
  expect(hang).toBeInstanceOf(FormatError);
});

test('ones beyond m, and unknown flags, are refused', () => {
  const beyond = Uint8Array.from(DCSO);
  beyond[48 + 1199] |= 0x80;
  expect(() => DcsoFilter.decode(beyond)).toThrow(/expected no ones from bit 9585 on, got 1/);
  const poppy = Uint8Array.from(DCSO);
  poppy[1] = 1;
  expect((errorOf(() => DcsoFilter.decode(poppy)) as FormatError).code).toBe('version');
});

test('free data is bytes, and its owner is the filter', () => {
  const options = { capacity: 10, falsePositiveRate: 0.1 };
  expect(() => DcsoFilter.create({ ...options, data: 'text' as never })).toThrow(
    'Cannot use data: expected a Uint8Array, got string',
  );
  const data = Uint8Array.of(1, 2, 3);
  const filter = DcsoFilter.create({ ...options, data });
  const copy = filter.copy();
  data.fill(9);
  filter.data[0] = 7;
  expect([[...filter.data], [...copy.data]]).toEqual([
    [7, 2, 3],
    [1, 2, 3],
  ]);
  filter.data = 'text' as never;
  expect(() => filter.encode()).toThrow('Cannot use data: expected a Uint8Array, got string');
});

test('what is wrong is named', () => {
  const changed = (at: number, write: (view: DataView) => void) => {
    const bytes = Uint8Array.from(DCSO);
    write(new DataView(bytes.buffer));
    const error = errorOf(() => DcsoFilter.decode(bytes)) as FormatError;
    expect([error.code, error.offset]).toEqual(['parameters', at]);
    return error.message;
  };
  for (const rate of [0, 1, 1.5, -0.01, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(changed(16, (view) => view.setFloat64(16, rate, true))).toMatch(
      /expected a rate between 0 and 1, got/,
    );
  }
  for (const k of [0n, 32768n, 2n ** 64n - 1n]) {
    expect(changed(24, (view) => view.setBigUint64(24, k, true))).toMatch(/expected k from 1 to 32767, got/);
  }
  for (const m of [0n, 2n ** 36n + 1n]) {
    expect(changed(32, (view) => view.setBigUint64(32, m, true))).toMatch(
      /expected m from 1 to 68719476736, got/,
    );
  }
  expect(changed(40, (view) => view.setBigUint64(40, 2n ** 53n, true))).toMatch(
    /key count of at most 2\^53 - 1/,
  );
});

test('equal filters have equal parameters, bits and sizes', () => {
  const filter = DcsoFilter.decode(DCSO);
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(DCSO);
    bytes[at] = value;
    return DcsoFilter.decode(bytes);
  };
  expect(filter.equals(DcsoFilter.decode(DCSO))).toBe(true);
  expect(filter.equals(changed(DCSO.length - 1, 0))).toBe(true); // free data
  expect(filter.equals(changed(40, 1))).toBe(false); // N
  expect(filter.equals(changed(48, DCSO[48] ^ 1))).toBe(false); // a bit
  for (const at of [8, 16, 24]) {
    const other = changed(at, 5); // n, p, k
    expect(filter.equals(other)).toBe(false);
    expect(() => filter.copy().merge(other)).toThrow(/Cannot merge unlike filters/);
  }
});

test('join: the sizes are added up, the data stays', () => {
  const make = (keys: readonly string[]) => {
    const filter = DcsoFilter.create({ capacity: 1000, falsePositiveRate: 0.01, data: DATA });
    for (const key of keys) filter.add(key);
    return filter;
  };
  const halves = make(KEYS.slice(0, 500)).union(make(KEYS.slice(500)));
  expect(halves.encode().subarray(48)).toEqual(DCSO.subarray(48));
  expect(halves.size).toBe(1000);
  const other = DcsoFilter.create({ capacity: 1000, falsePositiveRate: 0.02 });
  expect(() => halves.merge(other)).toThrow(
    /Cannot merge unlike filters: DcsoFilter\(capacity 1000, rate 0.01/,
  );
});
