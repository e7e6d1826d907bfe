import { Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { awkwardStrings } from '../../../test/keys.ts';
import { referenceForge64, referenceXxh64 } from '../../../test/reference.ts';
import { verificationValue } from '../../../test/verification-value.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { parquetHash } from '../../hashing/xxh64-scheme.ts';
import { keyBytes } from '../../keys/key.ts';
import { packKeys } from '../../keys/packed-keys.ts';
import { kernelInUse, useKernel } from '../wasm/kernel-choice.ts';
import { hashKey } from './hash-key.ts';
import { hashKeys } from './hash-keys.ts';

const value = ({ low, high }: { low: number; high: number }) => (BigInt(high) << 32n) | BigInt(low);
const sipBytes = Uint8Array.from({ length: 16 }, (_, i) => i);
const sipKey = new SecretKey(sipBytes);

describe.each(['wasm', 'javascript'] as const)('hashing in %s', (kernel) => {
  beforeAll(() => useKernel(kernel));
  afterAll(() => useKernel('auto'));

  test('runs in the kernel that was asked for', () => {
    expect(kernelInUse()).toBe(kernel);
  });

  // xxHash's own sanity check: a pseudo-random buffer, prefixes of it.
  test.each([
    [0, 0xef46db3751d8e999n],
    [1, 0xe934a84adb052768n],
    [4, 0x9136a0dca57457een],
    [14, 0x8282dcc4994e35c8n],
    [222, 0xb641ae8cb691c174n],
  ])('XXH64 has the published value for %i bytes', (length, expected) => {
    const buffer = new Uint8Array(222);
    let generator = 2654435761n;
    for (let i = 0; i < buffer.length; i++) {
      buffer[i] = Number(generator >> 56n);
      generator = BigInt.asUintN(64, generator * 11400714785074694797n);
    }
    expect(value(hashKey(buffer.subarray(0, length), parquetHash()))).toBe(expected);
  });

  // Made by an implementation in C++.
  test.each([
    ['', 0, 0x2abdcf873639aecbn],
    ['a', 0, 0x30ffbeac30a6c05an],
    ['https://example.org/a/b/c/d/e/f', 1, 0x146fdbd33a5795e7n],
  ])('Forge64 of %j with seed %i', (text, seed, expected) => {
    expect(value(hashKey(text, { seed }))).toBe(expected);
  });

  test('Forge64 has SMHasher’s verification value EB6DA71F', () => {
    expect(verificationValue((bytes, seed) => value(hashKey(bytes, { seed })))).toBe(0xeb6da71f);
  });

  test('XXH64 has SMHasher’s verification value 024B7CF4', () => {
    const hash = 'xxh64';
    expect(verificationValue((bytes, seed) => value(hashKey(bytes, { hash, seed })))).toBe(0x024b7cf4);
  });

  // The first 16 vectors of the SipHash reference implementation: key 00..0f, message 00..(length -
  // 1).
  test.each(
    [
      '310e0edd47db6f72',
      'fd67dc93c539f874',
      '5a4fa9d909806c0d',
      '2d7efbd796666785',
      'b7877127e09427cf',
      '8da699cd64557618',
      'cee3fe586e46c9cb',
      '37d1018bf50002ab',
      '6224939a79f5f593',
      'b0e4a90bdf82009e',
      'f3b9dd94c5bb5d7a',
      'a7ad6b22462fb3f4',
      'fbe50e86bc8f1e75',
      '903d84c02756ea14',
      'eef27a8e90ca23f7',
      'e545be4961ca29a1',
    ].map((hex, length) => [length, hex] as const),
  )('SipHash-2-4 has the published value for %i bytes', (length, hex) => {
    const hash = hashKey(sipBytes.subarray(0, length), { key: sipKey });
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, value(hash), true);
    expect([...bytes].map((b) => b.toString(16).padStart(2, '0')).join('')).toBe(hex);
  });

  test('agrees with the specification, in slow motion, for every length up to 300 and for long keys', () => {
    const random = new Random(1);
    for (const length of [...Array(300).keys(), 4095, 4096, 4097, 131071, 131072, 131073, 200_000]) {
      const bytes = random.bytes(length);
      const seed = (BigInt(random.bits()) << 32n) | BigInt(random.bits());
      expect(value(hashKey(bytes, { seed })), `${length} bytes`).toBe(referenceForge64(bytes, seed));
      expect(value(hashKey(bytes, parquetHash())), `${length} bytes`).toBe(referenceXxh64(bytes, 0n));
      const hash = value(hashKey(bytes, { hash: 'xxh64', seed }));
      expect(hash, `${length} bytes`).toBe(referenceXxh64(bytes, seed));
    }
  });

  test('a string hashes as its UTF-8 bytes, a lone surrogate as U+FFFD', () => {
    for (const text of [
      '',
      'a',
      'So What',
      'ä',
      '日本語',
      '😀',
      'x'.repeat(19),
      'x'.repeat(20),
      'x'.repeat(21),
      `${'x'.repeat(18)}é`,
    ]) {
      expect(value(hashKey(text)), text).toBe(referenceForge64(keyBytes(text), 0n));
    }
    expect(keyBytes('\ud800')).toEqual(Uint8Array.of(0xef, 0xbf, 0xbd));
    expect(value(hashKey('a\ud800b'))).toBe(value(hashKey('a\ufffdb')));
  });

  test('numbers and bigints hash as 64-bit integers, larger bigints in their shortest form', () => {
    const cases: [number | bigint, number[]][] = [
      [0, [0, 0, 0, 0, 0, 0, 0, 0]],
      [-0, [0, 0, 0, 0, 0, 0, 0, 0]],
      [42, [42, 0, 0, 0, 0, 0, 0, 0]],
      [42n, [42, 0, 0, 0, 0, 0, 0, 0]],
      [-1, [255, 255, 255, 255, 255, 255, 255, 255]],
      [-(2 ** 40) - 3, [0xfd, 255, 255, 255, 255, 0xfe, 255, 255]],
      [Number.MAX_SAFE_INTEGER, [255, 255, 255, 255, 255, 255, 31, 0]],
      [Number.MIN_SAFE_INTEGER, [1, 0, 0, 0, 0, 0, 0xe0, 255]],
      [2n ** 63n - 1n, [255, 255, 255, 255, 255, 255, 255, 127]],
      [-(2n ** 63n), [0, 0, 0, 0, 0, 0, 0, 128]],
      [2n ** 64n - 1n, [255, 255, 255, 255, 255, 255, 255, 255, 0]],
      [-(2n ** 63n) - 1n, [255, 255, 255, 255, 255, 255, 255, 127, 255]],
    ];
    for (const [key, bytes] of cases) {
      expect(value(hashKey(key)), `${key}`).toBe(referenceForge64(Uint8Array.from(bytes), 0n));
    }
    expect(value(hashKey(42))).not.toBe(value(hashKey('42')));
  });

  test('refuses what is not a key, and says what it got', () => {
    for (const [key, message] of [
      [1.5, /a safe integer or a bigint, got 1.5/],
      [Number.NaN, /a safe integer or a bigint, got NaN/],
      [2 ** 53, /safe integer/],
      [undefined, /got undefined/],
      [null, /got null/],
      [true, /got boolean/],
      [{}, /got Object/],
      [new ArrayBuffer(8), /got ArrayBuffer/],
    ] as const) {
      expect(() => hashKey(key as never)).toThrow(message);
    }
    expect(() => hashKey('a', { seed: -1 })).toThrow(RangeError);
    expect(() => hashKey('a', { seed: 2n ** 64n })).toThrow(RangeError);
    expect(() => hashKey('a', { seed: 1.5 })).toThrow(RangeError);
    expect(() => hashKey('a', { seed: 1, key: sipKey })).toThrow(/expected a seed or a key, got both/);
    expect(() => new SecretKey(sipBytes.subarray(1))).toThrow(/16 bytes, got 15/);
    expect(() => new SecretKey('0123456789abcdef' as never)).toThrow(TypeError);
    expect(() => hashKey('a', { key: sipBytes as never })).toThrow(/new SecretKey/);
  });

  test.each([{}, { seed: 7 }, { key: sipKey }, { hash: 'xxh64', seed: 2n ** 63n + 9n }])(
    'a batch hashes like its keys one by one, with %o',
    (options) => {
      const keys = [
        ...awkwardStrings(5000, 3),
        'y'.repeat(200_000),
        1,
        2n,
        Uint8Array.of(1, 2),
        'ä'.repeat(50_000),
      ];
      const expected = keys.map((key) => hashKey(key, options));
      for (const source of [keys, new Set(keys), packKeys(keys), keys.values()]) {
        const { words, length } = hashKeys(source, options);
        const unique = source instanceof Set ? [...source].map((key) => hashKey(key, options)) : expected;
        expect(length).toBe(unique.length);
        for (let i = 0; i < length; i++) {
          expect(
            words[2 * i] >>> 0 === unique[i].low && words[2 * i + 1] >>> 0 === unique[i].high,
            `key ${i}`,
          ).toBe(true);
        }
      }
    },
  );

  test('hashes go where there is room for them', () => {
    const keys = Array.from({ length: 3000 }, (_, i) => `key ${i}`);
    const { words: expected } = hashKeys(keys);
    const lines = keyBytes(`${keys.join('\n')}\n`);
    for (const batch of [keys, { lines }, new Set(keys)]) {
      for (const size of [0, 1, 2048, 6000, 20_000]) {
        const room = new Int32Array(size + 7).fill(99).subarray(7);
        const { words, length } = hashKeys(batch, {}, room);
        expect(length).toBe(3000);
        expect(words).toEqual(expected);
        // Twenty thousand words are enough for each of them: nothing was allocated then, and
        // nothing touched beyond.
        if (size === 20_000) {
          expect(words.buffer).toBe(room.buffer);
          expect(words.byteOffset).toBe(28);
          expect(room.subarray(2 * length).every((word) => word === 99)).toBe(true);
        }
      }
    }
  });

  test('refuses batches that are not batches', () => {
    expect(() => hashKeys('abc')).toThrow(/iterable, packed keys/);
    expect(() => hashKeys(new Uint8Array(3) as never)).toThrow(/\{ lines \}/);
    expect(() => hashKeys(7 as never)).toThrow(/iterable/);
    expect(() => hashKeys(null as never)).toThrow(TypeError);
    const bytes = new Uint8Array(4);
    expect(() => hashKeys({ bytes, offsets: Uint32Array.of(0, 5) })).toThrow(/at most 4, got 5/);
    expect(() => hashKeys({ bytes, offsets: Uint32Array.of(0, 3, 2, 4) })).toThrow(/got 2 after 3/);
    expect(() => hashKeys({ bytes, offsets: new Uint32Array(0) })).toThrow(/offsets \(Uint32Array\)/);
    expect(hashKeys({ bytes, offsets: Uint32Array.of(0) }).length).toBe(0);
    expect(hashKeys([]).length).toBe(0);
  });
});
