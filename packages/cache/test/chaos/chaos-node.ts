/**
 * A node in a process of its own, made of the sources as they are (bundled, so that nothing needs
 * to be built first), which a test may kill, whose descriptors it may count, and which it may start
 * again on the same folder.
 *
 * Refused: to run it inside the test. A process that is killed with -9 must not be the one that
 * asks whether all was well, and the descriptors of a test's own clients and origins would be
 * counted with the node's.
 */

import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type LogLine, NodeProcess } from '@bloomery/testkit/programs/node-process';
import { buildSync } from 'esbuild';
import type { NodeStatus } from '../../src/node/admin/status.ts';

const SOURCES = fileURLToPath(new URL('../../src/node/', import.meta.url));

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
  /** SIGTERM; gives its exit code, or its signal. */
  stop(): Promise<number | string>;
}

/** `flags` by their names in a configuration file. */
export async function startChaosNode(
  program: NodeProgram,
  flags: Record<string, unknown>,
): Promise<ChaosNode> {
  const all = { listen: ['127.0.0.1:0'], disk: false, logFormat: 'json', shutdownTimeout: '2s', ...flags };
  const node = new NodeProcess([program.path, JSON.stringify(all)]);
  const { pid, log, said } = node;
  let addresses: unknown;
  try {
    ({ addresses } = await node.event('listening'));
  } catch (error) {
    await node.kill();
    throw error;
  }
  const port = Number(/:(\d+)$/.exec((addresses as string[])[0])?.[1]);
  return {
    port,
    pid,
    log,
    said,
    get running() {
      return node.isRunning;
    },
    async status() {
      const response = await fetch(`http://127.0.0.1:${port}/.bloomery/status`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(10_000),
      });
      return (await response.json()) as NodeStatus;
    },
    descriptors: () => descriptorsOf(pid),
    kill: () => node.kill(),
    stop: () => node.stop(),
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
