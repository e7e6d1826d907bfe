import { createHash } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { eventually } from '@bloomery/testkit/eventually';
import { expect, test } from 'vitest';
import { LearntDigests } from './learnt-digests.ts';
import { type MetadataDesk, metadataReader } from './metadata-reader.ts';

const hex = createHash('sha256').update('a').digest('hex');
const PACKAGES = `Package: a\nFilename: pool/main/a/a_1.deb\nSHA256: ${hex}\n\n`;
const INDEX = 'http://deb.example/debian/dists/sid/main/binary-amd64/Packages';
const FILE = 'http://deb.example/debian/pool/main/a/a_1.deb';
const sri = `sha512-${createHash('sha512').update('a').digest('base64')}`;

function newDesk(others: MetadataDesk['others'] = new Map()): MetadataDesk {
  return { learnt: new LearntDigests(Buffer.alloc(16, 1)), others, readers: 0 };
}

/** Reads a document in pieces. Returns false if it is not read at all. */
function read(desk: MetadataDesk, key: string, body: Uint8Array, headers: string[] = []): boolean {
  const reader = metadataReader(desk, key, { status: 200, statusText: 'OK', headers });
  if (reader === null) return false;
  for (let at = 0; at < body.length; at += 100) reader.add(body.subarray(at, at + 100));
  reader.end();
  return true;
}

test.each([
  ['Packages', INDEX, Buffer.from(PACKAGES), []],
  ['Packages.gz', `${INDEX}.gz`, gzipSync(PACKAGES), []],
  ['by-hash, gzip', INDEX.replace('Packages', `by-hash/SHA256/${hex}`), gzipSync(PACKAGES), []],
  ['by-hash, plain', INDEX.replace('Packages', `by-hash/SHA256/${hex}`), Buffer.from(PACKAGES), []],
  ['Content-Encoding: gzip', INDEX, gzipSync(PACKAGES), ['Content-Encoding', 'gzip']],
  ['Content-Encoding: br', INDEX, brotliCompressSync(PACKAGES), ['Content-Encoding', 'br']],
])('%s states the digest of a package', async (_name, key, body, headers) => {
  const desk = newDesk();
  expect(read(desk, key, body, headers)).toBe(true);
  await eventually(() => desk.readers === 0);
  expect(desk.learnt.find(FILE)?.hex).toBe(hex.slice(0, 32));
});

test('a repository without suites counts from the folder of its index', () => {
  const desk = newDesk();
  read(desk, 'http://deb.example/flat/Packages', Buffer.from(`Filename: ./a.deb\nSHA256: ${hex}\n`));
  expect(desk.learnt.find('http://deb.example/flat/a.deb')).not.toBeNull();
});

test('a document that breaks off, is dropped or is damaged states nothing', async () => {
  const desk = newDesk();
  const head = { status: 200, statusText: 'OK', headers: [] };
  const cut = metadataReader(desk, INDEX, head)!;
  cut.add(Buffer.from(PACKAGES));
  cut.drop();
  cut.end();
  const damaged = gzipSync(PACKAGES);
  damaged[damaged.length - 5]! ^= 1;
  read(desk, `${INDEX}.gz`, damaged);
  await eventually(() => desk.readers === 0);
  expect(desk.learnt.size).toBe(0);
});

test('other responses are not read, nor a fifth document at a time, nor one that is too long', () => {
  const desk = newDesk();
  const type = ['Content-Type', 'text/html'];
  expect(read(desk, 'http://a.example/', Buffer.from(PACKAGES), type)).toBe(false);
  expect(metadataReader(desk, INDEX, { status: 206, statusText: '', headers: [] })).toBeNull();
  expect(read(desk, INDEX, Buffer.from(''), ['Content-Length', '16777217'])).toBe(false);
  expect(read(desk, INDEX, Buffer.from(''), ['Content-Encoding', 'zstd'])).toBe(false);
  const head = { status: 200, statusText: 'OK', headers: [] };
  const readers = Array.from({ length: 5 }, () => metadataReader(desk, INDEX, head));
  expect(readers.map((reader) => reader !== null)).toEqual([true, true, true, true, false]);
  for (const reader of readers) reader?.drop();
  expect(desk.readers).toBe(0);
  const long = metadataReader(desk, INDEX, head)!;
  for (let at = 0; at < 257; at++) long.add(Buffer.alloc(65_536, 0x0a));
  long.end();
  expect([desk.readers, desk.learnt.size]).toEqual([0, 0]);
});

test('a small document that decodes to 200 MB is given up', async () => {
  const desk = newDesk();
  const bomb = gzipSync(Buffer.concat([Buffer.from(PACKAGES), Buffer.alloc(200 << 20, 0x0a)]));
  expect(bomb.length).toBeLessThan(1 << 20);
  read(desk, `${INDEX}.gz`, bomb);
  await eventually(() => desk.readers === 0, 60_000);
  expect(desk.learnt.size).toBe(0);
});

test('files of other origins count only if the operator lists them', () => {
  const document = (tarball: string) =>
    Buffer.from(JSON.stringify({ name: 'a', dist: { tarball, integrity: sri } }));
  const type = ['Content-Type', 'application/vnd.npm.install-v1+json'];
  const desk = newDesk(new Map([['https://r.example', new Set(['https://files.example'])]]));
  for (const tarball of [
    'https://files.example/a.tgz',
    'https://r.example/a.tgz',
    'http://r.example/a.tgz',
    '/b.tgz',
  ])
    read(desk, 'https://r.example/a', document(tarball), type);
  read(desk, 'https://evil.example/a', document('https://files.example/c.tgz'), type);
  const known = ['https://files.example/a.tgz', 'https://r.example/a.tgz', 'https://r.example/b.tgz'];
  expect(known.map((key) => desk.learnt.find(key) !== null)).toEqual([true, true, true]);
  expect(desk.learnt.size).toBe(3);
});
