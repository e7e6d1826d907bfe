import { CASSANDRA_3, CASSANDRA_4, KEYS } from '@bloomery/testkit/golden/foreign-files';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { CassandraFilter, cassandraRelease } from './cassandra.ts';
import { murmur3x64 } from './hashes/murmur3.ts';
import { keyWords, loadKey } from './shared/foreign-key.ts';
import type { FormatError } from './shared/format-error.ts';

/** In the files as well: their last blocks have bytes of 128 and more. */
const SIGNED = ['ä€😀', 'Zürich', 'seventeen bytes…é'];

for (const [release, file] of [
  [3, CASSANDRA_3],
  [4, CASSANDRA_4],
] as const) {
  describe(`release ${release}`, () => {
    foreignContract<string | Uint8Array>({
      name: `Cassandra ${release}`,
      format: 'cassandra',
      file,
      headerLength: 8,
      decode: (bytes, options = {}) => CassandraFilter.decode(bytes, { ...options, release }),
      keys: [...KEYS, ...SIGNED],
      absent: (i) => `absent-${i}`,
      probe: 'x',
      bitBytes: 1256,
    });
  });
}

test('the header, and bytes as keys', () => {
  const filter = CassandraFilter.decode(CASSANDRA_4);
  expect([filter.hashes, filter.bits, filter.release]).toEqual([5, 10_048, 4]);
  // 'Zürich' in UTF-8
  expect(filter.has(Uint8Array.of(0x5a, 0xc3, 0xbc, 0x72, 0x69, 0x63, 0x68))).toBe(true);
});

test('both files hold the same bits, and the wrong release finds next to nothing', () => {
  const old = CassandraFilter.decode(CASSANDRA_3, { release: 3 });
  expect(old.onesCount()).toBe(CassandraFilter.decode(CASSANDRA_4).onesCount());
  for (const release of [2, 4] as const) {
    const wrong = CassandraFilter.decode(CASSANDRA_3, { release });
    expect(KEYS.filter((key) => wrong.has(key)).length).toBeLessThan(100);
  }
});

test('release 2 takes the halves of the hash in the other order: the definition in BigInt', () => {
  const out = new Int32Array(4);
  const half = (at: number) => BigInt.asIntN(64, (BigInt(out[at + 1]) << 32n) | BigInt(out[at] >>> 0));
  for (const [release, base, step] of [
    [2, 0, 2],
    [3, 2, 0],
  ] as const) {
    const bytes = new Uint8Array(8 + 1600);
    bytes[3] = 7;
    bytes[7] = 200;
    for (const key of KEYS) {
      murmur3x64(keyWords(), loadKey(key), 0, out, true);
      for (let i = 0n; i < 7n; i++) {
        const sum = BigInt.asIntN(64, half(base) + i * half(step));
        const index = Number((sum < 0n ? -sum : sum) % 12_800n);
        bytes[8 + (index >> 6) * 8 + 7 - ((index & 63) >> 3)] |= 1 << (index & 7);
      }
    }
    const filter = CassandraFilter.decode(bytes, { release });
    expect(KEYS.filter((key) => !filter.has(key))).toEqual([]);
    const other = CassandraFilter.decode(bytes, { release: release === 2 ? 3 : 2 });
    expect(KEYS.filter((key) => other.has(key)).length).toBeLessThan(100);
  }
});

test('cassandraRelease: by the name of the file', () => {
  expect(cassandraRelease('/var/lib/cassandra/data/ks/t-1f/nb-12-big-Filter.db')).toBe(4);
  expect(cassandraRelease('C:\\data\\oa-3-big-Filter.db')).toBe(4);
  expect(cassandraRelease('da-3g7k_1a2b_-bti-Filter.db')).toBe(4);
  expect(cassandraRelease('me-1-big-Filter.db')).toBe(3);
  expect(cassandraRelease('lb-1-big-Filter.db')).toBe(2);
  expect(cassandraRelease('Keyspace1-Standard1-jb-1-Filter.db')).toBe(2);
  expect(cassandraRelease('Filter.db')).toBeUndefined();
});

test('union, and what is wrong is named', () => {
  const filter = CassandraFilter.decode(CASSANDRA_4);
  expect(filter.union(filter).encode()).toEqual(CASSANDRA_4);
  expect(() => filter.union(CassandraFilter.decode(CASSANDRA_3, { release: 3 }))).toThrow(
    /Cannot merge unlike filters.*release 4.*release 3/,
  );
  const changed = (at: number, value: number) => {
    const bytes = Uint8Array.from(CASSANDRA_4);
    bytes[at] = value;
    return errorOf(() => CassandraFilter.decode(bytes)) as FormatError;
  };
  expect(changed(3, 0).message).toBe(
    'Cannot read cassandra filter: expected k from 1 to 21, got 0 (at byte 0)',
  );
  expect(changed(4, 0x80).code).toBe('parameters');
  expect(changed(5, 1).code).toBe('truncated');
  expect(() => CassandraFilter.decode(CASSANDRA_4, { release: 5 as never })).toThrow(
    'Cannot use release: expected 2, 3 or 4, got 5',
  );
});
