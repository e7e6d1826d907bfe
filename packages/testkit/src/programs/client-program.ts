/**
 * Runs other programs for the tests, with a time limit, and in an environment without the machine's
 * settings for proxies, registries and caches. So every setting that a test does not make has the
 * program's own default.
 *
 * If a program is missing, the test is skipped, with the name of the Debian package that has it.
 */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, type TestContext } from 'vitest';

export interface ProgramRun {
  /** The exit code, or null if a signal or the time limit ended the program. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly input?: string | Uint8Array;
}

/** Runs a program to its end, whatever its exit code. */
export function runAny(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramRun> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...args],
      {
        cwd: options.cwd,
        env: { ...cleanEnvironment(), ...options.env },
        timeout: options.timeoutMs ?? 60_000,
        killSignal: 'SIGKILL',
        maxBuffer: 64 * 1024 * 1024,
        encoding: 'buffer',
      },
      (error, stdout, stderr) => {
        if (typeof error?.code === 'string') reject(error);
        else resolve({ code: error === null ? 0 : (error.code ?? null), stdout, stderr: stderr.toString() });
      },
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.input ?? '');
  });
}

/** Runs a program that must succeed. */
export async function run(
  program: string,
  args: readonly string[],
  options: ProgramOptions = {},
): Promise<ProgramRun> {
  const result = await runAny(program, args, options);
  if (result.code !== 0) {
    throw new Error(
      `expected ${program} ${args.join(' ')} to succeed, got ${result.code ?? 'the time limit'}:\n${result.stdout.subarray(-2000)}${result.stderr.slice(-4000)}`,
    );
  }
  return result;
}

/** Debian's package for each program. */
const PACKAGES = {
  'apt-get': 'apt',
  curl: 'curl',
  'dpkg-deb': 'dpkg',
  git: 'git',
  npm: 'npm',
  openssl: 'openssl',
  pip: 'python3-pip',
  python3: 'python3',
} as const;

/** Skips the test unless all of these programs are installed. */
export function need(context: TestContext, ...programs: readonly (keyof typeof PACKAGES)[]): void {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length === 0) return;
  const names = missing.map((program) => PACKAGES[program]).join(' ');
  context.skip(`${missing.join(', ')} not installed (Debian, Ubuntu: apt-get install ${names})`);
}

function isInstalled(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function cleanEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  return { ...(Object.fromEntries(kept) as Record<string, string>), LC_ALL: 'C.UTF-8' };
}

const FOREIGN = /^(?:.*_proxy|npm_.*|pip_.*|git_.*|bloomery_.*|node_options|vitest.*|apt_config)$/i;

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

export function fileSha256(path: string): string {
  return sha256(readFileSync(path));
}

/** A temporary folder that is removed after the tests of the file. */
export function clientFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-clients-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
