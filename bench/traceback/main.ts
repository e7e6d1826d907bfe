/**
 * `npm run bench:traceback`: the collector beside tcpdump on one capture; the time of a question
 * over 864 million packets in 1.1 GB of tables, warm and cold; packets that a digest confuses by
 * its payload bytes; the packets that a kill costs; and the extra nodes of traces. CPU seconds are
 * medians of rounds that take turns.
 *
 * The tables of the question are synthetic: 16 full tables of random digests, written again and
 * again under other numbers and times. A question reads one block of each file, so the repetition
 * changes no time. `--only` runs some of the parts; sections of the page and of `--keep` files that
 * it does not run are kept. `--only figure` draws the picture of the page again.
 */

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { crc32 } from 'node:zlib';
import { CaptureDecoder, HeaderBatch, HeaderDecoder, PacketBatch, STATUS } from '@bloomery/packets/capture';
import { Collector, invariantOf } from '@bloomery/packets/traceback';
import { SecretKey } from 'bloomery';
import { encodeTable } from '../../packages/packets/src/traceback/store/table-file.ts';
import { DigestTable, tableShape } from '../../packages/packets/src/traceback/tables/digest-table.ts';
import { writeZipfCapture } from '../../packages/testkit/src/captures/zipf-capture.ts';
import { median } from '../shared/statistics.ts';
import { extraFigure, graphRows, rowsOfPage } from './graphs.ts';
import { type Kill, killOnce } from './kills.ts';

const { values: options } = parseArgs({
  options: {
    packets: { type: 'string', default: '10000000' },
    rounds: { type: 'string', default: '3' },
    tables: { type: 'string', default: '1030' },
    traces: { type: 'string', default: '1000' },
    lane: { type: 'string' },
    zoo: { type: 'string', multiple: true, default: [] },
    kills: { type: 'string', default: '20' },
    only: { type: 'string', default: 'speed,questions,kills,prefixes,graphs' },
    markdown: { type: 'string' },
    keep: { type: 'string', multiple: true, default: [] },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-traceback-'));
const KEY = new Uint8Array(16).fill(7);
const cells = (...row: (string | number)[]) => `| ${row.join(' | ')} |`;
/** Beginnings of the sections, in their order. */
const SECTIONS = ['## CPU seconds', '## A question', '## Kills', '## Packets that', '## Extra nodes'];
const lines: string[] = [];
const load = () => loadavg()[0].toFixed(1);

/** CPU seconds of a program to its end, its start included. */
function program(command: string, args: readonly string[]): number {
  const { stderr } = spawnSync('time', ['-f', 'COST %U %S', '--', command, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const cost = /COST ([\d.]+) ([\d.]+)/.exec(String(stderr));
  if (cost === null) throw new Error(`Cannot run ${command}: ${stderr}`);
  return Number(cost[1]) + Number(cost[2]);
}

function lane(way: string, path: string): number {
  const tables = join(folder, 'tables');
  rmSync(tables, { recursive: true, force: true });
  const file = options.lane ?? fileURLToPath(new URL('lane.ts', import.meta.url));
  const loader = options.lane === undefined ? ['--import', 'tsx'] : [];
  const { stdout, stderr } = spawnSync(process.execPath, [...loader, file, way, path, tables], {
    encoding: 'utf8',
  });
  if (stdout === '') throw new Error(`Cannot run the lane ${way}: ${stderr}`);
  return (JSON.parse(stdout) as { seconds: number }).seconds;
}

function speed(): void {
  const packets = Number(options.packets);
  const path = join(folder, 'zipf.pcap');
  writeZipfCapture({ path, packets, flows: packets / 10, order: 'mixed', seed: 1 });
  const ways: [string, () => number][] = [
    ['tcpdump --count', () => program('tcpdump', ['-r', path, '--count'])],
    ['tcpdump -w /dev/null', () => program('tcpdump', ['-r', path, '-w', '/dev/null'])],
    ['walk the records', () => lane('walk', path)],
    ['with headers', () => lane('parse', path)],
    ['**digests of packets**, 10 bits each', () => lane('packets', path)],
    ['whole collector, with sources', () => lane('collect', path)],
    ['collector with `--changes`', () => lane('changes', path)],
  ];
  const seconds = ways.map(() => [] as number[]);
  const before = load();
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [i, [, run]] of ways.entries()) seconds[i].push(run());
  }
  lines.push(
    `## CPU seconds for ${packets / 1e6} million packets`,
    '',
    `One synthetic capture (Zipf's law, ${packets / 1e7} million flows, 96 bytes of each packet), medians of ${options.rounds} rounds that took turns, load of the machine ${before} to ${load()} on two cores. Tables and journal are written to disk. The whole collector also notes sources: here 1 million different ones within ${packets / 1e5} s, more than links have.`,
    '',
    cells('', 'CPU s', 'million packets per CPU s'),
    '|---|---:|---:|',
    ...ways.map(([name], i) => {
      const own = median(seconds[i]);
      return cells(name, own.toFixed(2), (packets / own / 1e6).toFixed(2));
    }),
    '',
  );
}

async function questions(): Promise<void> {
  const count = Number(options.tables);
  const shape = tableShape();
  const home = join(folder, 'collector');
  mkdirSync(join(home, 'packets'), { recursive: true });
  const key = new SecretKey(KEY);
  let state = 1;
  const bits = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state;
  };
  const packetsPerTable = shape.capacity;
  const spanS = 86_400 / count;
  const paths: string[] = [];
  let parts: [Uint8Array, Uint8Array] | undefined;
  for (let i = 0; i < count; i++) {
    if (i % Math.ceil(count / 16) === 0) {
      const table = new DigestTable(shape, key);
      const words = Int32Array.from({ length: 2 * packetsPerTable }, bits);
      table.add({ scheme: key.scheme, words, length: packetsPerTable }, { firstS: 0, lastS: 1 });
      parts = encodeTable(table, { sequence: 0, kind: 'packets', payloadBytes: 44 });
    }
    const [head, frame] = parts as [Uint8Array, Uint8Array];
    const view = new DataView(head.buffer);
    view.setFloat64(8, i, true);
    view.setFloat64(16, i * spanS, true);
    view.setFloat64(24, (i + 1) * spanS, true);
    view.setUint32(92, crc32(head.subarray(0, 92)), true);
    const path = join(home, 'packets', `${String(i).padStart(12, '0')}.digests`);
    writeFileSync(path, head);
    writeFileSync(path, frame, { flag: 'a' });
    paths.push(path);
  }
  spawnSync('sync', ['-f', home]);
  const collector = Collector.open({ folder: home, key: KEY, budgetBytes: 1e10, budgetS: 1e9 });
  const rows: string[] = [];
  for (const [name, window] of [
    ['the whole day', { firstS: 0, lastS: 86_400 }],
    ['two minutes', { firstS: 40_000, lastS: 40_120 }],
  ] as const) {
    const cold: number[] = [];
    const warm: number[] = [];
    let tables = 0;
    let chance = 0;
    let yes = 0;
    for (let round = 0; round < 5; round++) {
      // Takes the pages of each file out of the cache, without touching those of other programs.
      dropPages(paths);
      const started = performance.now();
      await collector.seen(randomPacket(bits), window);
      cold.push(performance.now() - started);
    }
    for (let round = 0; round < 60; round++) {
      const started = performance.now();
      const answer = await collector.seen(randomPacket(bits), window);
      if (round >= 10) warm.push(performance.now() - started);
      tables = answer.tables;
      chance = answer.expectedByChance;
      yes += answer.yes / 60;
    }
    const worst = Math.max(...warm);
    rows.push(
      cells(
        name,
        tables,
        chance.toFixed(3),
        yes.toFixed(2),
        median(warm).toFixed(1),
        worst.toFixed(1),
        median(cold).toFixed(0),
      ),
    );
  }
  collector.close();
  const gigabytes = (count * (2 ** 20 + 127)) / 1e9;
  lines.push(
    `## A question over ${((count * packetsPerTable) / 1e6).toFixed(0)} million packets`,
    '',
    `${count} full tables of 1 MiB, ${gigabytes.toFixed(2)} GB; packets that never came; wall time in milliseconds, median and longest of 50 questions warm, median of 5 cold (the pages of the tables taken out of the cache), load ${load()} on two cores. The files repeat 16 different tables, so the measured number of a yes by chance varies more than that of as many different tables.`,
    '',
    cells('window', 'tables', 'yes by chance, expected', 'measured', 'warm ms', 'longest', 'cold ms'),
    '|---|---:|---:|---:|---:|---:|---:|',
    ...rows,
    '',
  );
}

/** Takes the pages of files out of the cache: POSIX_FADV_DONTNEED, by dd. */
function dropPages(paths: readonly string[]): void {
  const script = 'for f; do dd of="$f" oflag=nocache conv=notrunc,fdatasync count=0 2>/dev/null; done';
  spawnSync('sh', ['-c', script, 'sh', ...paths]);
}

function randomPacket(bits: () => number): Uint8Array {
  const packet = Uint8Array.from({ length: 84 }, bits);
  packet.set([0x45, 0, 0, 84], 0);
  return packet;
}

/** Collectors that are killed while packets come in. */
async function kills(): Promise<void> {
  const all: Kill[] = [];
  for (let i = 0; i < Number(options.kills); i++)
    all.push(await killOnce(join(folder, `killed${i}`), 500 + 1500 * Math.random()));
  const losses = all.map(({ lossMs }) => lossMs);
  const packets = all.reduce((sum, kill) => sum + kill.packets, 0);
  lines.push(
    '## Kills',
    '',
    `\`bloomery digestd\` on a pipe with a packet every 10 ms, ended by SIGKILL 0.5 to 2 s after its first digest was on disk, ${all.length} times; load ${load()} on two cores. The loss is the time from the oldest packet that is missing afterwards to the kill. A hole is a packet that is there behind one that is not.`,
    '',
    cells('packets sent', 'lost', 'median loss, ms', 'longest, ms', 'holes'),
    '|---:|---:|---:|---:|---:|',
    cells(
      packets,
      all.reduce((sum, { lost }) => sum + lost, 0),
      median(losses).toFixed(0),
      Math.max(...losses).toFixed(0),
      all.filter(({ hasHole }) => hasHole).length,
    ),
    '',
  );
}

/** Shares of packets that have the same bytes as another packet of their capture. */
function prefixes(): void {
  const data = process.env.BLOOMERY_DATA;
  if (data === undefined) {
    lines.push('## Packets that a digest confuses', '', 'BLOOMERY_DATA was not set.', '');
    return;
  }
  const PAYLOADS = [8, 12, 20, 32, 44, 96];
  const rows: string[] = [];
  for (const name of readdirSync(join(data, 'captures')).sort()) {
    if (!/\.pcap(ng)?$/.test(name)) continue;
    const counts = PAYLOADS.map(() => new Map<string, number>());
    let packets = 0;
    eachPacket(readFileSync(join(data, 'captures', name)), (packet) => {
      packets++;
      for (const [i, payloadBytes] of PAYLOADS.entries()) {
        let bytes: string;
        try {
          bytes = Buffer.from(invariantOf(packet, payloadBytes)).toString('latin1');
        } catch {
          continue;
        }
        counts[i].set(bytes, (counts[i].get(bytes) ?? 0) + 1);
      }
    });
    if (packets < 500) continue;
    const share = (map: Map<string, number>) => {
      const all = [...map.values()];
      const total = all.reduce((sum, count) => sum + count, 0);
      const shared = all.reduce((sum, count) => sum + (count > 1 ? count : 0), 0);
      return total === 0 ? '' : ((100 * shared) / total).toFixed(2);
    };
    rows.push(cells(name, packets, ...counts.map(share)));
  }
  lines.push(
    '## Packets that a digest confuses',
    '',
    'Percent of the IP packets of a capture that share their invariant bytes with another one, by the bytes of the payload that count. SPIE takes 8, our default is 44. Packets that were really sent twice, byte for byte, stay in every column. Local captures of BLOOMERY_DATA.',
    '',
    cells('capture', 'packets', ...PAYLOADS),
    `|---|---:|${PAYLOADS.map(() => '---:').join('|')}|`,
    ...rows,
    '',
  );
}

function eachPacket(bytes: Uint8Array, visit: (packet: Uint8Array) => void): void {
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch();
  const headers = new HeaderBatch(batch.capacity);
  const headerDecoder = new HeaderDecoder();
  decoder.push(bytes);
  while (decoder.next(batch)) {
    headerDecoder.decode(batch, headers);
    for (let row = 0; row < batch.count; row++) {
      if (headers.status[row] !== STATUS.decoded) continue;
      const end = batch.offset[row] + batch.capturedLength[row];
      visit(
        batch.bytes.subarray(
          headers.ipOffset[row],
          Math.min(end, headers.ipOffset[row] + headers.ipLength[row]),
        ),
      );
    }
  }
}

async function graphs(): Promise<void> {
  const traces = Number(options.traces);
  const rows = await graphRows(traces, options.zoo);
  lines.push(
    '## Extra nodes of a trace',
    '',
    `Collectors with real tables, full of other packets; ${traces} packets along shortest paths between random nodes. Theory: independent coins with each table's own rate. Networks with other names are of the Internet Topology Zoo.`,
    '',
    cells('network', 'bits', 'P', 'path', 'extra nodes', 'theory', 'sigmas', 'graphs without an extra node'),
    '|---|---:|---:|---:|---:|---:|---:|---:|',
    ...rows.map(({ network, bits, rate, length, extra, theory, sigmas, exact }) =>
      cells(
        network,
        bits,
        rate.toFixed(4),
        length.toFixed(1),
        extra.toFixed(3),
        theory.toFixed(3),
        sigmas.toFixed(1),
        `${(100 * exact).toFixed(0)} %`,
      ),
    ),
    '',
  );
}

const parts = options.only.split(',');
try {
  if (parts.includes('speed')) speed();
  if (parts.includes('questions')) await questions();
  if (parts.includes('kills')) await kills();
  if (parts.includes('prefixes')) prefixes();
  if (parts.includes('graphs')) await graphs();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
/** The sections of a page by their titles, with the lines of each. */
function sectionsOf(page: string): Map<string, string> {
  const own = page.split(/^(?=## )/m).filter((part) => part.startsWith('## '));
  return new Map(own.map((part) => [SECTIONS.find((title) => part.startsWith(title)) ?? part, part]));
}

const earlier = [...options.keep, ...(options.markdown === undefined ? [] : [options.markdown])]
  .reverse()
  .filter((path) => existsSync(path));
const sections = new Map(earlier.flatMap((path) => [...sectionsOf(readFileSync(path, 'utf8'))]));
for (const [title, part] of sectionsOf(lines.join('\n'))) sections.set(title, part);
const head = [
  '# Traceback',
  '',
  'Written by `npm run bench:traceback -- --markdown results/traceback.md`. `--only` runs some of the parts, and keeps the others.',
  '',
  '',
].join('\n');
const text = `${head}${SECTIONS.flatMap((title) => sections.get(title)?.trimEnd() ?? []).join('\n\n')}\n`;
if (parts.includes('graphs') || parts.includes('figure'))
  writeFileSync(
    new URL('../../docs/guide/figures/traceback-extra.svg', import.meta.url),
    extraFigure(rowsOfPage(text)),
  );
console.log(text);
if (options.markdown !== undefined) writeFileSync(options.markdown, text);
