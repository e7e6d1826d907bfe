import { GO_BINARY, GO_JSON, KEYS } from '@bloomery/testkit/golden/foreign-files';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { GoBloomFilter } from './go-bloom.ts';
import { base64Length, decodeBase64, encodeBase64 } from './shared/base64.ts';
import type { FormatError } from './shared/format-error.ts';

const common = {
  format: 'go-bloom',
  decode: GoBloomFilter.decode,
  keys: KEYS,
  absent: (i: number) => `absent-${i}`,
  probe: 'x',
  bitBytes: 1200,
} as const;

describe('binary', () => {
  foreignContract<string | Uint8Array>({ ...common, name: 'Go, binary', file: GO_BINARY, headerLength: 24 });
});

describe('JSON', () => {
  foreignContract<string | Uint8Array>({
    ...common,
    name: 'Go, JSON',
    file: GO_JSON,
    headerLength: 40,
    manyForms: true,
  });
});

test('the same keys give the files of Go', () => {
  const filter = GoBloomFilter.create({ capacity: 1000, falsePositiveRate: 0.01 });
  for (const key of KEYS) filter.add(key);
  expect(filter.encode()).toEqual(GO_BINARY);
  expect(filter.encode('json')).toEqual(GO_JSON);
  expect([filter.bits, filter.hashes]).toEqual([9586, 7]);
  expect(GoBloomFilter.decode(GO_JSON).encode('binary')).toEqual(GO_BINARY);
  expect(Math.abs(filter.estimatedSize() - 1000)).toBeLessThan(50);
});

test('the switches of the Go program are seen: little-endian words, the other base64', () => {
  const little = Uint8Array.from(GO_BINARY);
  for (let at = 16; at < little.length; at += 8) little.subarray(at, at + 8).reverse();
  const filter = GoBloomFilter.decode(little);
  expect(filter.byteOrder).toBe('little-endian');
  expect(KEYS.every((key) => filter.has(key))).toBe(true);
  expect(filter.encode()).toEqual(little);
  expect((errorOf(() => GoBloomFilter.decode(little.subarray(0, -8))) as FormatError).code).toBe('truncated');
  // The bits are the same, but their order differs. Go could not merge these either without reading
  // both alike.
  expect(() => filter.merge(GoBloomFilter.decode(GO_BINARY))).toThrow(/little-endian.*big-endian/);

  const json = String.fromCharCode(...GO_JSON);
  const standard = bytesOf(json.replace(/-/g, '+').replace(/_/g, '/'));
  expect(standard).not.toEqual(GO_JSON);
  const other = GoBloomFilter.decode(standard);
  expect(other.base64).toBe('standard');
  expect(other.encode()).toEqual(standard);
  expect(KEYS.every((key) => other.has(key))).toBe(true);
  expect(GoBloomFilter.decode(filter.encode('json')).byteOrder).toBe('little-endian');
});

test('FromWithM: indices range over m, whatever the length of the bitset', () => {
  const make = (m: number, length: number) => {
    const bytes = new Uint8Array(24 + 8 * Math.ceil(length / 64)).fill(0xff, 24);
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, BigInt(m));
    view.setBigUint64(8, 3n);
    view.setBigUint64(16, BigInt(length));
    return bytes;
  };
  const longer = GoBloomFilter.decode(make(1000, 1024));
  expect([longer.bits, longer.length, longer.has('x'), longer.estimatedFalsePositiveRate()]).toEqual([
    1000,
    1024,
    true,
    1,
  ]);
  expect(longer.encode()).toEqual(make(1000, 1024));
  const shorter = GoBloomFilter.decode(make(2 ** 36, 64));
  expect(shorter.has('x')).toBe(false);
  expect(() => shorter.add('x')).toThrow(/expected a bitset of 68719476736 bits, got 64/);
  // A bit short: the words would have room for it, the bitset has not.
  const bytes = make(64, 63).fill(0, 24);
  expect(() => GoBloomFilter.decode(bytes).add('x')).toThrow(/expected a bitset of 64 bits, got 63/);
  expect(longer.estimatedSize()).toBe(Number.POSITIVE_INFINITY);
  const longest = GoBloomFilter.decode(make(1000, 1088));
  expect(longer.equals(longest)).toBe(false);
  expect(() => longer.merge(longest)).toThrow(/bitset of 1024.*bitset of 1088/);
  expect(() => longer.merge(GoBloomFilter.decode(make(1001, 1024)))).toThrow(/1000 bits.*1001 bits/);
});

test('a filter of one bit: full is full', () => {
  const filter = GoBloomFilter.create({ capacity: 1, falsePositiveRate: 0.9 });
  expect([filter.bits, filter.estimatedSize()]).toEqual([1, 0]);
  filter.add('x');
  expect(filter.estimatedSize()).toBe(Number.POSITIVE_INFINITY);
});

test('JSON that is none, or says nonsense', () => {
  const code = (text: string) => (errorOf(() => GoBloomFilter.decode(bytesOf(text))) as FormatError).code;
  expect(code('{')).toBe('not-this-format');
  expect(code('{}')).toBe('parameters');
  expect(code('{"m":1.5,"k":1,"b":""}')).toBe('parameters');
  expect(code('{"m":64,"k":1e9,"b":""}')).toBe('parameters');
  expect(code('{"m":64,"k":1,"b":""}')).toBe('payload');
  expect(code('{"m":64,"k":1,"b":7}')).toBe('payload');
  expect(code('{"m":64,"k":1,"b":"AAAA"}')).toBe('payload');
  expect(code('{"m":64,"k":1,"b":"AAAAAAAAAEA="}')).toBe('truncated');
  expect(code('{"m":64,"k":1,"b":"AAAAAAAAAEAAAAAAAAAA!A=="}')).toBe('payload');
  // Values that cannot be shown: no text of their own, too deep, too long.
  expect(code('{"m":{"toString":1,"valueOf":1},"k":1,"b":""}')).toBe('parameters');
  expect(code('{"m":64,"k":{"toString":null},"b":""}')).toBe('parameters');
  expect(code(`{"m":${'['.repeat(50_000)}${']'.repeat(50_000)},"k":1,"b":""}`)).toBe('parameters');
  const long = errorOf(() => GoBloomFilter.decode(bytesOf(`{"m":"${'x'.repeat(10_000)}"}`))) as FormatError;
  expect(long.message).toBe(
    'Cannot read go-bloom filter: expected m from 1 to 68719476736, got string (at byte 0)',
  );
  expect(code(`{${'['.repeat(100_000)}`)).toBe('not-this-format');
  expect(code(`{"m":${'['.repeat(100_000)}`)).toBe('not-this-format');
});

test('a one beyond the end of the bitset is refused', () => {
  const bytes = Uint8Array.from(GO_BINARY);
  bytes[bytes.length - 8] |= 0x80; // bit 63 of the last word; the length is 9586 = 64 · 149 + 50
  expect(() => GoBloomFilter.decode(bytes)).toThrow(/expected no ones from bit 9586 on, got 1/);
});

test('long keys: a byte 1 is put behind them', () => {
  const filter = GoBloomFilter.create({ capacity: 10, falsePositiveRate: 1e-6 });
  for (const length of [0, 15, 16, 4095, 4096, 4111, 4112, 4113, 9999]) {
    const key = new Uint8Array(length).fill(7);
    filter.add(key);
    expect(filter.has(key)).toBe(true);
  }
  expect(filter.has(new Uint8Array(14).fill(7))).toBe(false);
});

test('base64: RFC 4648, section 10, and strictness', () => {
  for (const [text, encoded] of [
    ['', ''],
    ['f', 'Zg=='],
    ['fo', 'Zm8='],
    ['foo', 'Zm9v'],
    ['foob', 'Zm9vYg=='],
    ['fooba', 'Zm9vYmE='],
    ['foobar', 'Zm9vYmFy'],
  ]) {
    expect(encodeBase64(bytesOf(text), 'url')).toBe(encoded);
    const target = new Uint8Array(base64Length(encoded));
    expect(decodeBase64(encoded, 'standard', target)).toBe(-1);
    expect(target).toEqual(bytesOf(text));
  }
  const random = new Random(8);
  for (let i = 0; i < 200; i++) {
    const bytes = random.bytes(i < 195 ? random.below(100) : 7000 + random.below(9));
    for (const alphabet of ['url', 'standard'] as const) {
      const text = encodeBase64(bytes, alphabet);
      const target = new Uint8Array(base64Length(text));
      expect(decodeBase64(text, alphabet, target)).toBe(-1);
      expect(target).toEqual(bytes);
    }
  }
  expect(base64Length('abc')).toBe(-1);
  const wrong = (text: string) => decodeBase64(text, 'url', new Uint8Array(base64Length(text)));
  expect(wrong('Zh==')).toBe(1); // bits beyond the last byte
  expect(wrong('Zm9=')).toBe(2);
  expect(wrong('ab+c')).toBe(2);
  expect(wrong('a=bc')).toBe(1);
  expect(wrong('abc\u0100')).toBe(3);
});

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
