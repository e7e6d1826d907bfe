/** Runs the built command as a user would, in a directory of its own. */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

export const COMMAND = fileURLToPath(new URL('../bin/bloomery.js', import.meta.url));

/**
 * The package that carries the built command, in its folder `bin`. It can be copied: it needs
 * nothing but Node.
 */
export const PACKAGE = fileURLToPath(new URL('../../../packages/bloomery/', import.meta.url));

export interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string | Uint8Array;
  readonly cwd?: string;
  readonly env?: Record<string, string>;
}

/** Runs `bloomery …args` to its end. */
export function bloomery(args: readonly string[], { input = '', cwd, env = {} }: RunOptions = {}): Run {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [COMMAND, ...args], {
    input,
    cwd,
    env: { ...process.env, NO_COLOR: '', ...env },
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  return { code: status, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** Starts `bloomery …args` and leaves it running. */
export function startBloomery(args: readonly string[], cwd?: string) {
  return spawn(process.execPath, [COMMAND, ...args], { cwd, stdio: ['pipe', 'pipe', 'pipe'] });
}

/** A directory that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-cli-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
