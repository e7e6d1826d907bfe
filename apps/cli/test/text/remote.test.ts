/** Searches of servers on the loopback interface, with their faults, and the command itself. */

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import type { GramScheme } from '@bloomery/stores/text';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { indexFolder } from '../../src/text/index-folder.ts';
import { COMMAND, type Run, temporaryFolder } from '../run-command.ts';
import { type LogServer, serveLogs } from './log-server.ts';
import { searchInProcess } from './search-in-process.ts';

/** Small blocks, so that small files have many of them. */
const SCHEME: GramScheme = { gram: 5, extra: 8, extraRule: 'run', bitsLog2: 13, limit: 4096 };
const LINES = 4000;

const scratch = temporaryFolder();
const servers: LogServer[] = [];
let folder: string;
let text: Buffer;

/** Files of the three kinds with many blocks, older than their index. */
beforeAll(async () => {
  folder = join(scratch, 'logs');
  mkdirSync(join(folder, 'old'), { recursive: true });
  text = logText(1);
  writeFileSync(join(folder, 'app.log'), text);
  writeFileSync(
    join(folder, 'app.log.1.gz'),
    inPieces(logText(2), (piece) => gzipSync(piece)),
  );
  writeFileSync(join(folder, 'app #2?.zst'), inPieces(logText(3), zstd));
  writeFileSync(join(folder, 'old/one.gz'), gzipSync(logText(4)));
  writeFileSync(join(folder, 'old/damaged.gz'), gzipSync(logText(5)).subarray(0, 20_000));
  writeFileSync(join(folder, 'old/empty'), '');
  age(folder, 3600);
  await indexFolder(folder, { scheme: SCHEME });
  age(join(folder, '.bloomery'), 60);
}, 120_000);
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

function logText(seed: number): Buffer {
  const random = new Random(seed);
  const hex = () => (random.bits() >>> 0).toString(16).padStart(8, '0');
  return Buffer.from(
    Array.from({ length: LINES }, (_, i) => `file ${seed} line ${i} trace=${hex()}${hex()}\n`).join(''),
  );
}

function inPieces(bytes: Buffer, pack: (piece: Buffer) => Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 20_000) pieces.push(pack(bytes.subarray(at, at + 20_000)));
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

/** Searches a server. The errors are those of files other than the damaged one. */
async function grep(pattern: string, address: string, flags: readonly string[] = []) {
  const found = await searchInProcess({ pattern, flags }, address);
  return { ...found, errors: found.errors.filter((message) => !message.includes('damaged.gz')) };
}

/** The lines of a search in the folder at hand, with the address instead of its path. */
async function local(server: LogServer, path: string, pattern: string, flags: readonly string[] = []) {
  const { output } = await searchInProcess({ pattern, flags }, [path]);
  return output.replaceAll(`${path}/`, server.url);
}

const needles = (line: number) => [
  text.toString('latin1').split('\n')[line].slice(-16),
  `file 2 line ${line} trace`,
  `file 3 line ${line} trace`,
  `line ${line} t`,
];

test('the lines are those of the folder at hand, and only list, rows and blocks are downloaded', async () => {
  const server = await serve();
  for (const needle of needles(2876)) {
    const found = await grep(needle, server.url);
    expect(found.output).toBe(await local(server, folder, needle));
    expect(found.errors).toEqual([]);
    expect(found.report.lines).toBeGreaterThan(0);
    // The damaged file is in the list as one that is not indexed, and is read to its damage.
    expect(found.report.whole).toMatchObject({ 'not indexed': 1, changed: 0, 'damaged index': 0 });
  }
  expect(server.parallel.most).toBeLessThanOrEqual(6);
  server.requests.length = 0;
  const nowhere = await grep('certainly-not-anywhere', server.url);
  expect([nowhere.output, nowhere.traffic.requests]).toEqual(['', server.requests.length]);
  // Files that cannot contain the needle are asked for their state, and for nothing more.
  const bodies = server.requests.filter((one) => one.startsWith('GET'));
  expect(bodies.filter((one) => !/\.bloomery|damaged/.test(one))).toEqual([]);
  expect(bodies.filter((one) => one.endsWith('.text'))).toEqual([]);
  for (const flags of [['-C2'], ['-c'], ['-L'], ['-n']])
    expect((await grep(needles(17)[3], server.url, flags)).output).toBe(
      await local(server, folder, needles(17)[3], flags),
    );
  const one = await grep(needles(5)[3], `${server.url}old/one.gz`);
  expect([one.report.lines, one.report.whole['not indexed']]).toEqual([1, 0]);
}, 120_000);

test('a file that changed after the index was uploaded is read whole', async () => {
  const copy = copied('changed');
  const server = await serve(copy);
  const path = join(copy, 'app.log');
  const bytes = readFileSync(path);
  // In the middle, with the same size: only the time on the server tells.
  bytes.write('XXXX-changed-XXXX', bytes.length >> 1);
  writeFileSync(path, bytes);
  // After the list, in the same second, and before the last change that the list knows.
  for (const seconds of [30, 60, 7200]) {
    setAge(path, seconds);
    const { report } = await grep('XXXX-changed-XXXX', server.url);
    expect([report.lines, report.whole.changed], String(seconds)).toEqual([1, 1]);
  }
  writeFileSync(join(copy, 'app.log.1.gz'), gzipSync('quite another text\n'));
  setAge(join(copy, 'app.log.1.gz'), 3600);
  expect((await grep('quite another', server.url)).report.lines).toBe(1);
  writeFileSync(path, text);
  appendFileSync(path, 'lines that came later\n');
  const grown = await grep('lines that came later', server.url, ['-n']);
  expect(grown.output).toBe(`${server.url}app.log:${LINES + 1}:lines that came later\n`);
  expect(grown.report.textBytes).toBeLessThan(text.length);
}, 120_000);

test('a file that changes during the search is an error, never a mixture', async () => {
  const copy = copied('meanwhile');
  const server = await serve(copy);
  server.faults = {
    before: (name, { headers }) => {
      if (name !== '/app.log' || headers.range === undefined) return;
      writeFileSync(join(copy, 'app.log'), `${text.toString('latin1').slice(0, -5)}new!\n`);
    },
  };
  const { errors, report } = await grep(needles(3000)[0], server.url);
  expect(report.failed).toBe(true);
  expect(errors).toEqual([expect.stringContaining('app.log: it was changed while it was read')]);
}, 60_000);

test('servers without ranges, HEAD or times: the same lines from whole files', async () => {
  const server = await serve();
  const needle = needles(2876)[3];
  const expected = await local(server, folder, needle);
  for (const [faults, why] of [
    [{ noRanges: true }, 'no ranges'],
    [{ noValidators: true }, 'unknown age'],
    [{ noHead: true }, null],
    [{ noHead: true, noRanges: true, noValidators: true }, 'no ranges'],
  ] as const) {
    server.faults = faults;
    const { output, report, errors } = await grep(needle, server.url);
    expect(output, JSON.stringify(faults)).toBe(expected);
    if (why === 'no ranges')
      expect(errors).toEqual([expect.stringContaining('does not answer range requests')]);
    if (why === null) expect(report.whole).toMatchObject({ 'unknown age': 0, 'no ranges': 0, changed: 0 });
    else if (why === 'unknown age') expect(report.whole[why]).toBe(5);
  }
  // Ranges of the index alone: the logs are read whole.
  server.faults = {
    lie: (path, made) =>
      path === '/app.log.1.gz' && made.status === 206
        ? { status: 200, headers: { etag: made.headers.etag }, body: readFileSync(join(folder, path)) }
        : made,
  };
  const { output, report } = await grep(needle, server.url);
  expect([output, report.whole['no ranges']]).toEqual([expected, 1]);
}, 120_000);

test('a server that lies: the right lines or one message, within the limits', async () => {
  const server = await serve();
  const needle = needles(2876)[1];
  const expected = await local(server, folder, needle);
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
    const { output, report } = await grep(needle, server.url);
    expect(output).toBe(expected);
    expect(report.whole.changed + report.whole['damaged index']).toBeGreaterThan(0);
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
    const errors = await grep(needle, server.url).then(
      (found) => found.errors,
      (error: Error) => [error.message],
    );
    expect(errors).toEqual([expect.stringMatching(says)]);
  }
}, 120_000);

test('attempts, redirects, broken answers and missing files', async () => {
  const server = await serve();
  const needle = needles(2876)[2];
  const expected = await local(server, folder, needle);
  server.faults = { status: { code: 503, times: 2, path: /text\.json|zst|\.text/ } };
  expect((await grep(needle, server.url)).output).toBe(expected);
  server.faults = { status: { code: 500, times: 100, path: /app\.log$/ } };
  const failing = await grep(needle, server.url);
  expect([failing.output, failing.errors]).toEqual([
    expected,
    [expect.stringContaining('app.log: the server answered with status 500')],
  ]);
  server.faults = { breakAfter: 70_000 };
  const broken = await grep('no line has this', server.url, ['-v']);
  expect(broken.errors).toEqual([]);
  expect(broken.output === (await local(server, folder, 'no line has this', ['-v']))).toBe(true);
  const other = await serve();
  const encoded = (path: string) => encodeURI(path.slice(1)).replace('#', '%23').replace('?', '%3F');
  other.faults = { redirect: { path: /^\//, to: (path) => `${server.url}${encoded(path)}` } };
  server.faults = {};
  expect((await grep(needle, other.url)).output.replaceAll(other.url, server.url)).toBe(expected);
  other.faults = { redirect: { path: /^\//, to: (path) => path } };
  await expect(grep(needle, other.url)).rejects.toThrow('expected at most 5 redirects');
  await expect(grep(needle, `${server.url}nothing/`)).rejects.toThrow('run bloomery index on the folder');
  const nothing = await grep(needle, `${server.url}nothing.log`);
  expect(nothing.errors).toEqual([
    expect.stringContaining('nothing.log: the server answered with status 404'),
  ]);
}, 180_000);

test('credentials come from the address or a field, and go to one origin', async () => {
  const server = await serve();
  const needle = needles(2876)[0];
  const basic = `Basic ${Buffer.from('me:s3cret/word').toString('base64')}`;
  server.faults = { authorization: basic };
  const withUser = server.url.replace('//', '//me:s3cret%2Fword@');
  expect((await grep(needle, withUser)).output).toBe(await local(server, folder, needle));
  const byField = await searchInProcess({ pattern: needle, headers: { authorization: basic } }, server.url);
  expect(byField.report.lines).toBe(1);
  const seen: (string | undefined)[] = [];
  const other = await serve();
  other.faults = { before: (_, request) => seen.push(request.headers.authorization) };
  server.faults = { redirect: { path: /^\//, to: (path) => `${other.url}${path.slice(1)}` } };
  await grep(needle, withUser).catch(() => {});
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((value) => value !== undefined)).toEqual([]);
}, 120_000);

/** Runs the command while the servers of this process answer. */
async function command(...args: string[]): Promise<Run> {
  const child = spawn(process.execPath, [COMMAND, 'grep', ...args], {
    env: { ...process.env, NO_COLOR: '' },
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  return { code: await ended, stdout, stderr };
}

test('the command prints addresses without credentials, what it downloaded, and the codes of grep', async () => {
  const server = await serve();
  const needle = needles(2876)[0];
  const basic = `Basic ${Buffer.from('me:s3cret').toString('base64')}`;
  server.faults = { authorization: basic };
  const fields = join(scratch, 'fields');
  writeFileSync(fields, `Authorization: ${basic}\n`);
  const exclude = ['--exclude', 'damaged*'];
  const found = await command('--stats', '--header', `@${fields}`, ...exclude, needle, server.url);
  expect([found.code, found.stdout]).toEqual([0, await local(server, folder, needle)]);
  expect(found.stderr).toMatch(/read whole {4}0 files\ndownloaded {4}[\d.]+ kB in \d+ requests\n$/);
  const refused = await command(needle, `${server.url.replace('//', '//me:wr0ng@')}?signature=abc`);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toMatch(/^bloomery: Cannot .*text\.json: the server answered with status 401\n$/);
  const nonsense = await command('--header', 'nonsense s3cret', needle, server.url);
  expect(nonsense.stderr).toContain('--header is no field; write --header "Name: value"');
  for (const { stdout, stderr } of [found, refused, nonsense])
    expect(stdout + stderr).not.toMatch(/s3cret|wr0ng|abc|Basic/);
  server.faults = { authorization: basic, noValidators: true };
  const aged = await command('--header', `@${fields}`, ...exclude, 'certainly not', server.url);
  expect([aged.code, aged.stderr]).toEqual([1, expect.stringContaining('does not say when they changed')]);
}, 120_000);
