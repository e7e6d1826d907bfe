/**
 * The command with its workers in processes of their own, made of the sources as they are: both
 * programs are bundled, since Node cannot run the sources and what was built may be older.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { cleanUp, until } from './scratch.ts';

const SOURCES = fileURLToPath(new URL('../../src/node/', import.meta.url));
const PROGRAM = `
import { runCache } from './run-cache.ts';
process.exitCode = await runCache({ command: 'node', ...JSON.parse(process.argv[2]) });
`;

const COMMON = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  // undici is written in CommonJS.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
} as const;

/** The build of the program itself, without its workers. */
export const PROGRAM_BUILD = {
  ...COMMON,
  stdin: { contents: PROGRAM, resolveDir: SOURCES, loader: 'ts' },
} as const;

/** In a folder of the test's. */
export function bundleProgram(folder: string): string {
  // As deep as in the package, for it reads its version from the manifest two folders up; and
  // beside each other, as there.
  const outdir = join(folder, 'dist', 'operation');
  mkdirSync(outdir, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "version": "0.0.0", "type": "module" }\n');
  buildSync({ ...PROGRAM_BUILD, outfile: join(outdir, 'program.js') });
  buildSync({ ...COMMON, entryPoints: [join(SOURCES, 'workers/worker-process.ts')], outdir });
  return join(outdir, 'program.js');
}

export interface RunningProgram {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly port: number;
  events(name: string): Record<string, unknown>[];
  /** The exit code or the signal. */
  readonly ended: Promise<number | string>;
}

export async function startProgram(
  program: string,
  flags: Record<string, unknown>,
  options: {
    readonly env?: Record<string, string>;
    readonly file?: string;
    /** Called when the first of its processes listens, and the others perhaps not. */
    readonly firstListens?: (program: RunningProgram) => void;
  } = {},
): Promise<RunningProgram> {
  const { env = {}, file, firstListens } = options;
  const all = {
    file,
    flags: { listen: ['127.0.0.1:0'], disk: false, logFormat: 'json', shutdownTimeout: '2s', ...flags },
  };
  const child = spawn(process.execPath, [program, JSON.stringify(all)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr?.on('data', (text) => {
    log += text;
  });
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  cleanUp(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const events = (name: string) =>
    log
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === name);
  const workers = Number(flags.workers ?? 1);
  const listening = (count: number) =>
    until(
      `${count} to listen: ${log}`,
      () => events('listening').length >= count || child.exitCode !== null,
      20_000,
    );
  await listening(1);
  if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${log}`);
  const [address] = events('listening')[0].addresses as string[];
  const port = Number(/:(\d+)$/.exec(address)?.[1]);
  const running: RunningProgram = { child, pid: child.pid as number, port, events, ended };
  firstListens?.(running);
  await listening(workers);
  if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${log}`);
  return running;
}

/** True for a running process; a zombie, for which no parent has waited, counts as gone. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
