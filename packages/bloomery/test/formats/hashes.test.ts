/** The foreign hashes against values that others published. */

import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { murmur2, murmur64a } from '../../src/formats/hashes/murmur2.ts';
import { murmur3x64, sparkMurmur3 } from '../../src/formats/hashes/murmur3.ts';
import { ForeignBits } from '../../src/formats/shared/foreign-bits.ts';
import {
  appendByte,
  keyWords,
  loadInt32,
  loadInt64,
  loadJavaKey,
  loadKey,
  loadUtf16,
} from '../../src/formats/shared/foreign-key.ts';
import { Modulus } from '../../src/formats/shared/modulus.ts';

/**
 * SMHasher's VerificationTest: hashes of 256 keys under 256 seeds, hashed together; the first four
 * bytes.
 */
function verification(hash: (bytes: Uint8Array, seed: number) => Uint8Array): number {
  const width = hash(new Uint8Array(0), 0).length;
  const all = new Uint8Array(256 * width);
  for (let i = 0; i < 256; i++) {
    all.set(
      hash(
        Uint8Array.from({ length: i }, (_, j) => j),
        256 - i,
      ),
      i * width,
    );
  }
  return new DataView(hash(all, 0).buffer).getUint32(0, true);
}

test('SMHasher’s verification values (main.cpp): Murmur3F 6384BA69, Murmur2B 1F0D3804, Murmur2 27864C1E', () => {
  const murmur3 = (bytes: Uint8Array, seed: number) => {
    const out = new Int32Array(4);
    murmur3x64(dirtyWords(bytes), bytes.length, seed, out);
    return new Uint8Array(out.buffer);
  };
  expect(verification(murmur3)).toBe(0x6384ba69);
  const murmur2x64 = (bytes: Uint8Array, seed: number) => {
    const out = new Int32Array(2);
    murmur64a(dirtyWords(bytes), bytes.length, seed, 0, out);
    return new Uint8Array(out.buffer);
  };
  expect(verification(murmur2x64)).toBe(0x1f0d3804);
  const murmur2x32 = (bytes: Uint8Array, seed: number) =>
    new Uint8Array(Int32Array.of(murmur2(dirtyWords(bytes), bytes.length, seed)).buffer);
  expect(verification(murmur2x32)).toBe(0x27864c1e);
});

test('Spark’s Murmur3 is MurmurHash3_x86_32 for whole words, and signed bytes for the rest', () => {
  // SMHasher's MurmurHash3_x86_32 of 'aaaa' under 0x9747b28c, and of nothing under 1.
  const aaaa = new Uint8Array(4).fill(0x61);
  expect(sparkMurmur3(dirtyWords(aaaa), 4, 0x9747b28c) >>> 0).toBe(0x5a97808a);
  expect(sparkMurmur3(dirtyWords(new Uint8Array(0)), 0, 1) >>> 0).toBe(0x514e28b7);
  // A byte of the tail is mixed in like the word of its signed value.
  const byte = sparkMurmur3(dirtyWords(Uint8Array.of(0xf0)), 1, 42);
  const word = sparkMurmur3(Int32Array.of(0xfffffff0 | 0), 4, 42);
  expect(byte).not.toBe(word); // the lengths differ …
  expect(unfinished(byte) ^ 1).toBe(unfinished(word) ^ 4); // … and nothing else
});

test('the modulus is exact up to 2^36', () => {
  const random = new Random(5);
  const moduli = [1, 2, 3, 63, 64, 9585, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 36 - 1, 2 ** 36];
  for (let i = 0; i < 300; i++) moduli.push(1 + random.below(2 ** random.below(36)) + random.below(1000));
  for (const m of moduli) {
    const modulus = new Modulus(m);
    const values: [number, number][] = Array.from({ length: 100 }, () => [random.bits(), random.bits()]);
    values.push([0, 0], [-1, -1], [0, -1], [-1, 0], [0x7fffffff, -1]);
    // Multiples of m and their neighbours: where an estimated quotient would be off by one.
    for (let i = 0; i < 50; i++) {
      const top = BigInt.asUintN(64, ((1n << 64n) / BigInt(m) - BigInt(random.below(1000))) * BigInt(m));
      for (const value of [top - 1n, top, top + 1n]) {
        values.push([Number(BigInt.asIntN(32, value >> 32n)), Number(BigInt.asIntN(32, value))]);
      }
    }
    for (const [high, low] of values) {
      const value = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
      const got = modulus.of(high, low);
      if (BigInt(got) !== value % BigInt(m)) expect.fail(`${value} mod ${m}: got ${got}`);
    }
  }
  expect(() => new Modulus(0)).toThrow(RangeError);
  expect(() => new Modulus(2 ** 36 + 1)).toThrow(RangeError);
});

test('keys become the bytes that the programs hash', () => {
  const bytes = (length: number) => [...new Uint8Array(keyWords().buffer, 0, length)];
  expect(bytes(loadKey('aé\ud800'))).toEqual([0x61, 0xc3, 0xa9, 0xef, 0xbf, 0xbd]);
  expect(bytes(loadJavaKey('aé\ud800'))).toEqual([0x61, 0xc3, 0xa9, 0x3f]);
  expect(bytes(loadJavaKey('\udc00\ud800\ud83d\ude00'))).toEqual([0x3f, 0x3f, 0xf0, 0x9f, 0x98, 0x80]);
  expect(bytes(loadUtf16('aé\ud800'))).toEqual([0x61, 0, 0xe9, 0, 0, 0xd8]);
  expect(bytes(loadInt32(-2))).toEqual([0xfe, 255, 255, 255]);
  expect(bytes(loadInt64(-2))).toEqual([0xfe, 255, 255, 255, 255, 255, 255, 255]);
  expect(bytes(loadInt64(-(2n ** 63n)))).toEqual([0, 0, 0, 0, 0, 0, 0, 0x80]);
  expect(bytes(appendByte(loadKey(Uint8Array.of(7, 8)), 1))).toEqual([7, 8, 1]);
  for (const length of [4111, 4112, 4113, 10_000]) {
    expect(bytes(appendByte(loadKey(new Uint8Array(length).fill(9)), 1)).slice(-2)).toEqual([9, 1]);
    expect(bytes(loadUtf16('x'.repeat(length)))).toHaveLength(2 * length);
    expect(loadKey('€'.repeat(length))).toBe(3 * length);
  }
  // A key that fills the buffer to its last byte.
  const full = 4 * keyWords().length;
  expect(bytes(appendByte(loadKey(new Uint8Array(full).fill(9)), 1))).toHaveLength(full + 1);
  expect(bytes(full + 1).slice(-2)).toEqual([9, 1]);
  expect(() => loadKey(5 as never)).toThrow('Cannot use the key: expected a string or a Uint8Array, got 5');
  expect(() => loadInt32(2 ** 31)).toThrow(/integer from -2\^31/);
  expect(() => loadInt64(0.5)).toThrow(/safe integer/);
  expect(() => loadInt64(2n ** 63n)).toThrow(/bigint from/);
});

test('bits beyond 2^32 have places of their own', () => {
  // Half a gigabyte, of which only two pages are touched.
  for (const order of ['bytes', 'big-endian words'] as const) {
    const bits = ForeignBits.zeros(2 ** 29 + 64, order);
    const index = 2 ** 32 + 13;
    expect([bits.set(index), bits.set(index)]).toEqual([true, false]);
    expect([bits.has(index), bits.has(13), bits.has(index - 2 ** 31)]).toEqual([true, false, false]);
    expect(bits.byte(2 ** 29 + (order === 'bytes' ? 1 : 6))).toBe(1 << 5);
    expect(bits.has(8 * (2 ** 29 + 64))).toBe(false);
  }
});

/** The key as words, with other bytes behind it that must not matter. */
function dirtyWords(bytes: Uint8Array): Int32Array {
  const words = new Int32Array(Math.ceil(bytes.length / 4) + 4).fill(-1);
  new Uint8Array(words.buffer).set(bytes);
  return words;
}

/** Undoes the finaliser of MurmurHash3_x86_32. */
function unfinished(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x7ed1b41d);
  h ^= (h >>> 13) ^ (h >>> 26);
  h = Math.imul(h, 0xa5cb9243);
  return h ^ (h >>> 16);
}
