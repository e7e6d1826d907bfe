/**
 * A real Squid for the tests: Debian's program in a folder of its own, on loopback, with a small
 * disk cache, and with digests that are rebuilt every second.
 *
 * These lines of its configuration cost us time. Without `cache_dir` Squid never builds a digest.
 * Without `minimum_direct_rtt 0` it asks no sibling once it has measured how near the origin is. As
 * root it gives up its rights, so the folder must belong to the user `proxy`.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import { eventually } from '../eventually.ts';
import { cleanEnvironment, run } from './client-program.ts';

export interface SquidOptions {
  /** Ports of caches on this machine that it asks as siblings, by their digests. */
  readonly siblings?: readonly number[];
  /** Further lines of its configuration. */
  readonly lines?: readonly string[];
}

/** One line of its access log. */
interface SquidAnswer {
  /** Such as `TCP_MISS/200`. */
  readonly result: string;
  readonly url: string;
  /** Such as `CD_SIBLING_HIT/127.0.0.1` or `HIER_DIRECT/127.0.0.1`. */
  readonly from: string;
}

export interface Squid extends AsyncDisposable {
  readonly port: number;
  readonly folder: string;
  /** The access log so far. A line appears after its answer was sent. */
  answers(): SquidAnswer[];
  /** The messages of Squid itself. */
  log(): string;
  stop(): Promise<void>;
}

const START_MS = 60_000;
/** Not on the PATH of every user. */
const SQUID = '/usr/sbin/squid';

/** Skips the test unless Squid is installed. */
export function needSquid(context: TestContext): void {
  if (!existsSync(SQUID)) context.skip('squid not installed (Debian, Ubuntu: apt-get install squid)');
}

export async function startSquid({ siblings = [], lines = [] }: SquidOptions = {}): Promise<Squid> {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-squid-'));
  const port = await freePort();
  const file = join(folder, 'squid.conf');
  const isRoot = process.getuid?.() === 0;
  const configuration = [
    `http_port 127.0.0.1:${port}`,
    'icp_port 0',
    'htcp_port 0',
    `visible_hostname squid-${port}.test`,
    `unique_hostname squid-${port}.test`,
    ...(isRoot ? ['cache_effective_user proxy', 'cache_effective_group proxy'] : []),
    `pid_filename ${join(folder, 'squid.pid')}`,
    `cache_log ${join(folder, 'cache.log')}`,
    `access_log stdio:${join(folder, 'access.log')} squid`,
    `netdb_filename none`,
    `coredump_dir ${folder}`,
    `cache_dir ufs ${join(folder, 'cache')} 128 4 16`,
    'cache_mem 64 MB',
    'maximum_object_size 8 MB',
    'memory_replacement_policy lru',
    'pinger_enable off',
    'strip_query_terms off',
    'shutdown_lifetime 0 seconds',
    'digest_generation on',
    'digest_rebuild_period 1 second',
    'digest_rewrite_period 1 second',
    'digest_rebuild_chunk_percentage 100',
    'minimum_direct_rtt 0',
    'minimum_direct_hops 0',
    ...siblings.map(
      (at) => `cache_peer 127.0.0.1 sibling ${at} 0 no-query proxy-only no-netdb-exchange name=s${at}`,
    ),
    'http_access allow localhost',
    'http_access deny all',
    ...lines,
  ];
  mkdirSync(join(folder, 'cache'));
  writeFileSync(file, `${configuration.join('\n')}\n`);
  chmodSync(folder, 0o755);
  if (isRoot) {
    const [uid, gid] = await userIds('proxy');
    for (const path of [folder, join(folder, 'cache'), file]) chownSync(path, uid, gid);
  }
  const name = `bloomery${port}`;
  let child: ChildProcess | null = null;
  const stop = async () => {
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await run(SQUID, ['-f', file, '-n', name, '-z', '-N'], { timeoutMs: START_MS });
    const started = spawn(SQUID, ['-f', file, '-n', name, '-N'], {
      env: cleanEnvironment(),
      stdio: 'ignore',
    });
    child = started;
    await eventually(
      async () => started.exitCode !== null || (await accepts(port)),
      START_MS,
      'Squid to listen',
    );
    if (started.exitCode !== null) throw new Error(`it ended with ${started.exitCode}`);
    const squid: Squid = {
      port,
      folder,
      answers: () => textOf(join(folder, 'access.log')).split('\n').slice(0, -1).map(parseLine),
      log: () => textOf(join(folder, 'cache.log')),
      stop,
      [Symbol.asyncDispose]: stop,
    };
    return squid;
  } catch (error) {
    const log = textOf(join(folder, 'cache.log'));
    await stop();
    throw new Error(`Cannot start Squid: ${(error as Error).message}\n${log.slice(-2000)}`, { cause: error });
  }
}

/** Squid's own format: time, ms, client, result, bytes, method, URL, user, hierarchy, type. */
function parseLine(line: string): SquidAnswer {
  const [, , , result = '', , , url = '', , from = ''] = line.split(/ +/);
  return { result, url, from };
}

async function userIds(user: string): Promise<[number, number]> {
  const ids = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, user])));
  return ids.map(({ stdout }) => Number(stdout.toString())) as [number, number];
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** A port that is free now; Squid cannot choose one itself. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
