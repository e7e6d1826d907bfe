/**
 * curl through a node: what it gets is what the origin has, and the second time the origin is not
 * asked. The numbers are the origin's own count of requests.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type OriginLab, startOrigin } from '@bloomery/testkit/origins/origin-lab';
import {
  clientFolder,
  fileSha256,
  need,
  type ProgramRun,
  run,
  runAny,
  sha256,
} from '@bloomery/testkit/programs/client-program';
import { selfSigned } from '@bloomery/testkit/programs/self-signed';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type ClientNode, startClientNode } from './client-node.ts';

const folder = clientFolder();
const FRESH = ['Cache-Control', 'max-age=600'];
const content = randomBytes(300_000);
let origin: OriginLab;
let node: ClientNode;

beforeEach((context) => need(context, 'curl'));
beforeAll(async () => {
  origin = await startOrigin();
  const upstream = `/docs/=${origin.origin}/`;
  node = await startClientNode('--forward', '--allow-private', '--upstream', upstream);
});
afterAll(async () => {
  await node?.stop();
  await origin?.close();
});

interface FetchDecision {
  readonly status: number;
  /** The last head, as it came. */
  readonly head: string;
  readonly sha256: string;
  readonly run: ProgramRun;
}

let files = 0;

async function curl(...args: string[]): Promise<FetchDecision> {
  const name = join(folder, String(++files));
  const common = ['-sS', '-m', '30', '-D', `${name}.head`, '-w', '%{http_code}'];
  if (!args.includes('-o') && !args.includes('-I')) common.push('-o', name);
  const done = await run('curl', [...common, ...args]);
  const heads = readFileSync(`${name}.head`, 'latin1').trimEnd().split('\r\n\r\n');
  const file = args.includes('-o') ? args[args.indexOf('-o') + 1]! : name;
  return {
    status: Number(done.stdout.subarray(-3)),
    head: heads.at(-1)!,
    sha256: args.includes('-I') ? '' : fileSha256(file),
    run: done,
  };
}

const proxied = (...args: string[]) => curl('-x', node.url, ...args);

it('gets the same bytes by the forward proxy, the second time without the origin', async () => {
  origin.on('/forward', { headers: FRESH, body: content });
  const first = await proxied(origin.url('/forward'));
  const second = await proxied(origin.url('/forward'));
  expect([first.status, second.status]).toEqual([200, 200]);
  expect([first.sha256, second.sha256]).toEqual([sha256(content), sha256(content)]);
  expect(second.head).toMatch(/^age: \d+$/im);
  expect(second.head).toMatch(/^cache-status: .*; hit/im);
  expect(origin.count('/forward')).toBe(1);
});

it('gets the same bytes below a prefix, and what came by the forward proxy serves both', async () => {
  origin.on('/reverse', { headers: FRESH, body: content });
  const first = await curl(`${node.url}/docs/reverse`);
  const second = await curl(`${node.url}/docs/reverse`);
  const third = await proxied(origin.url('/reverse'));
  for (const { sha256: sum } of [first, second, third]) expect(sum).toBe(sha256(content));
  expect(origin.count('/reverse')).toBe(1);
});

it('follows a redirect of the origin, both steps from the cache', async () => {
  const headers = [...FRESH, 'Location', `${origin.origin}/moved/here`];
  origin.on('/moved', { status: 301, headers, body: 'moved' });
  origin.on('/moved/here', { headers: FRESH, body: content });
  for (let time = 0; time < 2; time++) {
    const fetched = await curl('-L', `${node.url}/docs/moved`);
    expect([fetched.status, fetched.sha256]).toEqual([200, sha256(content)]);
  }
  expect([origin.count('/moved'), origin.count('/moved/here')]).toEqual([1, 1]);
});

it('gets ranges out of the whole that is stored', async () => {
  origin.on('/whole', { headers: [...FRESH, 'ETag', '"whole"', 'Accept-Ranges', 'bytes'], body: content });
  await proxied(origin.url('/whole'));
  for (const [range, from, end] of [
    ['0-0', 0, 1],
    ['1000-2999', 1000, 3000],
    ['299999-', 299_999, 300_000],
    ['-500', 299_500, 300_000],
  ] as const) {
    const part = await proxied('-r', range, origin.url('/whole'));
    expect([range, part.status, part.sha256]).toEqual([range, 206, sha256(content.subarray(from, end))]);
  }
  expect(origin.count('/whole')).toBe(1);
});

it('gets a range that was stored by itself, and completes it without asking for it again', async () => {
  origin.on('/parts', (request) => {
    const headers = [...FRESH, 'ETag', '"parts"', 'Accept-Ranges', 'bytes'];
    const asked = /^bytes=(\d+)-(\d*)$/.exec(request.header('range') ?? '');
    if (asked === null) return { headers, body: content };
    const [from, last] = [Number(asked[1]), asked[2] === '' ? content.length - 1 : Number(asked[2])];
    headers.push('Content-Range', `bytes ${from}-${last}/${content.length}`);
    return { status: 206, headers, body: content.subarray(from, last + 1) };
  });
  for (let time = 0; time < 2; time++) {
    const part = await proxied('-r', '0-99999', origin.url('/parts'));
    expect([part.status, part.sha256]).toEqual([206, sha256(content.subarray(0, 100_000))]);
  }
  expect(origin.count('/parts')).toBe(1);
  const whole = await proxied(origin.url('/parts'));
  expect([whole.status, whole.sha256]).toEqual([200, sha256(content)]);
  expect(origin.requests.filter(({ url }) => url === '/parts').map((each) => each.header('range'))).toEqual([
    'bytes=0-99999',
    'bytes=100000-',
  ]);
  expect((await proxied(origin.url('/parts'))).sha256).toBe(sha256(content));
  expect(origin.count('/parts')).toBe(2);
});

it('resumes a download that broke off (-C -) from the cache', async () => {
  origin.on('/resume', { headers: [...FRESH, 'ETag', '"resume"', 'Accept-Ranges', 'bytes'], body: content });
  await proxied(origin.url('/resume'));
  const file = join(folder, 'broken-off');
  writeFileSync(file, content.subarray(0, 123_456));
  const rest = await proxied('-C', '-', '-o', file, origin.url('/resume'));
  expect([rest.status, rest.sha256]).toEqual([206, sha256(content)]);
  expect(origin.count('/resume')).toBe(1);
});

it('is told that nothing has changed, by date (-z) and by tag (--etag-compare), without the origin', async () => {
  const headers = [...FRESH, 'ETag', '"v1"', 'Last-Modified', 'Mon, 01 Jan 2024 00:00:00 GMT'];
  origin.on('/conditional', { headers, body: content });
  const tags = join(folder, 'tags');
  await proxied('--etag-save', tags, origin.url('/conditional'));
  expect(readFileSync(tags, 'utf8').trim()).toBe('"v1"');
  const byTag = await proxied('--etag-compare', tags, '-o', '/dev/null', origin.url('/conditional'));
  const byDate = await proxied('-z', '1 Feb 2024', '-o', '/dev/null', origin.url('/conditional'));
  const changed = await proxied('-z', '1 Feb 2023', origin.url('/conditional'));
  expect([byTag.status, byDate.status, changed.status]).toEqual([304, 304, 200]);
  expect(changed.sha256).toBe(sha256(content));
  expect(origin.count('/conditional')).toBe(1);
});

it('gets the head alone (-I) from what is stored, with the length of the body', async () => {
  origin.on('/head', { headers: FRESH, body: content });
  await proxied(origin.url('/head'));
  const head = await proxied('-I', origin.url('/head'));
  expect(head.status).toBe(200);
  expect(head.head).toMatch(/^content-length: 300000$/im);
  expect(origin.count('/head')).toBe(1);
});

it('gets the variant that it can read, each stored once', async () => {
  const text = 'all work and no play '.repeat(5000);
  origin.on('/variants', (request) => {
    const packed = request.header('accept-encoding')?.includes('gzip') ?? false;
    const headers = [...FRESH, 'Vary', 'Accept-Encoding', ...(packed ? ['Content-Encoding', 'gzip'] : [])];
    return { headers, body: packed ? gzipSync(text) : text };
  });
  for (let time = 0; time < 2; time++) {
    const plain = await proxied(origin.url('/variants'));
    const packed = await proxied('--compressed', origin.url('/variants'));
    expect([plain.sha256, packed.sha256]).toEqual([sha256(text), sha256(text)]);
    expect(plain.head).not.toMatch(/^content-encoding:/im);
    expect(packed.head).toMatch(/^content-encoding: gzip$/im);
  }
  expect(origin.count('/variants')).toBe(2);
});

it('uploads with Expect: 100-continue, after which the old version is not served any more', async () => {
  let current: Uint8Array = Buffer.from('old');
  origin.on('/upload', (request) => {
    if (request.method !== 'PUT') return { headers: FRESH, body: current };
    current = request.body;
    return { status: 204 };
  });
  await proxied(origin.url('/upload'));
  const file = join(folder, 'upload');
  writeFileSync(file, randomBytes(2_000_000));
  // Verbose: curl tells whether it was asked to go on.
  const done = await proxied('-v', '-T', file, '-H', 'Expect: 100-continue', origin.url('/upload'));
  expect(done.status).toBe(204);
  expect(done.run.stderr).toContain('< HTTP/1.1 100 Continue');
  expect(sha256(current)).toBe(fileSha256(file));
  for (let time = 0; time < 2; time++) {
    expect((await proxied(origin.url('/upload'))).sha256).toBe(fileSha256(file));
  }
  expect(origin.count('/upload')).toBe(3);
});

it('uploads in chunks, of unknown length', async () => {
  const body = randomBytes(1_000_000);
  origin.on('/chunks', (request) => ({
    body: `${request.header('content-length')} ${sha256(request.body)}`,
  }));
  const { stdout } = await run(
    'curl',
    ['-sS', '-m', '30', '-x', node.url, '-T', '-', origin.url('/chunks')],
    {
      input: body,
    },
  );
  expect(stdout.toString()).toBe(`undefined ${sha256(body)}`);
});

it('uses one connection for many, and HTTP/1.0 too', async () => {
  origin.on('/many', { headers: FRESH, body: content });
  const many = await run('curl', [
    ...['-sS', '-m', '30', '-x', node.url, '-w', '%{num_connects} '],
    ...Array.from({ length: 5 }, () => ['-o', '/dev/null', origin.url('/many')]).flat(),
  ]);
  expect(many.stdout.toString()).toBe('1 0 0 0 0 ');
  const old = await proxied('-0', origin.url('/many'));
  expect([old.status, old.sha256]).toEqual([200, sha256(content)]);
  expect(origin.count('/many')).toBe(1);
});

it('tunnels to a TLS origin on an allowed port only; below a prefix the same origin is cached', async (context) => {
  need(context, 'openssl');
  const { key, cert } = selfSigned(folder, 'origin');
  await using secure = await startOrigin({
    tls: { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') },
  });
  await using other = await startClientNode(
    ...['--forward', '--allow-private', '--connect-ports', String(secure.port)],
    ...['--upstream', `/secure/=${secure.origin}/`, '--origin-ca', cert],
  );
  secure.on('/a', { headers: FRESH, body: content });
  for (let time = 1; time <= 2; time++) {
    const fetched = await curl('-x', other.url, '--cacert', cert, secure.url('/a'));
    expect([fetched.status, fetched.sha256]).toEqual([200, sha256(content)]);
    // No proxy on the way can read the bytes in a tunnel, so none can keep them.
    expect(secure.count('/a')).toBe(time);
  }
  for (let time = 0; time < 2; time++) {
    expect((await curl(`${other.url}/secure/a`)).sha256).toBe(sha256(content));
  }
  expect(secure.count('/a')).toBe(3);
  // The node of the other tests has 443 alone.
  const refused = await runAny('curl', [
    '-sS',
    '-m',
    '20',
    '-x',
    node.url,
    '--cacert',
    cert,
    secure.url('/a'),
  ]);
  expect(refused.code).toBe(56);
  expect(refused.stderr).toContain('403');
  expect(secure.count('/a')).toBe(3);
});
