/**
 * kill -9 at random moments. Whatever was being done, the file afterwards is exactly the old one or
 * exactly the new one, and the next command finds no trace. The deterministic form, a stop after
 * each step, is in in-place.test.ts; this one knows nothing of the steps.
 */

import { spawn } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EFFORT } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { BlockedBloomFilter, BloomFilter, CountingBloomFilter } from 'bloomery';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openFilter } from '../../src/files/filter-file.ts';

const BIN = fileURLToPath(new URL('../../bin/bloomery.js', import.meta.url));
/** Processes at the same time, each with a directory of its own. */
const LANES = 2;
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'bloomery-kill-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const words = (count: number, tag: string) =>
  Array.from({ length: count }, (_, i) => `${tag} ${i}\n`).join('');

interface Run {
  /** How long it took, from the moment that `begun` saw. */
  readonly milliseconds: number;
  readonly killed: boolean;
  readonly code: number | null;
}

/** Runs the command; kills it `delay` ms after `begun` says that it is at work, or not at all. */
async function run(
  args: readonly string[],
  cwd: string,
  begun: (pid: number) => boolean,
  delay?: number,
): Promise<Run> {
  const child = spawn(process.execPath, [BIN, ...args], { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (part) => (said += part));
  let over = false;
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      over = true;
      resolve(code);
    });
  });
  while (!over && !begun(child.pid!)) await sleep(1);
  const start = performance.now();
  if (delay !== undefined) {
    // Timers are coarse; the last millisecond is spent turning round.
    if (delay > 2) await sleep(delay - 2);
    while (!over && performance.now() - start < delay) await new Promise(setImmediate);
    child.kill('SIGKILL');
  }
  const code = await ended;
  const killed = child.signalCode === 'SIGKILL';
  if (!killed && code !== 0) throw new Error(`bloomery ${args.join(' ')} failed: ${said}`);
  return { milliseconds: performance.now() - start, killed, code };
}

/** The process that holds a lock. */
function ownerOf(path: string): number | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).pid;
  } catch {
    return undefined;
  }
}

interface Outcome {
  old: number;
  new: number;
  killed: number;
  /** How often the journal was there, and the file perhaps torn. */
  journals: number;
}

/** Kills the command so many times, and compares what is left. */
async function killRepeatedly(
  rounds: number,
  seed: number,
  args: readonly string[],
  { name, before, after, locks }: { name: string; before: Uint8Array; after: Uint8Array; locks: boolean },
): Promise<Outcome> {
  const outcome = { old: 0, new: 0, killed: 0, journals: 0 };
  const random = new Random(seed);
  let left = rounds;
  const lane = async (number: number) => {
    const cwd = join(directory, `${name}-${number}`);
    mkdirSync(cwd);
    copyFileSync(join(directory, 'keys.txt'), join(cwd, 'keys.txt'));
    const path = join(cwd, name);
    // Half of the kills come at any time while it works, the others while it writes. A lock of its
    // own: that of the one before, who was killed, may still be there.
    const working = (pid: number) => !locks || ownerOf(join(cwd, `.${name}.bloomery-lock`)) === pid;
    const writing = (pid: number) =>
      working(pid) &&
      readdirSync(cwd).some(
        (found) => found.startsWith(`.${name}.bloomery-journal`) || found.startsWith(`.${name}.${pid}-`),
      );
    const phases = [];
    for (const begun of [working, writing]) {
      writeFileSync(path, before);
      phases.push({ begun, longest: (await run(args, cwd, begun)).milliseconds });
      expect(Buffer.compare(readFileSync(path), after), 'without a kill').toBe(0);
    }
    while (left-- > 0) {
      writeFileSync(path, before);
      const phase = phases[left % 2];
      const { killed, milliseconds } = await run(
        args,
        cwd,
        phase.begun,
        (random.below(1e6) / 1e6) * phase.longest,
      );
      if (killed) outcome.killed++;
      else phase.longest = (phase.longest + milliseconds) / 2; // the first run is the slowest
      if (readdirSync(cwd).includes(`.${name}.bloomery-journal`)) outcome.journals++;
      const { bytes } = await openFilter(path);
      const isNew = Buffer.compare(bytes, after) === 0;
      const isOld = Buffer.compare(bytes, before) === 0;
      if (!isNew && !isOld) expect.fail('the file is neither the old one nor the new one');
      expect(Buffer.compare(readFileSync(path), bytes), 'what was opened is what is there').toBe(0);
      outcome[isNew ? 'new' : 'old']++;
    }
    // Locks, journals and temporary files of the dead do not stand in the way, and go.
    writeFileSync(path, before);
    await run(args, cwd, () => true);
    expect(Buffer.compare(readFileSync(path), after)).toBe(0);
    expect(readdirSync(cwd).sort()).toEqual(['keys.txt', name].sort());
  };
  const spy = vi.spyOn(process.stderr, 'write').mockReturnValue(true); // says what it recovered
  try {
    await Promise.all(Array.from({ length: LANES }, (_, i) => lane(i)));
  } finally {
    spy.mockRestore();
  }
  return outcome;
}

describe('kill -9', () => {
  const cases = {
    'add, in place': {
      rounds: 36,
      create: () => new BloomFilter({ bits: 8 * 4_000_000, hashes: 7 }),
      keys: 33,
    },
    'add, in place, blocked': {
      rounds: 12,
      create: () => new BlockedBloomFilter({ blocks: 60_000, hashes: 8 }),
      keys: 200,
    },
    'add, as a whole': {
      rounds: 12,
      create: () => new CountingBloomFilter({ counters: 2_000_000, hashes: 5 }),
      keys: 300,
    },
  };
  for (const [what, { rounds, create, keys }] of Object.entries(cases)) {
    test(`${what}: the old file or the new one, ${rounds} times`, async () => {
      const filter = create();
      filter.addMany(Array.from({ length: 10_000 }, (_, i) => `old ${i}`));
      const before = filter.encode();
      const lines = words(keys, 'new');
      writeFileSync(join(directory, 'keys.txt'), lines);
      filter.addMany({ lines: Buffer.from(lines) });
      const after = filter.encode();
      const name = `${filter.constructor.name}.blm`;
      const outcome = await killRepeatedly(rounds * EFFORT, rounds, ['add', name, 'keys.txt'], {
        name,
        before,
        after,
        locks: true,
      });
      expect(outcome.old + outcome.new).toBe(rounds * EFFORT);
      // The moments were spread over the work: many kills came in time.
      expect(outcome.killed).toBeGreaterThan(rounds / 4);
      console.info(what, outcome);
    });
  }

  test('build --force: the old file or the new one, 12 times', async () => {
    const old = BloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
    old.add('something else');
    writeFileSync(join(directory, 'keys.txt'), words(200_000, 'key'));
    const args = ['build', 'keys.txt', '--structure', 'bloom', '--rate', '1%', '--force', '-o', 'built.blm'];
    await run([...args.slice(0, -1), 'wanted.blm'], directory, () => true);
    const after = new Uint8Array(readFileSync(join(directory, 'wanted.blm')));
    expect(BloomFilter.decode(after).has('key 199999')).toBe(true);
    const outcome = await killRepeatedly(12 * EFFORT, 5, args, {
      name: 'built.blm',
      before: old.encode(),
      after,
      locks: false,
    });
    expect(outcome.old + outcome.new).toBe(12 * EFFORT);
    expect(outcome.killed).toBeGreaterThan(3);
    console.info('build', outcome);
  });
});
