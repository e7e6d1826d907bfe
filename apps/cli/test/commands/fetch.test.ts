/** `bloomery seed` and `bloomery fetch`, as users run them. */

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { until } from '@bloomery/testkit/eventually';
import { knownBody, knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, onTestFinished, test } from 'vitest';
import { bloomery, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const PATH = knownPath('model', 5_000_000);
const BODY = knownBody(PATH);
const DIGEST = createHash('sha256').update(BODY).digest('hex');
const FILE = join(folder, 'model.bin');
writeFileSync(FILE, BODY);

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command, and tells its end and its lines. */
function start(words: readonly string[]) {
  const child = startBloomery(words, folder);
  const lines: string[] = [];
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout: lines.join('\n'), stderr })),
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, lines, ended };
}

/** Starts a seed on any port. Returns its address. */
async function startSeed(words: readonly string[] = []): Promise<string> {
  const { lines } = start(['seed', FILE, '--listen', '127.0.0.1:0', '--json', ...words]);
  await until('the seed listens', () => lines.length > 0);
  return (JSON.parse(lines[0]!) as { address: string }).address;
}

test('seed prints the digest as sha256sum does and a command that fetches the file', async () => {
  const { child, lines, ended } = start(['seed', FILE, '--listen', '127.0.0.1:0']);
  await until('the seed listens', () => lines.length >= 3);
  expect(lines[0]).toBe(`${DIGEST}  ${FILE}`);
  const [, , digest, , peer] = lines[2]!.trim().split(' ');
  const copy = join(folder, 'copy.bin');
  const fetched = bloomery(['fetch', digest!, '--peer', peer!, '-o', copy]);
  expect([fetched.stderr, fetched.code]).toEqual(['', 0]);
  expect(fetched.stdout).toMatch(/copy\.bin: 5\.00 MB in .* s: a 127\.0\.0\.1:\d+ 5\.00 MB\n$/);
  expect(readFileSync(copy).equals(BODY)).toBe(true);
  expect(bloomery(['fetch', digest!, '--peer', peer!, '-o', copy]).stdout).toMatch(/was there already\n$/);
  child.kill('SIGTERM');
  expect((await ended).stdout).toMatch(/\nsent 5\.00 MB, refused 0 requests$/);
});

test('fetch refuses what it cannot do, in one line', async () => {
  const seed = await startSeed();
  const taken = join(folder, 'taken');
  writeFileSync(taken, 'mine');
  for (const [words, message] of [
    [['fetch', DIGEST, '-o', 'x'], /no source is named/],
    [['fetch', 'abc', '-o', 'x', '--peer', seed], /neither a URL nor a digest/],
    [['fetch', DIGEST, '--peer', seed], /the name of the file is missing/],
    [['fetch', 'http://127.0.0.1:1/file'], /--digest is missing/],
    [['fetch', DIGEST, '-o', taken, '--peer', seed], /found one; --force replaces it/],
    [['fetch', DIGEST, '-o', join(folder, 'none'), '--peer', 'a b'], /Expected an address/],
    [['fetch', 'ab'.repeat(32), '-o', join(folder, 'n'), '--origin', `${seed}/x`], /got status 404/],
  ] as const) {
    const { stderr, code } = bloomery(words);
    expect([stderr, code]).toEqual([expect.stringMatching(message), 2]);
    expect(stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
  }
  expect(readFileSync(taken, 'utf8')).toBe('mine');
});

test('fetch goes on after kill -9 from the blocks that it had', async () => {
  const seed = await startSeed(['--limit-up', '1MB']);
  const copy = join(folder, 'killed.bin');
  const words = ['fetch', DIGEST, '--peer', seed, '-o', copy, '--json'];
  const { child, ended } = start(words);
  const journal = `${copy}.bloomery-part.blocks`;
  // A head of 48 bytes, and 40 for each block.
  await until('ten blocks', () => existsSync(journal) && statSync(journal).size >= 448);
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(copy)).toBe(false);
  const { stdout, code } = bloomery(words);
  expect(code).toBe(0);
  const report = JSON.parse(stdout) as { resumedBytes: number; peerBytes: number };
  // Blocks come in any order, and the last one of the file is short.
  expect(report.resumedBytes).toBeGreaterThanOrEqual(9 * 65_536 + (BODY.length % 65_536));
  expect(report.resumedBytes + report.peerBytes).toBe(5_000_000);
  expect(readFileSync(copy).equals(BODY)).toBe(true);
});

test('a fetch that is interrupted says how it goes on, and ends by the signal', async () => {
  const seed = await startSeed(['--limit-up', '1MB']);
  const copy = join(folder, 'interrupted.bin');
  const { child, ended } = start(['fetch', DIGEST, '--peer', seed, '-o', copy]);
  await until('a part', () => existsSync(`${copy}.bloomery-part`));
  child.kill('SIGINT');
  expect((await ended).stderr).toMatch(/interrupted; the same command goes on from here/);
});

test('two nodes share a URL: each takes its half from the origin, and the rest from the other', async () => {
  await using origin = await ThrottledOrigin.start({ bytesPerSecond: 4_000_000 });
  await using nats = await NatsServer.start();
  const secret = join(folder, 'secret');
  writeFileSync(secret, 'a secret of many letters\n');
  const shared = ['--nats', `nats://127.0.0.1:${nats.port}`, '--secret-file', secret];
  const nodes = ['one', 'two'].map((name) => {
    const output = join(folder, `${name}.bin`);
    const words = ['fetch', `${origin.url}${PATH}`, '--digest', `sha256:${DIGEST}`, '-o', output];
    return start([...words, '--listen', '127.0.0.1:0', '--json', ...shared]);
  });
  const reports = (await Promise.all(nodes.map(({ ended }) => ended))).map(({ code, stdout, stderr }) => {
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as { originBytes: number; peerBytes: number };
  });
  for (const { originBytes, peerBytes } of reports) {
    expect(originBytes + peerBytes).toBe(5_000_000);
    expect(peerBytes).toBeGreaterThan(1_000_000);
  }
  const sent = origin.requests.reduce((sum, { bytes }) => sum + bytes, 0);
  expect(sent / BODY.length).toBeLessThan(1.3);
  for (const name of ['one', 'two'])
    expect(readFileSync(join(folder, `${name}.bin`)).equals(BODY)).toBe(true);
});

test('the help of both has a first example, and man pages are made of it', () => {
  for (const name of ['seed', 'fetch']) {
    expect(bloomery([name, '--help']).stdout).toMatch(/Examples:\n {2}# .*\n {2}bloomery /);
    expect(bloomery(['man', name]).stdout).toContain(`bloomery ${name}`);
  }
  expect(bloomery(['completion', 'bash']).stdout).toContain('--peers-dns');
});
