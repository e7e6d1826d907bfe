/**
 * kill -9 at random moments, while a store is filled, emptied, refreshed and evicted from. The
 * process says what it is going to do before it does it, and what it was promised after; whatever
 * is found later must be one of the two, to the byte.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bodyBytes, expectBytes, readAll } from '../../../test/store/stored-responses.ts';
import { DiskStore } from './disk-store.ts';

/** In each of two stores. */
const KILLS = withEffort(5, 5);
const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/**
 * Works on its folder until it is killed. Each key has one thing under way at most, so that what it
 * may be is one of two.
 */
const CHILD = `
import { writeSync } from 'node:fs';
import { DiskStore } from './disk-store.ts';
import { bodyBytes, storedResponse } from '../../../test/store/stored-responses.ts';
const [folder, capacity, seedText, first] = process.argv.slice(2);
let state = Number(seedText) >>> 0;
const random = (n) => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0, Math.floor(state / 2 ** 32 * n));
const say = (text) => writeSync(1, text + '\\n');
const store = await DiskStore.open({ folder, capacityBytes: Number(capacity) });
say('ready');
let version = Number(first);
const busy = new Set();
async function worker() {
  for (;;) {
    let key;
    do key = 'http://host/' + random(60); while (busy.has(key));
    busy.add(key);
    const time = ++version;
    const kind = random(10);
    if (kind < 6) {
      // One in three is a body that others have as well.
      const seed = random(3) === 0 ? random(4) : time;
      const bodyLength = seed < 4 ? 150000 + seed : [0, 100, 5000, 30000, 40000, 300000, 700000][random(7)];
      say('> ' + key + ' put ' + time + ' ' + seed + ' ' + bodyLength);
      const body = bodyBytes(bodyLength, seed);
      const writer = store.create(key, random(2) ? bodyLength : undefined);
      for (let at = 0; at < bodyLength; at += 60000) await writer.write(body.slice(at, at + 60000));
      const headers = ['x-seed', String(seed)];
      const kept = await writer.commit(storedResponse({ key, bodyLength, time, headers }));
      say('< ' + key + ' ' + kept);
    } else if (kind < 8) {
      const [old] = await store.find(key);
      if (old !== undefined) {
        say('> ' + key + ' put ' + time + ' ' + old.headers[5] + ' ' + old.bodyLength);
        const fresh = { ...old, ...storedResponse({ key, bodyLength: old.bodyLength, time, headers: ['x-seed', old.headers[5]] }) };
        say('< ' + key + ' ' + await store.refresh(old, fresh));
      }
    } else {
      say('> ' + key + ' remove');
      await store.removeKey(key);
      say('< ' + key + ' true');
    }
    busy.delete(key);
    if (random(4) === 0) await new Promise(setImmediate);
  }
}
for (let i = 0; i < 8; i++) void worker();
`;

let directory: string;
let child: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'bloomery-disk-crash-'));
  child = join(directory, 'child.mjs');
  buildSync({
    stdin: { contents: CHILD, resolveDir: FOLDER, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: child,
  });
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** State of a key: null if it is removed, otherwise version, seed and length. */
type Known = { readonly time: number; readonly seed: number; readonly bodyLength: number } | null;

interface Belief {
  sure: Known;
  /** Was begun, and perhaps done. */
  perhaps: Known | undefined;
}

/** Kills the child when it has told of `enough` changes. Others are under way at that moment. */
async function workUntilKilled(
  folder: string,
  capacity: number,
  seed: number,
  first: number,
  enough: number,
): Promise<string[]> {
  const process_ = spawn(process.execPath, [child, folder, String(capacity), String(seed), String(first)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let wrong = '';
  const deadline = setTimeout(() => process_.kill('SIGKILL'), 60_000);
  process_.stdout.on('data', (part) => {
    said += part;
    if (said.split('\n').length - 2 >= enough) process_.kill('SIGKILL');
  });
  process_.stderr.on('data', (part) => (wrong += part));
  await new Promise((resolve) => process_.once('close', resolve));
  clearTimeout(deadline);
  if (process_.signalCode !== 'SIGKILL') throw new Error(`The child ended by itself: ${wrong}`);
  return said.split('\n').slice(1, -1);
}

function believe(beliefs: Map<string, Belief>, lines: readonly string[]): void {
  for (const line of lines) {
    const [sign, key, what, time, seed, bodyLength] = line.split(' ');
    let belief = beliefs.get(key);
    if (belief === undefined) beliefs.set(key, (belief = { sure: null, perhaps: undefined }));
    if (sign === '>') {
      belief.perhaps =
        what === 'remove' ? null : { time: Number(time), seed: Number(seed), bodyLength: Number(bodyLength) };
    } else {
      if (what === 'true') belief.sure = belief.perhaps!;
      belief.perhaps = undefined;
    }
  }
}

/** Checks that the store holds what is believed. Returns the number of its responses. */
async function check(
  folder: string,
  capacityBytes: number,
  beliefs: Map<string, Belief>,
  mayLose: boolean,
): Promise<number> {
  const store = await DiskStore.open({ folder, capacityBytes });
  let found = 0;
  try {
    for (const [key, belief] of beliefs) {
      const responses = await store.find(key);
      expect(responses.length, key).toBeLessThanOrEqual(1);
      const allowed = [belief.sure, ...(belief.perhaps === undefined ? [] : [belief.perhaps])];
      if (mayLose) allowed.push(null);
      const [response] = responses;
      const time = response === undefined ? undefined : Number(response.etag!.slice(1, -1));
      const match = allowed.find((known) => (known === null ? time === undefined : known.time === time));
      expect(match, `${key}: found ${time}, expected ${JSON.stringify(allowed)}`).not.toBe(undefined);
      if (response !== undefined && match) {
        found++;
        expectBytes(await readAll(store.read(response)), bodyBytes(match.bodyLength, match.seed), key);
      }
      belief.sure = match!;
      belief.perhaps = undefined;
    }
    expect(store.statistics.corrupt).toBe(0);
    expect(store.statistics.responses).toBe(found);
    expect(store.diskBytes).toBeLessThanOrEqual(capacityBytes);
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  } finally {
    await store.close();
  }
  return found;
}

test.each([
  ['with room for all', 200 * 2 ** 20, false],
  ['under pressure', 4 * 2 ** 20, true],
])(
  `killed at ${KILLS} moments, %s`,
  { timeout: 60_000 * Math.max(1, EFFORT) },
  async (name, capacity, mayLose) => {
    const random = new Random(name.length);
    const folder = join(directory, name.replaceAll(' ', '-'));
    const beliefs = new Map<string, Belief>();
    let version = 10;
    let most = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const lines = await workUntilKilled(folder, capacity, kill + 1, version, 20 + random.below(300));
      version += lines.length + 10;
      believe(beliefs, lines);
      most = Math.max(most, await check(folder, capacity, beliefs, mayLose));
    }
    // Otherwise nothing was tested.
    expect(most).toBeGreaterThan(5);
    expect(version).toBeGreaterThan(KILLS * 20);
  },
);
