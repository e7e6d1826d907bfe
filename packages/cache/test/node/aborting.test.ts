/** Signals that end the start, the questions and the running of a node. */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/node/config/node-config.ts';
import { Log } from '../../src/node/log/log.ts';
import { runCache } from '../../src/node/run-cache.ts';
import { startNode } from '../../src/node/start-node.ts';
import type { Team } from '../../src/node/workers/team.ts';
import { DiskStore } from '../../src/store/disk/disk-store.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import { Admission } from '../../src/store/tiered/admission.ts';
import { TieredStore } from '../../src/store/tiered/tiered-store.ts';
import { ask, cleanUp, scratchFolder, startOrigin, startTestNode } from './scratch.ts';

const reason = new Error('no longer wanted');
const aborted = AbortSignal.abort(reason);
const scratch = scratchFolder();
const capacityBytes = 10_000_000;
let folders = 0;

/** A folder whose lock has an owner that cannot be seen, so that a claimant waits for a second. */
function claimedFolder(): string {
  const folder = join(scratch, String(++folders));
  mkdirSync(folder);
  writeFileSync(join(folder, 'lock'), 'of another kind');
  return folder;
}

function abortSoon(): AbortSignal {
  const stop = new AbortController();
  setImmediate(() => stop.abort(reason));
  return stop.signal;
}

const flags = (more: Record<string, unknown> = {}) => ({
  flags: { listen: ['127.0.0.1:0'], disk: false, logLevel: 'error', ...more },
});

test('DiskStore.open stops before it begins, and while it waits for its folder', async () => {
  const folder = join(scratch, 'store');
  await expect(DiskStore.open({ folder, capacityBytes, signal: aborted })).rejects.toBe(reason);
  expect(readdirSync(scratch)).not.toContain('store');
  const claimed = claimedFolder();
  await expect(DiskStore.open({ folder: claimed, capacityBytes, signal: abortSoon() })).rejects.toBe(reason);
  expect(readFileSync(join(claimed, 'lock'), 'utf8')).toBe('of another kind');
});

test('DiskStore.open closes a store that was opened meanwhile, and lets go of its folder', async () => {
  const folder = join(scratch, 'late');
  const { signal } = new AbortController();
  // It looks aborted to the last question alone: `throwIfAborted` reads a field of its own.
  Object.defineProperties(signal, { aborted: { value: true }, reason: { value: reason } });
  await expect(DiskStore.open({ folder, capacityBytes, signal })).rejects.toBe(reason);
  expect(readdirSync(folder)).not.toContain('lock');
  await (await DiskStore.open({ folder, capacityBytes })).close();
});

test('TieredStore.open and settled stop with the reason', async () => {
  const memory = new MemoryStore({ capacityBytes });
  const disk = await DiskStore.open({ folder: join(scratch, 'tiered'), capacityBytes });
  const admission = new Admission({ capacity: 1000 });
  await expect(TieredStore.open(memory, disk, { admission, signal: aborted })).rejects.toBe(reason);
  const store = await TieredStore.open(memory, disk, { admission });
  await expect(store.settled({ signal: aborted })).rejects.toBe(reason);
  await expect(store.settled({ signal: new AbortController().signal })).resolves.toBeUndefined();
  await store.close();
});

test('startNode stops before it begins, while it waits for its folder, and before it listens', async () => {
  await expect(startNode(loadConfig(flags()), { signal: aborted })).rejects.toBe(reason);
  const folder = claimedFolder();
  const config = loadConfig(flags({ disk: folder }));
  await expect(startNode(config, { signal: abortSoon() })).rejects.toBe(reason);
  expect(readdirSync(folder)).toEqual(['lock']);
  const stop = new AbortController();
  const places = async () => {
    stop.abort(reason);
    return { listen: config.listen, adminListen: null, listenDefaulted: false };
  };
  await expect(startNode(loadConfig(flags()), { signal: stop.signal, places })).rejects.toBe(reason);
});

test('a node is not asked, and removes nothing, if the signal is aborted', async () => {
  const origin = await startOrigin();
  const node = await startTestNode({ upstream: [origin.url] });
  await ask(node.port, '/a');
  const key = `${origin.url}a`;
  await expect(node.status({ signal: aborted })).rejects.toBe(reason);
  await expect(node.metrics({ signal: aborted })).rejects.toBe(reason);
  await expect(node.purge(key, { signal: aborted })).rejects.toBe(reason);
  await expect(node.removeKey(key, { signal: aborted })).rejects.toBe(reason);
  expect((await ask(node.port, '/a')).headers['cache-status']).toContain('; hit');
  expect(await node.purge(key, { signal: new AbortController().signal })).toBe(1);
});

test('status and metrics stop waiting for the other workers', async () => {
  const stop = new AbortController();
  const team: Team = {
    index: 0,
    size: 1,
    socketPath: () => join(scratch, 'worker.sock'),
    removeKey: async () => 0,
    collect: () => {
      setImmediate(() => stop.abort(reason));
      return new Promise(() => {});
    },
    drained: async () => {},
  };
  const log = new Log({ level: 'error', format: 'json', write: () => {} });
  const node = await startNode(loadConfig(flags()), { team, log });
  cleanUp(() => node.close(0));
  await expect(node.status({ signal: stop.signal })).rejects.toBe(reason);
  await expect(node.metrics({ signal: stop.signal })).rejects.toBe(reason);
});

test('runCache ends its start with the reason, and a running node like SIGTERM', async () => {
  const run = { ...flags(), command: 'test' };
  await expect(runCache({ ...run, signal: aborted })).rejects.toBe(reason);
  const stop = new AbortController();
  // The banner is printed when the node listens.
  const print = () => setImmediate(() => stop.abort(reason));
  await expect(runCache({ ...run, signal: stop.signal, print })).resolves.toBe(0);
});

test('runCache ends the start of workers with the reason, and lets go of the folder', async () => {
  const folder = claimedFolder();
  const run = { ...flags({ disk: folder, workers: '2' }), command: 'test' };
  await expect(runCache({ ...run, signal: abortSoon() })).rejects.toBe(reason);
  expect(readdirSync(folder)).toEqual(['lock']);
});
