/**
 * Filters saved to a file and read back in chunks. The full form (BLOOMERY_EFFORT of at least 20)
 * does it with 5 GiB, which no Uint8Array of Node 20 can hold (docs/spec/frame.md has the time).
 */

import {
  closeSync,
  createReadStream,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { EFFORT } from '@bloomery/testkit/effort';
import { expectSameBytes } from '@bloomery/testkit/same-bytes';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BlockedBloomFilter } from '../../src/filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../../src/filters/bloom-filter.ts';
import { decodeFilterFrom } from '../../src/filters/filter-assembler.ts';
import { frameChunks } from '../../src/frames/frame-chunks.ts';
import { readFrameHead } from '../../src/frames/frame-head.ts';
import { counterKeys } from '../keys.ts';

const BYTES = EFFORT >= 20 ? 5 * 2 ** 30 : 20 * 2 ** 20;
const KEYS = counterKeys(100_000);
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-filter-file-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function save(filter: { encode(): Uint8Array }, path: string): void {
  const file = openSync(path, 'w');
  for (const chunk of frameChunks(filter)) {
    for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
  }
  closeSync(file);
}

/** Makes a filter, saves it, and leaves nothing of it but the number of its ones. */
function make(path: string): number {
  const filter = new BloomFilter({ bits: 8 * BYTES + 9, hashes: 3 });
  filter.addMany(KEYS);
  save(filter, path);
  return filter.onesCount();
}

test(
  `a filter of ${BYTES / 2 ** 20} MiB is saved and read back, byte for byte`,
  async () => {
    const path = join(folder, 'large.blm');
    const ones = make(path);
    const { size } = statSync(path);
    const read = await decodeFilterFrom(createReadStream(path, { highWaterMark: 2 ** 20 }), {
      maxBytes: size,
    });
    expect(read).toBeInstanceOf(BloomFilter);
    const filter = read as BloomFilter;
    expect(filter.bits).toBe(8 * BYTES + 9);
    expect(filter.onesCount()).toBe(ones);
    expect(filter.hasMany(KEYS).every((answer) => answer === 1)).toBe(true);
    // What it would be saved as is what is in the file.
    const file = openSync(path, 'r');
    let at = 0;
    for (const chunk of frameChunks(filter)) {
      if (at === 0) expect(readFrameHead(chunk).plainLength).toBe(size);
      const found = Buffer.alloc(chunk.length);
      for (let got = 0; got < found.length; ) got += readSync(file, found, got, found.length - got, at + got);
      if (Buffer.compare(found, chunk) !== 0) expect.unreachable(`other bytes after ${at}`);
      at += chunk.length;
    }
    closeSync(file);
    expect(at).toBe(size);
  },
  30 * 60_000,
);

test('streams of Node and of the web give the filter', async () => {
  const filter = new BlockedBloomFilter({ blocks: 3000, hashes: 7 });
  filter.addMany(KEYS);
  const fromNode = Readable.from(frameChunks(filter, { chunkBytes: 10_000 }));
  const fromWeb = Readable.toWeb(Readable.from(frameChunks(filter))) as AsyncIterable<Uint8Array>;
  for (const stream of [fromNode, fromWeb, new Response(filter.encode()).body as AsyncIterable<Uint8Array>])
    expectSameBytes((await decodeFilterFrom(stream)).encode(), filter.encode());
});
