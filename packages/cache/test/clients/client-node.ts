/**
 * A node as users start it: the built command in a process of its own, with a disk folder of its
 * own that goes with it. So the tests with real clients also see what no test inside one process
 * does: flags, start, the memory of the node alone.
 *
 * It runs what is built (`npm run build`), not the sources beside it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from '@bloomery/testkit/programs/client-program';
import type { NodeStatus } from '../../src/node/admin/status.ts';

const COMMAND = fileURLToPath(new URL('../../../../apps/cli/bin/bloomery.js', import.meta.url));
const START_MS = 20_000;

export interface ClientNode extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** Lines that it logged with level warn or error. */
  readonly complaints: string[];
  status(): Promise<NodeStatus>;
  /** The most memory it ever had resident, in bytes; null where /proc does not tell. */
  peakBytes(): number | null;
  stop(): Promise<void>;
}

/** With a free port and an own disk folder; `flags` come after those and are stronger. */
export async function startClientNode(...flags: readonly string[]): Promise<ClientNode> {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-clients-node-'));
  const args = [COMMAND, 'cache', '--quiet', '--listen', '127.0.0.1:0', '--disk', join(folder, 'disk')];
  const child = spawn(process.execPath, [...args, '--log-format', 'json', ...flags], {
    env: cleanEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  const complaints: string[] = [];
  const stop = async () => {
    // A node that does not end when asked to is a fault of its own.
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const [code, signal] = await ended;
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
    if (code !== 0) throw new Error(`expected the node to end with 0, got ${code ?? signal}: ${complaints}`);
  };
  let port: number;
  try {
    port = await listening(child, complaints);
  } catch (error) {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  const url = `http://127.0.0.1:${port}`;
  return {
    port,
    url,
    complaints,
    async status() {
      const response = await fetch(`${url}/.bloomery/status`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(10_000),
      });
      return (await response.json()) as NodeStatus;
    },
    peakBytes() {
      try {
        const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
        return peak === null ? null : Number(peak[1]) * 1024;
      } catch {
        return null;
      }
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Reads the log for as long as the node runs; gives the port once it is told. */
function listening(child: ChildProcess, complaints: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no node after ${START_MS} ms`)), START_MS);
    const printed: string[] = [];
    const lines = createInterface({ input: child.stderr! });
    lines.on('line', (line) => {
      const event = asEvent(line);
      if (event === null) printed.push(line);
      else if (event.level === 'warn' || event.level === 'error') complaints.push(line);
      const address = event?.event === 'listening' ? event.addresses?.[0] : undefined;
      if (address !== undefined) resolve(Number(/:(\d+)$/.exec(address)?.[1]));
    });
    child.on('exit', (code) => reject(new Error(`the node ended with ${code}: ${printed.join('\n')}`)));
    child.on('error', reject);
    lines.on('close', () => clearTimeout(timer));
  });
}

function asEvent(line: string): { level: string; event: string; addresses?: string[] } | null {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
