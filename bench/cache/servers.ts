/**
 * The servers of the comparison, each in a process of its own, on loopback, on ports that are
 * free: an origin, a bare Node `http` server that sends the same bytes from memory, the node of
 * this repository, and Squid (Debian: squid) as a reverse proxy. All answer the same URLs: `/10k`,
 * `/50m`, and `/n/<number>` with two hundred bytes.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface RunningServer {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * For single requests between which time passes: a connection that is kept may be closed when it is
 * used again.
 */
export const ONE_CONNECTION = { headers: { connection: 'close' } };
const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const BARE = fileURLToPath(new URL('./bare-server.mjs', import.meta.url));

export async function bareServer(name = 'bare Node http'): Promise<RunningServer> {
  const port = await freePort();
  return start(name, port, process.execPath, [BARE, String(port)]);
}

export interface NodeOptions {
  readonly origin: string;
  readonly memory: string;
  /** The folder's size; none: memory only. */
  readonly diskSize?: string;
  readonly name?: string;
  readonly flags?: readonly string[];
}

export async function bloomeryNode({ origin, memory, diskSize, name = 'bloomery', flags = [] }: NodeOptions) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-node-'));
  const disk = diskSize === undefined ? ['--no-disk'] : ['--disk', folder, '--disk-size', diskSize];
  const listen = ['--listen', `127.0.0.1:${port}`, '--upstream', `/=${origin}/`, '--memory', memory];
  const args = [COMMAND, 'cache', ...listen, ...disk, '--log-level', 'error', ...flags];
  return start(name, port, process.execPath, args, () => rmSync(folder, { recursive: true, force: true }));
}

/** One process, no log of accesses, memory and perhaps a disk. */
export async function squid({ origin, memory, disk }: { origin: string; memory: string; disk: boolean }) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-squid-'));
  const { port: originPort } = new URL(origin);
  const cache = join(folder, 'cache');
  mkdirSync(cache);
  // Started by root, it goes on as a user of its own.
  for (const place of [folder, cache]) chmodSync(place, 0o777);
  const lines = [
    `http_port 127.0.0.1:${port} accel defaultsite=127.0.0.1:${originPort} no-vhost`,
    `cache_peer 127.0.0.1 parent ${originPort} 0 no-query originserver no-digest`,
    'http_access allow localhost',
    'icp_port 0',
    'htcp_port 0',
    'pinger_enable off',
    'access_log none',
    `cache_log ${folder}/log`,
    'cache_store_log none',
    'shutdown_lifetime 0 seconds',
    'maximum_object_size 1024 MB',
    `cache_mem ${memory}`,
    `maximum_object_size_in_memory ${disk ? '1 MB' : '1024 MB'}`,
    ...(disk ? [`cache_dir ufs ${cache} 2000 4 16`] : []),
    `pid_filename ${folder}/pid`,
    `coredump_dir ${folder}`,
    'visible_hostname squid.test',
  ];
  const config = join(folder, 'squid.conf');
  writeFileSync(config, `${lines.join('\n')}\n`);
  if (disk)
    await finished(spawn('squid', ['-f', config, '-n', `bench${port}`, '-z', '-N'], { stdio: 'ignore' }));
  const clean = () => rmSync(folder, { recursive: true, force: true });
  return start('Squid', port, 'squid', ['-f', config, '-n', `bench${port}`, '-N'], clean);
}

async function start(
  name: string,
  port: number,
  program: string,
  args: readonly string[],
  clean: () => void = () => {},
): Promise<RunningServer> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
    await finished(child);
    clearTimeout(timer);
    clean();
  };
  for (let tries = 0; ; tries++) {
    try {
      await fetch(`${url}/n/0`, ONE_CONNECTION).then((answer) => answer.arrayBuffer());
      return { name, url, pid: child.pid!, stop };
    } catch (error) {
      if (child.exitCode !== null || tries > 200) {
        await stop();
        throw new Error(`${name} does not answer at ${url}`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function finished(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => child.once('exit', () => resolve()));
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
