/**
 * Promises of every decoder about the bytes it is given, whatever kind of Uint8Array they come
 * in. Files most often come as Node's Buffer, whose `slice` is a view and which lies somewhere in a
 * pool that it shares with others.
 */

import { DATASKETCHES, DCSO } from '@bloomery/testkit/golden/foreign-files';
import { describe, expect, test } from 'vitest';
import { DataSketchesFilter } from '../../src/formats/datasketches.ts';
import { DcsoFilter } from '../../src/formats/dcso.ts';
import { SUBJECTS } from '../fuzz-subjects.ts';

/** Like Node's Buffer, and in browsers too. */
class PooledBytes extends Uint8Array<ArrayBuffer> {
  override slice(start?: number, end?: number): Uint8Array<ArrayBuffer> {
    return this.subarray(start, end);
  }
}

/** A file amid a pool of other bytes. */
function pooled(file: Uint8Array): { readonly pool: Uint8Array; readonly bytes: PooledBytes } {
  const buffer = new ArrayBuffer(file.length + 1001);
  const bytes = new PooledBytes(buffer, 501, file.length);
  bytes.set(file);
  return { pool: new Uint8Array(buffer), bytes };
}

describe('a file in a pool', () => {
  for (const { name, file, decode, probe } of SUBJECTS) {
    test(`${name}: is read, left alone, and not needed any more`, () => {
      const { pool, bytes } = pooled(file);
      const before = pool.slice();
      const filter = decode(bytes);
      const answer = filter.has(probe as never);
      expect(filter.encode()).toEqual(decode(file).encode());
      expect(pool).toEqual(before);
      pool.fill(0xff);
      expect(filter.encode()).toEqual(decode(file).encode());
      expect(filter.has(probe as never)).toBe(answer);
    });
  }

  test('DataSketches: a union writes its count of ones into its own header', () => {
    const { pool, bytes } = pooled(DATASKETCHES);
    const before = pool.slice();
    const filter = DataSketchesFilter.decode(bytes);
    const both = filter.union(filter).encode();
    expect(pool).toEqual(before);
    expect(new DataView(both.buffer).getBigInt64(24, true)).toBe(BigInt(filter.onesCount()));
    expect(both.subarray(32)).toEqual(DATASKETCHES.subarray(32));
  });

  test('DCSO: the free data is a copy', () => {
    const { pool, bytes } = pooled(DCSO);
    const filter = DcsoFilter.decode(bytes);
    const copy = filter.copy();
    pool.fill(0);
    expect(filter.data).toEqual(DCSO.slice(48 + 1200));
    expect(copy.data).toEqual(filter.data);
  });
});
