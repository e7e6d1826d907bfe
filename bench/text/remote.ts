/**
 * `npm --prefix bench run bench:text-remote`: one search of logs on a server, in gzip and in zstd,
 * after `bloomery index --repack`. The figure is the number of bytes that are downloaded, as a
 * share of the files. The server is one of node:http on the loopback interface, which waits before
 * each answer as long as a network would.
 */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { asMarkdown, asText, type Table } from '../shared/report.ts';
import { allCorpora } from './corpora.ts';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '600' },
    latency: { type: 'string', default: '20' },
    command: {
      type: 'string',
      default: fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url)),
    },
    markdown: { type: 'string' },
  },
});
const BYTES = (Number(options.megabytes) * 1e6) / 5;
const LATENCY_MS = Number(options.latency);

const scratch = mkdtempSync(join(tmpdir(), 'bloomery-text-'));
try {
  await main();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Writes the logs as gzip and zstd files that are older than their index. */
function writeLogs(): { raw: number; needles: Record<string, string> } {
  let raw = 0;
  const needles: Record<string, string> = { absent: 'OutOfMemoryError' };
  for (const folder of ['gzip', 'zstd']) mkdirSync(join(scratch, folder));
  for (const { name, text } of allCorpora(BYTES)) {
    const file = `${name.replaceAll(' ', '-')}.log`;
    raw += text.length;
    const middle = text.toString('latin1', text.length / 2, text.length / 2 + 4000);
    needles['trace id'] ??= /"trace_id":"([0-9a-f]{32})"/.exec(middle)?.[1] as string;
    if (name === 'syslog') needles.address = /\d+\.\d+\.\d+\.\d+/.exec(middle)![0];
    writeFileSync(join(scratch, 'gzip', `${file}.gz`), gzipSync(text, { level: 1 }));
    writeFileSync(join(scratch, 'zstd', file), text);
    spawnSync('zstd', ['-q', '-1', '--rm', join(scratch, 'zstd', file)]);
  }
  for (const folder of ['gzip', 'zstd'])
    for (const name of readdirSync(join(scratch, folder))) utimesSync(join(scratch, folder, name), 1e9, 1e9);
  return { raw, needles };
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = join(scratch, decodeURIComponent(request.url ?? ''));
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isFile() !== true) {
    response.writeHead(404).end();
    return;
  }
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = Number(range?.[1] ?? 0);
  const end = Math.min(Number(range?.[2] || stat.size - 1), stat.size - 1);
  const headers = {
    'content-length': end - start + 1,
    'last-modified': stat.mtime.toUTCString(),
    ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${stat.size}` }),
  };
  setTimeout(() => {
    response.writeHead(range === null ? 200 : 206, headers);
    if (request.method === 'HEAD') response.end();
    else createReadStream(path, { start, end }).pipe(response);
  }, LATENCY_MS);
}

async function grep(needle: string, place: string) {
  const begun = performance.now();
  const args = [options.command, 'grep', '-h', '--stats', '--json', needle, place];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  const seconds = (performance.now() - begun) / 1000;
  const lines = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { text: string }).text);
  const stats = JSON.parse(stderr.trim().split('\n').at(-1)!) as Record<string, number>;
  return { lines: lines.join('\n'), seconds, stats };
}

async function main(): Promise<void> {
  const { raw, needles } = writeLogs();
  const server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rows: string[][] = [];
  const sizes: Record<string, number> = {};
  for (const folder of ['gzip', 'zstd']) {
    const path = join(scratch, folder);
    spawnSync(process.execPath, [options.command, 'index', '--repack', path], { stdio: 'inherit' });
    sizes[folder] = readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce((sum, { name }) => sum + statSync(join(path, name)).size, 0);
    for (const [what, needle] of Object.entries(needles)) {
      const there = await grep(needle, `${url}/${folder}/`);
      const here = await grep(needle, path);
      const { downloaded, requests, candidates, blocks } = there.stats;
      rows.push([
        folder,
        what,
        (downloaded / 1000).toFixed(1),
        `${((100 * downloaded) / sizes[folder]).toFixed(3)} %`,
        String(requests),
        `${candidates} of ${blocks}`,
        there.seconds.toFixed(2),
        there.lines === here.lines ? 'the same' : 'OTHERS',
      ]);
    }
  }
  server.close();
  server.closeAllConnections();
  const table: Table = {
    title: `${(raw / 1e6).toFixed(0)} MB of text: ${(sizes.gzip / 1e6).toFixed(0)} MB of gzip, ${(sizes.zstd / 1e6).toFixed(0)} MB of zstd, in five files each`,
    head: ['files', 'needle', 'downloaded kB', 'of the files', 'requests', 'blocks read', 'wall s', 'lines'],
    numbersFrom: 2,
    rows,
    notes: [
      `Bytes are those of bodies. The server waits ${LATENCY_MS} ms before each answer. Lines are compared with a search of the folder at hand.`,
      `Load ${loadavg()
        .map((value) => value.toFixed(1))
        .join(' ')}.`,
    ],
  };
  console.log(asText(table));
  for (const note of table.notes) console.log(note);
  if (options.markdown !== undefined)
    writeFileSync(
      options.markdown,
      `# Searching logs on a server\n\nWritten by \`npm --prefix bench run bench:text-remote\`.\n\n${asMarkdown(table)}\n`,
    );
}
