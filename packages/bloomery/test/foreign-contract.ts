/**
 * The contract of every foreign format, run on a file that the real program wrote: it is read,
 * answers as it should and is written back bit for bit; and untrusted bytes are
 * `FormatError`s, at once and without memory.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { expectBinomial } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import type { ForeignFilter } from '../src/formats/shared/foreign-filter.ts';
import { FormatError } from '../src/formats/shared/format-error.ts';
import { type FuzzSubject, fuzzDecoder } from './fuzz-formats.ts';

export interface ForeignSubject<K> extends FuzzSubject {
  readonly decode: (bytes: Uint8Array, options?: { maxBytes?: number }) => ForeignFilter<K>;
  /** The keys that are in. */
  readonly keys: readonly K[];
  /** A key that is not, of the number i. */
  readonly absent: (i: number) => K;
  /** Lengths of prefixes that are files of their own. */
  readonly wholePrefix?: (length: number) => boolean;
  /** The bytes that its bits take. */
  readonly bitBytes: number;
  /** The true rate, where the filter's own estimate is known to be too simple. */
  readonly rate?: number;
  /** Whether more bytes may follow. */
  readonly openEnded?: boolean;
}

export function foreignContract<K>(subject: ForeignSubject<K>): void {
  const { name, file, decode, keys, absent, headerLength } = subject;

  test(`${name}: has all keys, and the rate of its bits`, () => {
    const filter = decode(file);
    expect(keys.filter((key) => !filter.has(key))).toEqual([]);
    const trials = withEffort(20_000);
    let found = 0;
    for (let i = 0; i < trials; i++) if (filter.has(absent(i))) found++;
    expectBinomial(found, trials, subject.rate ?? filter.estimatedFalsePositiveRate(), name);
  });

  test(`${name}: is written back bit for bit, and independent of the bytes it came from`, () => {
    const shifted = new Uint8Array(file.length + 3).subarray(3);
    shifted.set(file);
    const filter = decode(shifted);
    shifted.fill(0xff);
    expect(filter.encode()).toEqual(file);
    expect(decode(filter.encode()).encode()).toEqual(file);
    expect(String(decode(file))).toBe(String(filter));
    expect(filter.format).toBe(subject.format);
  });

  test(`${name}: every strict prefix and a byte too many are FormatErrors`, () => {
    for (let length = 0; length < file.length; length++) {
      const error = errorOf(() => decode(file.subarray(0, length)));
      if (subject.wholePrefix?.(length)) expect(error, `${length} bytes`).toBeUndefined();
      else expect(error, `${length} bytes`).toBeInstanceOf(FormatError);
    }
    const longer = new Uint8Array(file.length + 1);
    longer.set(file);
    const error = errorOf(() => decode(longer));
    if (subject.openEnded) expect(error).toBeUndefined();
    else expect((error as FormatError)?.code).toMatch(/trailing|payload|truncated|not-this-format/);
  });

  test(`${name}: a flipped bit of the header is a FormatError or another filter, never anything else`, () => {
    const bytes = Uint8Array.from(file);
    for (let bit = 0; bit < 8 * headerLength; bit++) {
      bytes[bit >> 3] ^= 1 << (bit & 7);
      const error = errorOf(() => decode(bytes).has(absent(bit)));
      if (error !== undefined) expect(error, `bit ${bit}`).toBeInstanceOf(FormatError);
      bytes[bit >> 3] ^= 1 << (bit & 7);
    }
  });

  test(`${name}: random and mutated bytes`, () => {
    const { accepted, refused } = fuzzDecoder(subject, withEffort(10_000), 17);
    expect(accepted + refused).toBe(withEffort(10_000));
    expect(refused).toBeGreaterThan(0);
  });

  test(`${name}: the limit is the caller's, and is checked before anything is allocated`, () => {
    expect(decode(file, { maxBytes: subject.bitBytes }).encode()).toEqual(file);
    const error = errorOf(() => decode(file, { maxBytes: subject.bitBytes - 1 })) as FormatError;
    expect(error.code).toBe('limit');
    expect(error.message).toContain(`at most ${subject.bitBytes - 1} bytes`);
    expect(() => decode(file, { maxBytes: -1 })).toThrow(RangeError);
    expect(() => decode(file, { maxbytes: 5 } as never)).toThrow(/got option 'maxbytes'/);
    expect(() => decode('text' as never)).toThrow(TypeError);
  });
}

/** The error that `work` throws, if it does. */
export function errorOf(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}
