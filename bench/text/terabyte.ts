/**
 * `npm --prefix bench run bench:text-terabyte`: a search in the index of a terabyte of text, 2.5
 * million blocks of 400 kB. The index is a real file of 41 GB by its size. Of its rows those are
 * written that the needles read, with half of their bits set at random, and the rest of the file is
 * a hole. So everything that a search touches has its real size, place and checksum.
 */

import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  DEFAULT_SCHEME,
  needleBits,
  type RangeSource,
  TextIndex,
  TextIndexWriter,
} from '../../packages/stores/dist/text/index.js';
import {
  CHUNK_BLOCKS,
  EXTENT_BYTES,
  MAGIC,
  putNumber,
  rowLayout,
  rowPlace,
  STRIPE_BLOCKS,
  STRIPE_BYTES,
  SUM_BYTES,
  seal,
  TRAILER_BYTES,
  viewOf,
} from '../../packages/stores/dist/text/index-layout.js';
import { asMarkdown, asText, type Table } from '../shared/report.ts';
import { median } from '../shared/statistics.ts';
import { Dice } from './corpora.ts';

const { values: options } = parseArgs({
  options: {
    blocks: { type: 'string', default: '2500000' },
    rounds: { type: 'string', default: '9' },
    markdown: { type: 'string' },
  },
});
const BLOCKS = Math.ceil(Number(options.blocks) / STRIPE_BLOCKS) * STRIPE_BLOCKS;
const BLOCK_BYTES = 400_000;
const NEEDLES = {
  'a trace id of 32 digits': '4bf92f3577b34da6a3ce929d0e0e4736',
  'the same with a prefix': '"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"',
  'an id of 16 digits': '00f067aa0ba902b7',
  'an address': '203.0.113.195',
  'a word of 12 letters': 'qzxkvwjypmtb',
};
/** The block that contains all needles. */
const TRUE_BLOCK = Math.floor(0.7 * BLOCKS);

const scratch = mkdtempSync(join(tmpdir(), 'bloomery-terabyte-'));
try {
  await main();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Writes the file. Returns its size. */
function writeIndex(descriptor: number, rows: readonly number[]): number {
  const dice = new Dice(1);
  const directory: number[][] = [];
  let at = 0;
  const put = (bytes: Uint8Array, place: number) => writeSync(descriptor, bytes, 0, bytes.length, place);
  // The writer's own header.
  new TextIndexWriter({
    scheme: DEFAULT_SCHEME,
    id: new Uint8Array(16),
    write: (bytes) => {
      put(bytes, 0);
      at = bytes.length;
    },
  });
  for (let first = 0; first < BLOCKS; first += STRIPE_BLOCKS) {
    const blocks = STRIPE_BLOCKS;
    // In a full stripe each row has a checksum of its own.
    const layout = rowLayout(blocks, DEFAULT_SCHEME.bitsLog2);
    for (const row of rows) {
      const group = new Uint8Array(layout.groupBytes);
      for (let i = 0; i < layout.width; i++) group[i] = dice.bits();
      const own = TRUE_BLOCK - first;
      if (own >= 0 && own < blocks) group[own >>> 3] |= 1 << (own & 7);
      const place = at + rowPlace(layout, row);
      put(seal(group, place), place);
    }
    const extentsAt = at + layout.bytes;
    directory.push([at, extentsAt, blocks]);
    at = writeExtents(put, { at: extentsAt, first, blocks });
  }
  const bytes = new Uint8Array(directory.length * STRIPE_BYTES + SUM_BYTES);
  directory.forEach(([offset, extents, blocks], i) => {
    putNumber(viewOf(bytes), i * STRIPE_BYTES, offset);
    putNumber(viewOf(bytes), i * STRIPE_BYTES + 8, extents);
    viewOf(bytes).setUint32(i * STRIPE_BYTES + 16, blocks, true);
    viewOf(bytes).setUint32(i * STRIPE_BYTES + 20, blocks, true);
  });
  put(seal(bytes, at), at);
  const trailer = new Uint8Array(TRAILER_BYTES);
  putNumber(viewOf(trailer), 0, at);
  putNumber(viewOf(trailer), 8, BLOCKS);
  viewOf(trailer).setUint32(16, directory.length, true);
  viewOf(trailer).setUint32(20, MAGIC, true);
  at += bytes.length;
  put(seal(trailer, at), at);
  return at + trailer.length;
}

/** One extent for each block. Returns the place behind them. */
function writeExtents(
  put: (bytes: Uint8Array, place: number) => void,
  { at, first, blocks }: { at: number; first: number; blocks: number },
): number {
  const chunks = Math.ceil(blocks / CHUNK_BLOCKS);
  const table = new Uint8Array((chunks + 1) * 4 + SUM_BYTES);
  for (let i = 0; i <= chunks; i++) viewOf(table).setUint32(4 * i, Math.min(blocks, i * CHUNK_BLOCKS), true);
  put(seal(table, at), at);
  let place = at + table.length;
  for (let chunk = 0; chunk < chunks; chunk++) {
    const count = Math.min(CHUNK_BLOCKS, blocks - chunk * CHUNK_BLOCKS);
    const bytes = new Uint8Array(count * EXTENT_BYTES + SUM_BYTES);
    const view = viewOf(bytes);
    for (let i = 0; i < count; i++) {
      const block = chunk * CHUNK_BLOCKS + i;
      view.setUint32(i * EXTENT_BYTES, 1, true);
      view.setUint32(i * EXTENT_BYTES + 4, block, true);
      const start = (first + block) * BLOCK_BYTES;
      [start, BLOCK_BYTES, 0, start, BLOCK_BYTES, 0].forEach((value, j) => {
        putNumber(view, i * EXTENT_BYTES + 8 + 8 * j, value);
      });
    }
    put(seal(bytes, place), place);
    place += bytes.length;
  }
  return place;
}

async function main(): Promise<void> {
  const descriptor = openSync(join(scratch, 'terabyte.text'), 'w+');
  const bytesOf = (needle: string) => new TextEncoder().encode(needle);
  const rows = new Set(
    Object.values(NEEDLES).flatMap((needle) => needleBits(bytesOf(needle), DEFAULT_SCHEME)),
  );
  const size = writeIndex(descriptor, [...rows]);
  ftruncateSync(descriptor, size);
  let reads = 0;
  const source: RangeSource = {
    size,
    read: async (ranges) => {
      reads++;
      // As the command does it.
      const memory = new ArrayBuffer(ranges.reduce((sum, { length }) => sum + length, 0));
      let at = 0;
      return ranges.map(({ offset, length }) => {
        const bytes = new Uint8Array(memory, at, length);
        readSync(descriptor, bytes, 0, length, offset);
        at += length;
        return bytes;
      });
    },
  };
  const lines: string[][] = [];
  for (const [name, needle] of Object.entries(NEEDLES)) {
    const grams = needleBits(bytesOf(needle), DEFAULT_SCHEME).length;
    const times: number[] = [];
    const cpus: number[] = [];
    let [bytes, found, steps] = [0, 0, 0];
    for (let round = 0; round < Number(options.rounds); round++) {
      reads = 0;
      const start = performance.now();
      const cpu = process.cpuUsage();
      // A command opens the index for each search.
      const index = await TextIndex.open(source);
      const blocks = await index.candidateBlocks({ kind: 'text', bytes: bytesOf(needle) });
      const planned = index.bytesRead;
      const few = blocks.length <= 100 ? await index.extentsOf(blocks) : [];
      times.push(performance.now() - start);
      const { user, system } = process.cpuUsage(cpu);
      cpus.push((user + system) / 1000);
      if (!blocks.includes(TRUE_BLOCK)) throw new Error(`Cannot go on: expected the block with ${needle}`);
      [bytes, found, steps] = [few.length > 0 ? index.bytesRead : planned, blocks.length, reads];
    }
    const shown = [cpus[0], median(cpus), median(times)].map((ms) => ms.toFixed(0));
    lines.push([name, String(grams), (bytes / 1e6).toFixed(2), String(steps), ...shown, String(found)]);
  }
  closeSync(descriptor);
  const table: Table = {
    title: `${(BLOCKS / 1e6).toFixed(2)} million blocks, ${((BLOCKS * BLOCK_BYTES) / 1e12).toFixed(2)} TB of text, an index of ${(size / 1e9).toFixed(1)} GB`,
    head: ['needle', 'grams', 'MB read', 'steps', 'CPU ms, first', 'CPU ms', 'wall ms', 'blocks left'],
    numbersFrom: 1,
    rows: lines,
    notes: [
      'Times are those of opening the index and finding the blocks, and of reading their extents where there are at most 100: the first one, with the compilation of the code, and medians.',
      `Load ${loadavg()
        .map((value) => value.toFixed(1))
        .join(' ')}.`,
    ],
  };
  console.log(asText(table));
  if (options.markdown !== undefined)
    writeFileSync(
      options.markdown,
      `# A search in a terabyte\n\nWritten by \`npm --prefix bench run bench:text-terabyte\`.\n\n${asMarkdown(table)}\n`,
    );
}
