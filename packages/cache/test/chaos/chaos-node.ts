/**
 * A node in a process of its own, made of the sources as they are (bundled, so that nothing needs
 * to be built first), which a test may kill, whose descriptors it may count, and which it may start
 * again on the same folder.
 *
 * Refused: to run it inside the test. A process that is killed with -9 must not be the one that
 * asks whether all was well, and the descriptors of a test's own clients and origins would be
 * counted with the node's.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import type { NodeStatus } from '../../src/node/admin/status.ts';

const SOURCES = fileURLToPath(new URL('../../src/node/', import.meta.url));
const START_MS = 30_000;

const PROGRAM = `
import { runCache } from './run-cache.ts';
process.exitCode = await runCache({ command: 'node', flags: JSON.parse(process.argv[2]) });
`;

/** The program, in a folder that `remove` deletes. */
export interface NodeProgram {
  readonly path: string;
  remove(): void;
}

export function bundleNode(): NodeProgram {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-chaos-program-'));
  // As deep as in the package, for it reads its version from the manifest two folders up.
  const path = join(folder, 'dist', 'operation', 'node.mjs');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "version": "0.0.0" }\n');
  buildSync({
    stdin: { contents: PROGRAM, resolveDir: SOURCES, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: path,
    // undici is written in CommonJS.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface ChaosNode {
  readonly port: number;
  readonly pid: number;
  /** Lines of its log. */
  readonly log: LogLine[];
  /** Other output: a stack, when it crashed. */
  readonly said: string[];
  readonly running: boolean;
  status(): Promise<NodeStatus>;
  /** Open descriptors by kind: `socket`, `file`, `other`. */
  descriptors(): Record<'socket' | 'file' | 'other', number>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; gives its exit code. */
  stop(): Promise<number | null>;
}

/** `flags` by their names in a configuration file. */
export async function startChaosNode(
  program: NodeProgram,
  flags: Record<string, unknown>,
): Promise<ChaosNode> {
  const all = { listen: ['127.0.0.1:0'], disk: false, logFormat: 'json', shutdownTimeout: '2s', ...flags };
  const child = spawn(process.execPath, [program.path, JSON.stringify(all)], {
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const log: LogLine[] = [];
  const said: string[] = [];
  const gone = new Promise<number | null>((resolve) => child.once('close', resolve));
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  let port: number;
  try {
    port = await listening(child, log, said);
  } catch (error) {
    await kill();
    throw error;
  }
  const pid = child.pid as number;
  return {
    port,
    pid,
    log,
    said,
    get running() {
      return child.exitCode === null && child.signalCode === null;
    },
    async status() {
      const response = await fetch(`http://127.0.0.1:${port}/.bloomery/status`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(10_000),
      });
      return (await response.json()) as NodeStatus;
    },
    descriptors: () => descriptorsOf(pid),
    kill,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      const code = await gone;
      clearTimeout(timer);
      return code;
    },
  };
}

/** Open descriptors of a process of this machine; none where there is no /proc. */
function descriptorsOf(pid: number): Record<'socket' | 'file' | 'other', number> {
  const count = { socket: 0, file: 0, other: 0 };
  let names: string[];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return count;
  }
  for (const name of names) {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${name}`);
      if (target.startsWith('socket:')) count.socket++;
      else if (target.startsWith('/') && !target.startsWith('/dev/')) count.file++;
      else count.other++;
    } catch {
      // Closed since the folder was listed.
    }
  }
  return count;
}

function listening(child: ChildProcess, log: LogLine[], said: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no node after ${START_MS} ms: ${said}`)), START_MS);
    const lines = createInterface({ input: child.stderr! });
    lines.on('line', (line) => {
      let entry: LogLine;
      try {
        entry = JSON.parse(line) as LogLine;
      } catch {
        said.push(line);
        return;
      }
      log.push(entry);
      if (entry.event !== 'listening') return;
      clearTimeout(timer);
      resolve(Number(/:(\d+)$/.exec((entry.addresses as string[])[0])?.[1]));
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      reject(
        new Error(`the node ended with ${code ?? signal}: ${said.join('\n')} ${JSON.stringify(log.at(-1))}`),
      );
    });
  });
}
