import * as files from '@bloomery/testkit/golden/foreign-files';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { PybloomFilter, type PybloomKey } from './pybloom.ts';
import type { FormatError } from './shared/format-error.ts';

const CASES = [
  ['md5', files.PYBLOOM_MD5, 7, 1000],
  ['sha1', files.PYBLOOM_SHA1, 10, 1000],
  ['sha256', files.PYBLOOM_SHA256, 14, 100],
  ['sha384', files.PYBLOOM_SHA384, 20, 100],
  ['sha512', files.PYBLOOM_SHA512, 27, 100],
  ['sha512', files.PYBLOOM_TWO_ROUNDS, 40, 60],
  ['md5', files.PYBLOOM_WIDE, 1, 1000],
] as const;

for (const [digest, file, slices, count] of CASES) {
  describe(`${digest}, ${slices} slices`, () => {
    foreignContract<PybloomKey>({
      name: `pybloom ${digest} ${slices}`,
      format: 'pybloom',
      file,
      headerLength: 40,
      decode: (bytes, options = {}) => PybloomFilter.decode(bytes, { ...options, beforeVersion4: true }),
      keys: files.KEYS.slice(0, count),
      absent: (i) => `absent-${i}`,
      probe: 'x',
      bitBytes: file.length - 40,
    });

    test('says what the file says', () => {
      const filter = PybloomFilter.decode(file, { beforeVersion4: true });
      expect([filter.digest, filter.hashes]).toEqual([digest, slices]);
      expect(filter.estimatedSize() / filter.size).toBeGreaterThan(0.85);
      expect(filter.estimatedSize() / filter.size).toBeLessThan(1.15);
    });
  });
}

test('a short hash: MD5 before 4.0 and XXH128 since, so it is not asked unless that is said', () => {
  const filter = PybloomFilter.decode(files.PYBLOOM_MD5);
  expect(filter.digest).toBeUndefined();
  expect(() => filter.has('key-1')).toThrow(
    'Cannot use the key: expected a file of pybloom-live before 4.0, got one that may be later, with XXH128 (decode with beforeVersion4: true)',
  );
  expect(filter.encode()).toEqual(files.PYBLOOM_MD5);
  const known = PybloomFilter.decode(files.PYBLOOM_MD5, { beforeVersion4: true });
  expect(filter.union(known).has('key-1')).toBe(true);
  // Longer ones are the same in both.
  expect(PybloomFilter.decode(files.PYBLOOM_SHA1).has('key-1')).toBe(true);
});

test('keys: text, and integers as their digits', () => {
  const filter = PybloomFilter.decode(files.PYBLOOM_WIDE, { beforeVersion4: true });
  expect(filter.has('ä€😀')).toBe(true);
  expect([filter.has(5), filter.has(5n)]).toEqual([filter.has('5'), filter.has('5')]);
  for (const wrong of [0.5, new Uint8Array(1), null]) {
    expect(() => filter.has(wrong as never)).toThrow(
      /Cannot use the key: expected a string or an integer, got/,
    );
  }
});

test('what is wrong is named', () => {
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(files.PYBLOOM_SHA256);
    bytes[at] = value;
    return errorOf(() => PybloomFilter.decode(bytes)) as FormatError;
  };
  expect(changed(7, 0xff).message).toMatch(/expected an error rate between 0 and 1, got/);
  expect(changed(8, 0).message).toMatch(/expected 1 to 1074 slices, got 0 \(at byte 8\)/);
  expect(changed(15, 1).message).toMatch(/slices of at most 2\^53 - 1/);
  expect(changed(24, 0).message).toMatch(/expected a capacity of at least 1, got 0/);
  // 14 slices of 137 bits end within a byte.
  expect(changed(files.PYBLOOM_SHA256.length - 1, 0x80).message).toMatch(/no ones from bit 1918 on, got 1/);
  const a = PybloomFilter.decode(files.PYBLOOM_SHA1);
  expect(() => a.union(PybloomFilter.decode(files.PYBLOOM_SHA256))).toThrow(/Cannot merge unlike filters/);
});
