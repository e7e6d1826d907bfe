/**
 * The command of two checkouts, whole processes in turn: how long it takes to start, and to build a
 * filter.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyText } from '../shared/keys.ts';
import type { Checkouts, Compared } from './libraries.ts';

/** Former and present places of the command; the first that exists is taken. */
const PLACES = ['apps/cli/bin/bloomery.js', 'packages/cli/bin/bloomery.js'];

export function compareCommands(folders: Checkouts, lines: number, rounds: number): Compared[] {
  const scratch = mkdtempSync(join(tmpdir(), 'bloomery-compare-'));
  try {
    const input = join(scratch, 'in.txt');
    writeFileSync(input, Array.from({ length: lines }, (_, i) => `${keyText('url', i)}\n`).join(''));
    const output = join(scratch, 'out.blm');
    return [
      compareCommand('bloomery --version', ['--version'], folders, rounds),
      compareCommand(
        `bloomery build, ${lines.toLocaleString('en')} lines`,
        ['build', input, '-o', output, '--force'],
        folders,
        rounds,
      ),
    ];
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function compareCommand(name: string, args: readonly string[], folders: Checkouts, rounds: number): Compared {
  const [here, there] = [commandIn(folders.here), commandIn(folders.there)];
  const row: Compared = { name, unit: 'run', here: [], there: [] };
  time(here, args);
  time(there, args);
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) row.here.push(time(here, args));
    row.there.push(time(there, args));
    if (round % 2 === 1) row.here.push(time(here, args));
  }
  return row;
}

function commandIn(folder: string): string {
  const place = PLACES.find((path) => existsSync(join(folder, path)));
  if (place !== undefined) return join(folder, place);
  throw new Error(`Cannot compare: expected one of ${PLACES.join(', ')}, got none (${folder})`);
}

/**
 * Milliseconds of processor time, all threads together: bash counts it for the processes that it
 * waits for.
 */
function time(command: string, args: readonly string[]): number {
  const script = 'TIMEFORMAT="%U %S"; time "$@" > /dev/null';
  const { status, stderr } = spawnSync('bash', ['-c', script, 'bash', process.execPath, command, ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`Cannot compare: ${command} ended with ${status}: ${stderr}`);
  const [user, system] = stderr.trim().split('\n').at(-1)!.split(' ').map(Number);
  return (user + system) * 1000;
}
