/** `bloomery grep https://host/logs/`: real servers on the loopback interface, and their faults. */

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { bloomery, COMMAND, type Run, temporaryFolder } from '../run-command.ts';
import { type LogServer, serveLogs } from './log-server.ts';

const scratch = temporaryFolder();
const servers: LogServer[] = [];
let folder: string;
let text: Buffer;

/** Files of the three kinds with some dozen blocks, older than their index. */
beforeAll(() => {
  folder = join(scratch, 'logs');
  mkdirSync(join(folder, 'old'), { recursive: true });
  text = logText(1, 24_000);
  writeFileSync(join(folder, 'app.log'), text);
  writeFileSync(
    join(folder, 'app.log.1.gz'),
    inPieces(logText(2, 12_000), (piece) => gzipSync(piece)),
  );
  writeFileSync(join(folder, 'app #2?.zst'), inPieces(logText(3, 12_000), zstd));
  writeFileSync(join(folder, 'old/one.gz'), gzipSync(logText(4, 3000)));
  writeFileSync(join(folder, 'old/empty'), '');
  age(folder, 3600);
  expect(bloomery(['index', folder]).code).toBe(0);
  age(join(folder, '.bloomery'), 60);
}, 120_000);
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

function logText(seed: number, lines: number): Buffer {
  const random = new Random(seed);
  const hex = () => (random.bits() >>> 0).toString(16).padStart(8, '0');
  return Buffer.from(
    Array.from({ length: lines }, (_, i) => `file ${seed} line ${i} trace=${hex()}${hex()}\n`).join(''),
  );
}

function inPieces(bytes: Buffer, pack: (piece: Buffer) => Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 60_000) pieces.push(pack(bytes.subarray(at, at + 60_000)));
  return Buffer.concat(pieces);
}

function zstd(input: Buffer): Buffer {
  return spawnSync('zstd', ['-q', '-c'], { input }).stdout;
}

/** Sets the times of all files of a folder to some seconds ago. */
function age(path: string, seconds: number): void {
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) setAge(join(entry.parentPath, entry.name), seconds);
  }
}

function setAge(path: string, seconds: number): void {
  const time = Math.floor(Date.now() / 1000) - seconds;
  utimesSync(path, time, time);
}

async function serve(path = folder): Promise<LogServer> {
  const server = await serveLogs(path);
  servers.push(server);
  return server;
}

/** A copy of the folder that a test may change. */
function copied(name: string): string {
  const copy = join(scratch, name);
  expect(spawnSync('cp', ['-a', folder, copy]).status).toBe(0);
  return copy;
}

/** Runs the command while the servers of this process answer. */
async function grep(...args: string[]): Promise<Run & { stats: Record<string, number> }> {
  const child = spawn(process.execPath, [COMMAND, 'grep', '--stats', '--json', ...args], {
    env: { ...process.env, NO_COLOR: '' },
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  const lines = stderr.trim().split('\n');
  const stats = lines.at(-1)?.startsWith('{') ? JSON.parse(lines.pop()!) : {};
  return { code: await ended, stdout, stderr: lines.join('\n'), stats };
}

/** The lines of a search in the folder at hand, with the address instead of its path. */
function local(server: LogServer, path: string, ...args: string[]): string {
  return bloomery(['grep', '--json', ...args, path]).stdout.replaceAll(`${path}/`, server.url);
}

const needles = (line: number) => [
  text.toString('latin1').split('\n')[line].slice(-16),
  `file 2 line ${line} trace`,
  `file 3 line ${line} trace`,
  `line ${line % 3000} t`,
];

test('the lines are those of the folder at hand, and only list, rows and blocks are downloaded', async () => {
  const server = await serve();
  for (const needle of needles(9876)) {
    const found = await grep(needle, server.url);
    expect(found.stdout).toBe(local(server, folder, needle));
    expect([found.code, found.stderr]).toEqual([0, '']);
    expect(found.stats.textBytes).toBeGreaterThan(0);
  }
  expect(server.parallel.most).toBeLessThanOrEqual(6);
  server.requests.length = 0;
  const nowhere = await grep('certainly-not-anywhere', server.url);
  expect([nowhere.code, nowhere.stdout, nowhere.stderr]).toEqual([1, '', '']);
  expect(nowhere.stats).toMatchObject({ files: 5, textBytes: 0, requests: server.requests.length });
  // Files that cannot contain the needle are asked for their state, and for nothing more.
  expect(server.requests.filter((one) => one.startsWith('GET') && !one.includes('/.bloomery/'))).toEqual([]);
  expect(server.requests.filter((one) => one.startsWith('GET') && one.includes('.text')).join()).not.toMatch(
    /text(,|$)/,
  );
  const context = await grep('-C2', needles(17)[0], server.url);
  expect(context.stdout).toBe(local(server, folder, '-C2', needles(17)[0]));
  const one = await grep(needles(5)[3], `${server.url}old/one.gz`);
  expect(one.stdout.split('\n').length).toBe(2);
  expect(one.stats.blocks).toBeGreaterThan(0);
}, 600_000);

test('a file that changed after the index was uploaded is read whole, and that is said', async () => {
  const copy = copied('changed');
  const server = await serve(copy);
  const path = join(copy, 'app.log');
  const bytes = readFileSync(path);
  // In the middle, with the same size: only the time on the server tells.
  bytes.write('XXXX-changed-XXXX', bytes.length >> 1);
  writeFileSync(path, bytes);
  setAge(path, 30);
  const edited = await grep('XXXX-changed-XXXX', server.url);
  expect(edited.stdout.trim().split('\n').length).toBe(1);
  expect(edited.stderr).toContain('1 changed since they were indexed');
  // A file that came in the same second as the list proves nothing.
  setAge(path, 60);
  expect((await grep('XXXX-changed-XXXX', server.url)).code).toBe(0);
  writeFileSync(join(copy, 'app.log.1.gz'), gzipSync('quite another text\n'));
  setAge(join(copy, 'app.log.1.gz'), 3600);
  expect((await grep('quite another', server.url)).code).toBe(0);
  writeFileSync(path, text);
  appendFileSync(path, 'lines that came later\n');
  const grown = await grep('-n', 'lines that came later', server.url);
  expect(JSON.parse(grown.stdout).line).toBe(24_001);
  expect(grown.stats.textBytes).toBeLessThan(text.length);
}, 120_000);

test('a file that changes during the search is an error, never a mixture', async () => {
  const copy = copied('meanwhile');
  const server = await serve(copy);
  const path = join(copy, 'app.log');
  server.faults = {
    before: (name, { headers }) => {
      if (name !== '/app.log' || headers.range === undefined) return;
      writeFileSync(path, `${text.toString('latin1').slice(0, -5)}new!\n`);
    },
  };
  const { code, stderr } = await grep(needles(20_000)[0], server.url);
  expect(code).toBe(2);
  expect(stderr.split('\n')).toEqual([expect.stringContaining('app.log: it was changed while it was read')]);
}, 60_000);

test('servers without ranges, HEAD or times: whole files, the same lines, and that is said', async () => {
  const server = await serve();
  const needle = needles(9876)[3];
  const expected = local(server, folder, needle);
  for (const [faults, says] of [
    [{ noRanges: true }, 'does not answer range requests'],
    [{ noValidators: true }, 'does not say when they changed'],
    [{ noHead: true }, ''],
    [{ noHead: true, noRanges: true, noValidators: true }, 'does not answer range requests'],
  ] as const) {
    server.faults = faults;
    const { stdout, code, stderr } = await grep(needle, server.url);
    expect([stdout, code], JSON.stringify(faults)).toEqual([expected, 0]);
    expect(stderr).toContain(says);
  }
}, 120_000);

test('a server that lies: the right lines or one message, within the limits', async () => {
  const server = await serve();
  const needle = needles(9876)[1];
  const expected = local(server, folder, needle);
  const isLog = (path: string) => path === '/app.log.1.gz';
  const isIndex = (path: string) => path.endsWith('.text');
  const lies: NonNullable<LogServer['faults']['lie']>[] = [
    // Other bytes, for logs and for rows: checksums notice them, and the file is read whole.
    (path, made) =>
      isLog(path) && made.status === 206 ? { ...made, body: Buffer.alloc(made.body.length, 7) } : made,
    (path, made) =>
      isIndex(path) && made.status === 206 ? { ...made, body: Buffer.alloc(made.body.length) } : made,
    (path, made) =>
      isIndex(path) && made.status === 206
        ? { ...made, headers: { ...made.headers, 'content-range': 'bytes 0-1/99' } }
        : made,
  ];
  for (const lie of lies) {
    server.faults = { lie };
    const { stdout, stderr } = await grep(needle, server.url);
    expect(stdout).toBe(expected);
    expect(stderr).toContain('read whole');
  }
  const refusals: [NonNullable<LogServer['faults']['lie']>, RegExp][] = [
    [
      (path, made) =>
        isLog(path) && made.status === 206
          ? { ...made, headers: { ...made.headers, 'content-range': 'bytes 1-2/3' } }
          : made,
      /expected bytes \d+ to \d+, got Content-Range "bytes 1-2\/3"/,
    ],
    [
      (path, made) =>
        path.endsWith('text.json')
          ? { ...made, headers: { 'content-length': String(2 ** 40) }, body: Buffer.alloc(10) }
          : made,
      /text\.json: expected at most \d+ bytes, got 1099511627776/,
    ],
    [
      (path, made) => {
        if (!path.endsWith('text.json')) return made;
        const json = made.body.toString().split('\n')[1].replaceAll('old/one.gz', '../../one.gz');
        const sum = spawnSync('gzip', ['-c'], { input: `${json}\n` })
          .stdout.subarray(-8)
          .readUInt32LE(0);
        const body = Buffer.from(`bloomery-text-index 1 ${sum.toString(16).padStart(8, '0')}\n${json}\n`);
        return { ...made, headers: {}, body };
      },
      /expected a list of files, got one with other fields/,
    ],
  ];
  for (const [lie, says] of refusals) {
    server.faults = { lie };
    const { code, stderr } = await grep(needle, server.url);
    expect(code).toBe(2);
    expect(stderr.split('\n').length, stderr).toBe(1);
    expect(stderr).toMatch(says);
  }
}, 120_000);

test('attempts, redirects, broken answers and missing files', async () => {
  const server = await serve();
  const needle = needles(9876)[2];
  const expected = local(server, folder, needle);
  server.faults = { status: { code: 503, times: 2, path: /text\.json|zst|\.text/ } };
  expect((await grep(needle, server.url)).stdout).toBe(expected);
  server.faults = { status: { code: 500, times: 100, path: /app\.log$/ } };
  const failing = await grep(needle, server.url);
  expect([failing.code, failing.stdout]).toEqual([2, expected]);
  expect(failing.stderr).toContain('app.log: the server answered with status 500');
  server.faults = { breakAfter: 100_000 };
  const broken = await grep('-v', 'no line has this', server.url);
  expect([broken.code, broken.stderr]).toEqual([0, expect.not.stringContaining('Cannot')]);
  expect(broken.stdout).toBe(local(server, folder, '-v', 'no line has this'));
  const other = await serve();
  other.faults = {
    redirect: {
      path: /^\//,
      to: (path) => `${server.url}${encodeURI(path.slice(1)).replace('#', '%23').replace('?', '%3F')}`,
    },
  };
  server.faults = {};
  expect((await grep(needle, other.url)).stdout.replaceAll(other.url, server.url)).toBe(expected);
  other.faults = { redirect: { path: /^\//, to: (path) => path } };
  expect((await grep(needle, other.url)).stderr).toContain('expected at most 5 redirects');
  expect((await grep(needle, `${server.url}nothing/`)).stderr).toContain('run bloomery index on the folder');
  const nothing = await grep(needle, `${server.url}nothing.log`);
  expect([nothing.code, nothing.stderr]).toEqual([
    2,
    expect.stringContaining('nothing.log: the server answered with status 404'),
  ]);
}, 180_000);

test('credentials come from the address or a field, go to one origin, and are never printed', async () => {
  const server = await serve();
  const needle = needles(9876)[0];
  const basic = `Basic ${Buffer.from('me:s3cret/word').toString('base64')}`;
  server.faults = { authorization: basic };
  const withUser = server.url.replace('//', '//me:s3cret%2Fword@');
  const found = await grep(needle, withUser);
  expect([found.code, found.stdout]).toEqual([0, local(server, folder, needle)]);
  const file = join(scratch, 'fields');
  writeFileSync(file, `Authorization: ${basic}\n`);
  expect((await grep('--header', `@${file}`, needle, server.url)).code).toBe(0);
  expect((await grep('--header', `authorization: ${basic}`, needle, server.url)).code).toBe(0);
  const refused = await grep(needle, `${server.url.replace('//', '//me:wrong@')}?signature=abc`);
  expect(refused.code).toBe(2);
  for (const { stdout, stderr } of [found, refused])
    expect(stdout + stderr).not.toMatch(/s3cret|wrong|abc|Basic/);
  expect((await grep('--header', 'nonsense s3cret', needle, server.url)).stderr).toMatch(
    /--header is no field; write --header "Name: value"$/,
  );
  // Another origin does not get the field.
  const seen: (string | undefined)[] = [];
  const other = await serve();
  other.faults = { before: (_, request) => seen.push(request.headers.authorization) };
  server.faults = { redirect: { path: /^\//, to: (path) => `${other.url}${path.slice(1)}` } };
  await grep(needle, withUser);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((value) => value !== undefined)).toEqual([]);
}, 120_000);
