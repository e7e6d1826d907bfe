/**
 * `npm run bench:small-sets`: bits per key of a `StaticFilter` of few keys, compared with the lower
 * bound of survey 2.2, log2(1/p), and with the binary fuse table that sets of every size had
 * before. Sizes do not depend on the machine. Times are processor time, medians of several
 * rounds, in turn for both forms.
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hashKeys, type KernelChoice, packKeys, StaticFilter, useKernel } from 'bloomery';
import { encodeFrame } from '../../packages/bloomery/dist/frames/frame.js';
import { STATIC_FRAME } from '../../packages/bloomery/dist/frames/table-kinds.js';
import { buildFuse } from '../../packages/bloomery/dist/kernel/tables/fuse-build.js';
import { fuseShape } from '../../packages/bloomery/dist/math/fuse-size.js';

const { values: options } = parseArgs({
  options: { markdown: { type: 'string' }, rounds: { type: 'string', default: '7' } },
});
const ROUNDS = Number(options.rounds);
const BITS = 8;
const SIZES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
const LOOKUPS = 200_000;

const keysOf = (count: number, tag: number) =>
  packKeys(Array.from({ length: count }, (_, i) => `key ${tag}/${i}`));
/** The frame that earlier releases wrote. */
function earlier(hashes: ReturnType<typeof hashKeys>): Uint8Array {
  const fields = { stride: BITS, width: BITS };
  const { size, layout, words } = buildFuse(hashes.words, { ...fields, ownIndex: false, shapeOf: fuseShape });
  const payload = {
    subarray: (start: number, end: number) => new Uint8Array(words.buffer, start, end - start),
  };
  const { attempt, segments, segmentLength } = layout;
  const parameters = [size, BITS, attempt, segments, segmentLength];
  return encodeFrame(STATIC_FRAME, { variant: 0, scheme: hashes.scheme, parameters, payload });
}

const median = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1];
function nanoseconds(work: () => unknown, times: number): number {
  const start = process.cpuUsage();
  for (let i = 0; i < times; i++) work();
  const { user, system } = process.cpuUsage(start);
  return (1000 * (user + system)) / times;
}

/** Nanoseconds per key: [building before, now, a member before, now, a non-member before, now]. */
function timesOf(n: number, kernel: KernelChoice): number[] {
  useKernel(kernel);
  const sets = Array.from({ length: 8 }, (_, tag) => hashKeys(keysOf(n, tag)));
  const filters = [StaticFilter.decode(earlier(sets[0])), StaticFilter.from(sets[0])];
  const members = hashKeys(keysOf(n, 0));
  const others = hashKeys(keysOf(LOOKUPS, -1));
  const rows: number[][] = [[], [], [], [], [], []];
  const repeat = Math.max(1, Math.ceil(2000 / n));
  for (let round = -1; round < ROUNDS; round++) {
    const build = [() => sets.map((set) => earlier(set)), () => sets.map((set) => StaticFilter.from(set))];
    const took = [
      ...build.map((work) => nanoseconds(work, repeat) / (n * sets.length)),
      ...filters.map((filter) => nanoseconds(() => filter.hasMany(members), Math.ceil(LOOKUPS / n)) / n),
      ...filters.map((filter) => nanoseconds(() => filter.hasMany(others), 1) / LOOKUPS),
    ];
    if (round >= 0) for (const [i, time] of took.entries()) rows[i].push(time);
  }
  useKernel('auto');
  return rows.map(median);
}

const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;
const lines = [
  '# Small static sets',
  '',
  'Written by `npm run bench:small-sets -- --markdown results/small-sets.md`.',
  '',
  `Bits per key of a \`StaticFilter\` with ${BITS} fingerprint bits, for which the lower bound is ${BITS}. "Before" is the`,
  'binary fuse table, which sets above 10,000 keys still have. The payload is what a frame holds beyond its head of 28',
  'bytes and its checksum of 4. Memory is in words of 32 bits.',
  '',
  cells(
    'keys',
    'payload before',
    'payload now',
    'over the bound',
    'memory before',
    'memory now',
    'frame before',
    'frame now',
  ),
  '|---:|---:|---:|---:|---:|---:|---:|---:|',
];
for (const n of SIZES) {
  const hashes = hashKeys(keysOf(n, 0));
  const before = earlier(hashes);
  const filter = StaticFilter.from(hashes);
  const now = filter.encode();
  const payload = (frame: Uint8Array) => (8 * (frame.length - 32)) / n;
  lines.push(
    cells(
      n,
      payload(before).toFixed(2),
      payload(now).toFixed(2),
      (payload(now) / BITS).toFixed(3),
      StaticFilter.decode(before).bitsPerKey.toFixed(2),
      filter.bitsPerKey.toFixed(2),
      `${before.length} B`,
      `${now.length} B`,
    ),
  );
}
for (const kernel of ['wasm', 'javascript'] as const) {
  lines.push(
    '',
    `Nanoseconds of processor time per key, ${kernel === 'wasm' ? 'WebAssembly' : 'JavaScript'}, from hashes that were computed before:`,
    '',
    cells('keys', 'build before', 'build now', 'member before', 'now', 'non-member before', 'now'),
    '|---:|---:|---:|---:|---:|---:|---:|',
  );
  for (const n of [10, 100, 1000, 10_000])
    lines.push(cells(n, ...timesOf(n, kernel).map((t) => t.toFixed(t < 100 ? 1 : 0))));
}
const text = lines.join('\n');
console.log(text);
if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
