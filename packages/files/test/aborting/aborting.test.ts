/** Every asynchronous function stops when its signal is aborted, and leaves nothing behind. */

import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FolderLock, isAnswered, journalName, lockFile, readSettled, recoverFile } from '../../src/index.ts';

const reason = new Error('no longer wanted');
let folder: string;
let place: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-aborting-'));
  place = join(folder, 'words.blm');
  writeFileSync(place, 'words');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test.each([
  ['lockFile', (signal: AbortSignal) => lockFile(place, { waitMs: 0, signal })],
  ['FolderLock.take', (signal: AbortSignal) => FolderLock.take(folder, { signal })],
  ['recoverFile', (signal: AbortSignal) => recoverFile(place, { signal })],
  ['readSettled', (signal: AbortSignal) => readSettled(place, { signal })],
  ['isAnswered', (signal: AbortSignal) => isAnswered(folder, 'no.sock', { signal })],
])('%s does not begin if its signal is aborted', async (_name, begin) => {
  await expect(begin(AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(readdirSync(folder)).toEqual(['words.blm']);
});

test('lockFile stops waiting for another owner', async () => {
  const owner = await lockFile(place, { waitMs: 0 });
  const stop = new AbortController();
  // Called at each look, when the lock was found taken.
  const until = () => {
    stop.abort(reason);
    return false;
  };
  await expect(lockFile(place, { waitMs: 600_000, signal: stop.signal, until })).rejects.toBe(reason);
  owner?.release();
  expect(readdirSync(folder)).toEqual(['words.blm']);
});

test('FolderLock.take stops waiting for signs of life, and leaves the lock of the other', async () => {
  writeFileSync(join(folder, 'lock'), 'of another kind');
  const stop = new AbortController();
  const taking = FolderLock.take(folder, { signal: stop.signal });
  setImmediate(() => stop.abort(reason));
  await expect(taking).rejects.toBe(reason);
  expect(readdirSync(folder)).toEqual(['lock', 'words.blm']);
});

test.each([
  ['recoverFile', recoverFile],
  ['readSettled', readSettled],
])('%s stops waiting for a writer', async (_name, read) => {
  writeFileSync(journalName(place), '');
  const writer = await lockFile(place, { waitMs: 0 });
  const stop = new AbortController();
  const waiting = () => stop.abort(reason);
  await expect(read(place, { waitMs: 600_000, signal: stop.signal, waiting })).rejects.toBe(reason);
  writer?.release();
});

test('isAnswered leaves nothing open when it is aborted', async () => {
  const server = createServer().listen(join(folder, 'some.sock'));
  await once(server, 'listening');
  const stop = new AbortController();
  const asking = isAnswered(folder, 'some.sock', { signal: stop.signal });
  stop.abort(reason);
  await expect(asking).rejects.toBe(reason);
  server.close();
  await once(server, 'close');
});
