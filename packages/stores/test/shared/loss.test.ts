/**
 * Servers that lose data, processes that are killed, logs with holes: each time the filter answers
 * "maybe" until nothing is missing any more.
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually, until } from '@bloomery/testkit/eventually';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { expect, test } from 'vitest';
import type { SharedFilter } from '../../src/shared/index.ts';
import { CLIENTS, missing, numbered, openMember } from './members.ts';

const SLOW = { timeout: 300_000 };

async function liveMembers(
  server: { url: string },
  count: number,
  options: object = {},
): Promise<SharedFilter[]> {
  const members = await Promise.all(
    Array.from({ length: count }, (_, i) =>
      openMember(server, { client: CLIENTS[i % 2] ?? 'redis', ...options }),
    ),
  );
  await Promise.all(members.map((member) => member.ready()));
  return members;
}

async function closeAll(members: readonly SharedFilter[]): Promise<void> {
  await Promise.all(members.map((member) => member.close({ timeoutMs: 1000 })));
}

test('FLUSHALL: members answer "maybe", and restore the filter from memory', SLOW, async () => {
  await using server = await RedisServer.start();
  const [a, b] = await liveMembers(server, 2, { timing: { settleMs: 2000 } });
  const keys = numbered('k', 2500);
  await b!.waitFor(await a!.addMany(keys));
  server.cli('FLUSHALL');
  await until('doubt', () => a!.state !== 'live' && b!.state !== 'live');
  expect(b!.has('never')).toBe(true);
  // An add meanwhile waits for the new log.
  const id = await b!.add('meanwhile');
  await Promise.all([a!.ready(), b!.ready()]);
  await a!.waitFor(id);
  const late = await openMember(server);
  await late.ready();
  for (const member of [a!, b!, late]) {
    expect(missing(member, [...keys, 'meanwhile'])).toBe(0);
    expect(member.has('never')).toBe(false);
    expect(member.stats().epoch).toBeGreaterThan(1);
  }
  await closeAll([a!, b!, late]);
});

test(
  'FLUSHALL, and a process that knows nothing comes first: the others bring their keys',
  SLOW,
  async () => {
    await using server = await RedisServer.start();
    await using relay = await TcpRelay.start({ target: server.port });
    // These two lose the server before it is emptied.
    const [a, b] = await liveMembers({ url: `redis://127.0.0.1:${relay.port}` }, 2);
    await a!.addMany(numbered('k', 100));
    await b!.waitFor(await a!.add('x'));
    await a!.waitFor(await b!.add('y'));
    relay.setFaults({ refuse: true });
    relay.cut();
    server.cli('FLUSHALL');
    const fresh = await openMember(server, { timing: { settleMs: 400 } });
    const freshId = await fresh.add('fresh');
    relay.setFaults();
    await until(
      'all keys',
      () => missing(fresh, [...numbered('k', 100), 'x', 'y']) === 0 && fresh.state === 'live',
    );
    await Promise.all([a!.ready(), b!.ready()]);
    await until('the new key', () => missing(a!, ['fresh']) === 0 && a!.state === 'live');
    await a!.waitFor(freshId);
    expect(a!.has('never')).toBe(false);
    await closeAll([a!, b!, fresh]);
  },
);

test(
  'a server killed with kill -9 comes back empty: nothing is lost while a member lives',
  SLOW,
  async () => {
    await using server = await RedisServer.start();
    const [a, b] = await liveMembers(server, 2);
    const keys = numbered('k', 500);
    await b!.waitFor(await a!.addMany(keys));
    await server.kill();
    const waiting = b!.add('while-away');
    await server.start();
    await waiting;
    await Promise.all([a!.ready(), b!.ready()]);
    const late = await openMember(server);
    await late.ready();
    expect(missing(late, [...keys, 'while-away'])).toBe(0);
    expect(late.has('never')).toBe(false);
    await closeAll([a!, b!, late]);
  },
);

test('a server killed with kill -9 comes back with its append-only file', SLOW, async () => {
  await using server = await RedisServer.start({ words: ['--save', '', '--appendonly', 'yes'] });
  const [a] = await liveMembers(server, 1);
  const keys = numbered('k', 500);
  await a!.addMany(keys);
  await server.kill();
  await server.start();
  await a!.waitFor(await a!.add('afterwards'));
  const late = await openMember(server);
  await late.ready();
  expect(missing(late, [...keys, 'afterwards'])).toBe(0);
  expect(late.has('never')).toBe(false);
  await closeAll([a!, late]);
});

test('a server that is away makes the filter old, and then it answers "maybe"', SLOW, async () => {
  await using server = await RedisServer.start();
  const a = await openMember(server, { maxAgeMs: 2000 });
  await a.ready();
  const pid = server.pid;
  // The machine of the server hangs: connections stay open and say nothing.
  process.kill(pid, 'SIGSTOP');
  try {
    await until('an old filter', () => a.state === 'unsure');
    expect(a.has('never')).toBe(true);
    expect(a.stats().ageMs).toBeGreaterThan(2000);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await a.ready();
  await a.close();
});

test('a log trimmed past a reader that sleeps: the reader loads the snapshot', SLOW, async () => {
  await using server = await RedisServer.start();
  await using relay = await TcpRelay.start({ target: server.port });
  const [a] = await liveMembers(server, 1);
  const [sleeper] = await liveMembers({ url: `redis://127.0.0.1:${relay.port}` }, 1);
  relay.setFaults({ toClient: { stallAfter: 0 }, toServer: { stallAfter: 0 } });
  const keys: string[] = [];
  while (a!.stats().snapshots < 3) {
    const some = numbered(`k${keys.length}-`, 10);
    keys.push(...some);
    await a!.addMany(some);
  }
  const id = await a!.add('last');
  expect(sleeper!.has('last', { after: id })).toBe(true);
  relay.setFaults();
  await sleeper!.waitFor(id);
  expect(missing(sleeper!, keys)).toBe(0);
  expect(sleeper!.has('never')).toBe(false);
  expect(sleeper!.stats().resyncs).toBeGreaterThan(0);
  await closeAll([a!, sleeper!]);
});

test('entries that an operator deleted come back from the members that had read them', SLOW, async () => {
  await using server = await RedisServer.start();
  const [a] = await liveMembers(server, 1, { timing: { snapshotEntries: 1_000_000 } });
  const id = await a!.add('deleted');
  await a!.waitFor(await a!.add('kept'));
  const log = server.cli('KEYS', 'bloomery:{users}:log:*');
  expect(server.cli('XDEL', log, id.split('.').at(-1) as string)).toBe('1');
  const late = await openMember(server);
  expect(late.has('deleted')).toBe(true);
  await Promise.all([late.ready(), a!.ready()]);
  await until('the deleted key', () => late.state === 'live' && missing(late, ['deleted', 'kept']) === 0);
  expect(late.has('never')).toBe(false);
  const last = await openMember(server);
  await last.ready();
  expect(missing(last, ['deleted', 'kept'])).toBe(0);
  await closeAll([a!, late, last]);
});

test(
  'writers and makers of snapshots that are killed leave nothing behind but their adds',
  SLOW,
  async () => {
    await using server = await RedisServer.start();
    const timing = { lookMs: 20, settleMs: 100, memberMs: 500, leaseMs: 1000, snapshotEntries: 5 };
    const [a] = await liveMembers(server, 1, { timing });
    const acked: string[] = [];
    for (let round = 0; round < 2; round++) {
      const prefix = `p${round}-`;
      const settings = {
        url: server.url,
        prefix,
        name: 'users',
        capacity: 1000,
        falsePositiveRate: 0.001,
        timing,
      };
      const program = fileURLToPath(new URL('member-process.mjs', import.meta.url));
      const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let count = 0;
      createInterface({ input: child.stdout }).on('line', (line) => {
        count = Number(line.split(' ')[0]);
      });
      // Each process makes a snapshot every few entries, so most kills hit one.
      await until('adds of the process', () => count >= 200 + 70 * round || child.exitCode !== null);
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      acked.push(...numbered(prefix, count));
    }
    await a!.waitFor(await a!.add('last'));
    expect(missing(a!, acked)).toBe(0);
    expect(a!.has('never')).toBe(false);
    // The lease of the dead expires, and this member makes snapshots.
    const before = a!.stats().snapshots;
    await until('a snapshot of the survivor', async () => {
      await a!.add(`more${performance.now()}`);
      return a!.stats().snapshots > before;
    });
    await eventually(() => server.cli('KEYS', 'bloomery:{users}:upload:*') === '', 60_000, 'no uploads left');
    const late = await openMember(server);
    await late.ready();
    expect(missing(late, acked)).toBe(0);
    await closeAll([a!, late]);
  },
);

test('a server without memory: adds wait, questions go on, and nothing is lost', SLOW, async () => {
  await using server = await RedisServer.start();
  const errors: string[] = [];
  const onError = ({ message }: Error) => errors.push(message);
  const [a, b] = await liveMembers(server, 2, { onError });
  const keys = numbered('first', 500);
  await b!.waitFor(await a!.addMany(keys));
  server.cli('CONFIG', 'SET', 'maxmemory', '1mb');
  const late = a!.addMany(numbered('late', 500));
  await until('a refused write', () => errors.some((message) => message.includes('OOM')));
  expect(b!.has('never')).toBe(false);
  server.cli('CONFIG', 'SET', 'maxmemory', '0');
  await b!.waitFor(await late);
  expect(missing(b!, [...keys, ...numbered('late', 500)])).toBe(0);
  await closeAll([a!, b!]);
});

test('a full disk of the server: adds wait, questions go on, and nothing is lost', SLOW, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-full-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder]);
  try {
    await using server = await RedisServer.start({ folder, words: ['--save', '', '--appendonly', 'yes'] });
    const errors: string[] = [];
    const onError = ({ message }: Error) => errors.push(message);
    const [a] = await liveMembers(server, 1, { onError, timing: { snapshotEntries: 1_000_000 } });
    const keys = numbered('first', 1000);
    await a!.waitFor(await a!.addMany(keys));
    const ballast = join(folder, 'ballast');
    // It ends with an error when the disk is full.
    spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4k']);
    const adds: Promise<string>[] = [];
    await until('a refused write', () => {
      const key = `more${adds.length}`;
      keys.push(key);
      adds.push(a!.add(key));
      return errors.some((message) => message.includes('MISCONF'));
    });
    expect(missing(a!, keys)).toBe(0);
    expect(a!.has('never')).toBe(false);
    rmSync(ballast);
    await Promise.all(adds);
    const late = await openMember(server);
    await late.ready();
    expect(missing(late, keys)).toBe(0);
    await closeAll([a!, late]);
  } finally {
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  }
});
