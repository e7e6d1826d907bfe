/**
 * Two keys with the same hash are not mixed up. Without the secret a client cannot find such keys,
 * so the test forges the hash.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { storedResponse } from '../../../../test/store/stored-responses.ts';
import { encodeRecord } from '../bodies/pack-record.ts';
import { Packs } from '../bodies/packs.ts';
import { EntryIndex } from '../index/entry-index.ts';
import { HeadCache } from './head-cache.ts';
import { HeadReader } from './head-reader.ts';

test('keys of the same hash are told apart, also lone surrogates', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-heads-'));
  const packs = new Packs(folder, 1e6);
  try {
    const index = new EntryIndex();
    const keys = ['http://a/', 'http://b/', 'http://c/\ud800', 'http://c/\ud801', 'http://c/\ufffd'];
    for (const [i, key] of keys.entries()) {
      const record = encodeRecord(i + 1, storedResponse({ key, bodyLength: 1, time: i }), [Uint8Array.of(i)]);
      const place = await packs.append([record]);
      index.put({ id: i + 1, low: 7, high: 7, ...place, recordBytes: record.length, body: 0, recency: 1 });
    }
    for (const cacheBytes of [0, 1e6]) {
      const reader = new HeadReader(index, packs, new HeadCache(cacheBytes), () => expect.fail('damaged'));
      for (let round = 0; round < 2; round++) {
        for (const [i, key] of keys.entries()) {
          const heads = await reader.variants(key, 7, 7);
          expect(heads.map(({ response, bytes }) => [response.key, bytes![0]])).toEqual([[key, i]]);
        }
        expect(await reader.variants('http://d/', 7, 7)).toEqual([]);
      }
      const listed: string[] = [];
      for await (const key of reader.keys()) listed.push(key);
      expect(listed.sort()).toEqual([...keys].sort());
    }
  } finally {
    packs.close();
    rmSync(folder, { recursive: true });
  }
});
