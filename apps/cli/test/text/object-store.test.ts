/** Logs in an object store over HTTPS, searched by the command, with the faults of such stores. */

import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import type { GramScheme } from '@bloomery/stores/text';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { indexFolder } from '../../src/text/index-folder.ts';
import { COMMAND, type Run, temporaryFolder } from '../run-command.ts';
import { type Certificate, makeCertificate, ObjectStore, refusal } from './object-store.ts';

const SCHEME: GramScheme = { gram: 5, extra: 8, extraRule: 'run', bitsLog2: 13, limit: 4096 };
const UPLOADED = 1_700_000_000;

const scratch = temporaryFolder();
const folder = join(scratch, 'logs');
let certificate: Certificate;
let store: ObjectStore;

function logText(seed: number): Buffer {
  const random = new Random(seed);
  const hex = () => (random.bits() >>> 0).toString(16).padStart(8, '0');
  return Buffer.from(
    Array.from({ length: 5000 }, (_, i) => `file ${seed} line ${i} trace=${hex()}${hex()}\n`).join(''),
  );
}

beforeAll(async () => {
  certificate = makeCertificate(scratch);
  mkdirSync(folder);
  const members = (text: Buffer) =>
    Buffer.concat(
      Array.from({ length: 20 }, (_, i) => gzipSync(text.subarray(i * 10_000, (i + 1) * 10_000))),
    );
  writeFileSync(join(folder, 'app.log'), logText(1));
  writeFileSync(join(folder, 'app log+1.gz'), members(logText(2)));
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), 1e9, 1e9);
  await indexFolder(folder, { scheme: SCHEME });
});
beforeEach(async () => {
  store = await ObjectStore.start(certificate);
  // The logs first, then the index.
  for (const name of ['app.log', 'app log+1.gz']) put(name, UPLOADED);
  for (const name of readdirSync(join(folder, '.bloomery'))) put(`.bloomery/${name}`, UPLOADED + 10);
});
afterEach(() => store.close());

function put(name: string, uploaded: number, body = readFileSync(join(folder, name))): void {
  store.put(`app/${name}`, body, uploaded);
}

/** Runs the command, which trusts the certificate of the store. */
async function grep(address: string, needle: string, ...more: string[]): Promise<Run> {
  const child = spawn(process.execPath, [COMMAND, 'grep', '--stats', ...more, needle, address], {
    env: { ...process.env, NO_COLOR: '', NODE_EXTRA_CA_CERTS: certificate.path },
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const [stdout, stderr] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  return { code: await ended, stdout, stderr };
}

const lineOf = (seed: number, line: number) => logText(seed).toString('latin1').split('\n')[line];

test('a folder in a bucket: the right lines, little is downloaded, and the signature is not shown', async () => {
  const { code, stdout, stderr } = await grep(store.url('app/'), 'line 4321 trace', '-n');
  const shown = store.url('app/').split('?')[0];
  expect(stdout).toBe(
    `${shown}app log+1.gz:4322:${lineOf(2, 4321)}\n${shown}app.log:4322:${lineOf(1, 4321)}\n`,
  );
  expect(code).toBe(0);
  expect(stderr).toContain('read whole    0 files');
  expect(stdout + stderr).not.toContain(store.signature);
  expect(store.requests.filter((one) => /^GET app\/app/.test(one) && !one.includes('bytes='))).toEqual([]);
  // One file, whose index is in the folder above it. Keys that are not there get 403.
  const one = await grep(store.url('app/app.log'), 'line 4321 trace', '-h');
  expect([one.code, one.stdout]).toEqual([0, `${lineOf(1, 4321)}\n`]);
  expect(one.stderr).toContain('read whole    0 files');
});

test('an object that was overwritten after the index came is read whole, at the same size', async () => {
  const body = readFileSync(join(folder, 'app.log'));
  body.write('a-new-line-in-the-middle', body.length >> 1);
  put('app.log', UPLOADED + 20, body);
  const { stdout, stderr } = await grep(store.url('app/'), 'a-new-line-in-the-middle', '-c', '-h');
  expect(stdout).toBe('0\n1\n');
  expect(stderr).toContain('1 changed since they were indexed');
});

test('an object that is overwritten, cut or deleted during the search is an error, never a mixture', async () => {
  const body = readFileSync(join(folder, 'app.log'));
  const changes: [string, () => unknown, RegExp][] = [
    // The store ignores If-Range: the ETag tells.
    [
      'overwritten',
      () => put('app.log', UPLOADED, Buffer.from(body).fill(120, 0, 50)),
      /app\.log: it was changed/,
    ],
    ['cut', () => put('app.log', UPLOADED, body.subarray(0, 10)), /app\.log: it was changed/],
    ['deleted', () => store.objects.delete('app/app.log'), /app\.log: the server answered with status 403/],
  ];
  for (const [name, change, says] of changes) {
    put('app.log', UPLOADED);
    store.instead = (key, { method }, answer) => {
      if (key === 'app/app.log' && method === 'GET') change();
      return answer();
    };
    const { code, stdout, stderr } = await grep(store.url('app/'), 'line 4321 trace', '-h');
    expect([code, stdout], name).toEqual([2, `${lineOf(2, 4321)}\n`]);
    expect(stderr, name).toMatch(says);
  }
});

test('a store without ranges, one that lies about them, and one that asks for patience', async () => {
  store.instead = (_, request, answer) => {
    delete request.headers.range;
    return answer();
  };
  const whole = await grep(store.url('app/'), 'line 4321 trace', '-c', '-h');
  expect([whole.code, whole.stdout]).toEqual([0, '1\n1\n']);
  expect(whole.stderr).toContain('the server does not answer range requests');
  store.instead = (key, _, answer) => {
    const made = answer();
    if (key !== 'app/app.log' || made.status !== 206) return made;
    const length = Number(made.headers['content-length']);
    return { ...made, headers: { ...made.headers, 'content-range': `bytes 0-${length - 1}/${length}` } };
  };
  const lied = await grep(store.url('app/'), 'file 1 line 4321 trace', '-h');
  expect([lied.code, lied.stdout]).toEqual([2, '']);
  expect(lied.stderr).toMatch(/app\.log: expected bytes \d+ to \d+, got Content-Range "bytes 0-/);
  let slow = 3;
  store.instead = (_, __, answer) =>
    slow-- > 0 ? refusal(503, 'SlowDown', { 'retry-after': '0' }) : answer();
  expect((await grep(store.url('app/'), 'line 4321 trace', '-c', '-h')).stdout).toBe('1\n1\n');
});

test('redirects lead to another region over HTTPS, and never to a server without it', async () => {
  const region = await ObjectStore.start(certificate);
  const open = createServer((_, response) => response.end('a secret')).listen(0, '127.0.0.1');
  try {
    for (const [key, object] of store.objects) region.objects.set(key, object);
    store.instead = (key) => refusal(307, 'TemporaryRedirect', { location: region.url(encodeURI(key)) });
    const found = await grep(store.url('app/'), 'line 4321 trace', '-c', '-h');
    expect([found.code, found.stdout]).toEqual([0, '1\n1\n']);
    expect(region.requests.length).toBeGreaterThan(3);
    store.instead = () =>
      refusal(307, 'TemporaryRedirect', {
        location: `http://127.0.0.1:${(open.address() as AddressInfo).port}/`,
      });
    const refused = await grep(store.url('app/'), 'line 4321 trace');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/^bloomery: Cannot read .*: it redirects from https to http\n/);
  } finally {
    await region.close();
    open.close();
  }
});

test('a certificate that is not trusted: one message at once, and nothing is sent', async () => {
  const other = join(scratch, 'other');
  mkdirSync(other);
  const stranger = await ObjectStore.start(makeCertificate(other));
  try {
    const { code, stdout, stderr } = await grep(stranger.url('app/'), 'line 4321 trace');
    expect([code, stdout, stranger.requests]).toEqual([2, '', []]);
    expect(stderr).toMatch(/^bloomery: Cannot read .*self-signed certificate.*NODE_EXTRA_CA_CERTS.*\n/);
    expect(stderr).toContain('in 1 requests');
  } finally {
    await stranger.close();
  }
});
