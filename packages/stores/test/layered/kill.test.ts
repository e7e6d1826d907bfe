/**
 * Layers whose process is killed in the middle of its file operations: no acknowledged change is
 * lost, no read is stale, and a merge happened as a whole or not at all.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { layered } from '../../src/layered/layered.ts';
import { textValues } from '../../src/layered/values.ts';
import { createSqlite, openSqlite, scratchFolder } from './layer-scratch.ts';

const PROGRAM = fileURLToPath(new URL('killed-process.mjs', import.meta.url));
// A kill loses nothing that was written, so memory serves as well as a disk, and faster.
const scratch = scratchFolder(existsSync('/dev/shm') ? '/dev/shm' : undefined);
const KEYS = 60;
/** Two series at once, because there are two cores. */
const SERIES = 2;
/** File operations of a run that is not killed early; a merge has about twenty of them. */
const OPERATIONS = 260;

/** The numbers that a key may have: the last one that was acknowledged, or a later one. */
type Allowed = Map<string, Set<number>>;

async function runUntilKilled(folder: string, path: string, words: readonly number[]): Promise<string[]> {
  const child = spawn(process.execPath, [PROGRAM, folder, path, ...words.map(String)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: Buffer[] = [];
  const errors: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => said.push(part));
  child.stderr.on('data', (part: Buffer) => errors.push(part));
  const [, signal] = (await once(child, 'close')) as [number, string];
  expect(signal, Buffer.concat(errors).toString()).toBe('SIGKILL');
  return Buffer.concat(said).toString().split('\n').slice(0, -1);
}

/** Returns the changes of the batch that was not acknowledged. */
function follow(lines: readonly string[], allowed: Allowed): Map<string, number> {
  const open = new Map<string, number>();
  for (const line of lines) {
    const [what, key, number] = line.split(' ');
    expect(what, line).not.toBe('stale');
    if (what === 'issue') {
      allowed.get(key)!.add(Number(number));
      open.set(key, Number(number));
    }
    // The last acknowledged change of a batch counts; those before it are gone.
    if (what === 'ack') {
      allowed.set(key, new Set([Number(number)]));
      open.clear();
    }
  }
  return open;
}

/** Opens the layer, and expects each key to have one of the values that it may have. */
async function expectAllowed(
  folder: string,
  path: string,
  allowed: Allowed,
  open: ReadonlyMap<string, number>,
  what: string,
): Promise<void> {
  const layer = await layered(openSqlite(path), folder, { values: textValues, torn: () => {} });
  const all = new Map<string, string>();
  for await (const [key, value] of layer) all.set(key, value);
  for (const [key, numbers] of allowed) {
    const value = await layer.get(key);
    expect(all.get(key), `${what}: ${key} in the iteration`).toBe(value);
    const found = [...numbers].filter((number) =>
      number < 0 ? value === undefined : value === (number === 0 ? `base${key.slice(3)}` : `${number}`),
    );
    expect(found.length, `${what}: ${key} is ${value}, expected one of ${[...numbers]}`).toBeGreaterThan(0);
    allowed.set(key, new Set(found));
  }
  const happened = [...open].map(([key, number]) => all.get(key) === (number < 0 ? undefined : `${number}`));
  const isThere = [...open].some(([, number], i) => number > 0 && happened[i]);
  if (isThere) expect(happened, `${what}: the batch is whole`).toEqual(happened.map(() => true));
  // Records that were never changed.
  expect(await layer.get(`key${KEYS + 1}`), what).toBe(`base${KEYS + 1}`);
  await layer.close();
}

async function series(which: number, kills: number): Promise<{ merges: number; cut: number }> {
  const random = new Random(100 + which);
  const folder = join(scratch, `changes${which}`);
  const path = join(scratch, `base${which}.sqlite`);
  createSqlite(path, 2 * KEYS);
  const allowed: Allowed = new Map(Array.from({ length: KEYS }, (_, i) => [`key${i}`, new Set([0])]));
  const counts = { merges: 0, cut: 0 };
  for (let kill = 0; kill < kills; kill++) {
    const words = [1 + random.below(OPERATIONS), 1 + kill * 100_000, random.below(1 << 30)];
    const lines = await runUntilKilled(folder, path, words);
    const open = follow(lines, allowed);
    counts.merges += lines.filter((line) => line === 'merged').length;
    const began = lines.filter((line) => line === 'merge').length;
    counts.cut += began - lines.filter((line) => line === 'merged').length;
    await expectAllowed(
      folder,
      path,
      allowed,
      open,
      `series ${which}, kill ${kill} at operation ${words[0]}`,
    );
  }
  const left = [...readdirSync(folder), ...readdirSync(scratch)].filter((name) => name.includes('scratch'));
  expect(left).toEqual([]);
  return counts;
}

test(
  'kill -9 in the middle of changes and merges loses no acknowledged change',
  async () => {
    const kills = withEffort(50, 10);
    const done = await Promise.all(
      Array.from({ length: SERIES }, (_, which) => series(which, Math.ceil(kills / SERIES))),
    );
    const merges = done.reduce((sum, one) => sum + one.merges, 0);
    const cut = done.reduce((sum, one) => sum + one.cut, 0);
    // Otherwise the kills would not reach what they are for.
    expect([merges > 0, cut > 0], `${merges} merges, ${cut} of them cut short`).toEqual([true, true]);
  },
  withEffort(600_000, 600_000),
);
