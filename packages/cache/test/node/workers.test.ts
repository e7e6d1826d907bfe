/**
 * Workers and their primary, in real processes: what is counted when one of them hangs or dies, and
 * what is left behind when the primary is killed.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { type NodeStatus, totalOf } from '../../src/node/admin/status.ts';
import { MemberLedger } from '../../src/node/metrics/member-ledger.ts';
import { type MetricsSnapshot, NodeCounters } from '../../src/node/metrics/node-counters.ts';
import { SilenceWatch } from '../../src/node/workers/silence-watch.ts';
import { openWorkersFolder, removeLeftFolders } from '../../src/node/workers/workers-folder.ts';
import { bundleProgram, isAlive, type RunningProgram, startProgram } from './cache-program.ts';
import { ask, cleanUp, scratchFolder, startOrigin, until } from './scratch.ts';

const folder = scratchFolder();
let program = '';
beforeAll(() => {
  program = bundleProgram(folder);
});

async function status({ port }: RunningProgram): Promise<NodeStatus> {
  return JSON.parse((await ask(port, '/.bloomery/status')).body);
}

/** NodeCounters by their names and labels. */
async function counters({ port }: RunningProgram): Promise<Map<string, number>> {
  const { body } = await ask(port, '/.bloomery/metrics');
  const names = [...body.matchAll(/^# TYPE (\S+) (?:counter|histogram)$/gm)].map(([, name]) => name);
  return new Map(
    body
      .split('\n')
      .map((line) => line.split(' ') as [string, string])
      .filter(([sample]) => names.some((name) => sample?.startsWith(name)))
      .map(([sample, value]) => [sample, Number(value)]),
  );
}

function expectNoneLower(before: Map<string, number>, after: Map<string, number>): void {
  const lower = [...before].filter(([sample, value]) => !((after.get(sample) ?? -1) >= value));
  expect(lower).toEqual([]);
}

describe('counters of a node with workers', () => {
  it('do not go back when a worker does not answer, is killed, and comes back', async () => {
    const origin = await startOrigin();
    const node = await startProgram(program, { upstream: [origin.url], workers: 2 });
    const names = new Set<unknown>();
    for (let i = 0; i < 20; i++) {
      const { headers } = await ask(node.port, `/${i % 10}`);
      names.add(String(headers['cache-status']).split(';')[0]);
    }
    // All workers have the name that their primary chose.
    expect([...names]).toEqual([expect.stringMatching(/^bloomery-[0-9a-f]{8}$/)]);
    const first = await counters(node);
    expect(first.get('bloomery_cache_requests_total{outcome="miss"}')).toBe(10);
    const { workers } = await status(node);
    // It hangs: connections are handed to it all the same, so the question may have to be asked
    // again.
    process.kill(workers[1].pid, 'SIGSTOP');
    const hanging = await Promise.any([1, 2, 3, 4].map(() => status(node)));
    expect(hanging.requests.total).toBe(20);
    expect(hanging.workers.map(({ pid }) => pid)).toEqual(workers.map(({ pid }) => pid));
    expect(hanging.workers[1].ageMs).toBeGreaterThan(500);
    process.kill(workers[1].pid, 'SIGKILL');
    await until('its death to be seen', () => node.events('worker-died').length === 1);
    const meanwhile = await counters(node);
    expectNoneLower(first, meanwhile);
    await until('its return', () => node.events('worker-restarted').length === 1);
    const after = await counters(node);
    expectNoneLower(meanwhile, after);
    expect(after.get('bloomery_cache_requests_total{outcome="miss"}')).toBe(10);
    const last = await status(node);
    expect(last.startedAt).toBe(hanging.startedAt);
    expect(last.requests.total).toBe(20);
    expect(last.workers).toHaveLength(2);
  });

  it('outlive a worker that was never asked', async () => {
    const origin = await startOrigin();
    const node = await startProgram(program, { upstream: [origin.url], workers: 2 });
    const pids = node.events('listening').map(({ pid }) => Number(pid));
    for (let i = 0; i < 10; i++) await ask(node.port, `/${i}`);
    // They tell by themselves every 2 s. Nothing outside shows that they did, so this waits twice
    // as long.
    await new Promise((resolve) => setTimeout(resolve, 4000));
    // One after the other: with the last one the port would go.
    for (const [i, pid] of pids.entries()) {
      process.kill(pid, 'SIGKILL');
      await until('its return', () => node.events('worker-restarted').length === i + 1);
    }
    expect((await status(node)).requests).toMatchObject({ total: 10, miss: 10 });
  });
});

describe('a worker that dies', () => {
  it('leaves no client behind whose connection was on its way to it', async () => {
    const node = await startProgram(program, { workers: 2 });
    const [stopped] = node.events('listening').map(({ pid }) => Number(pid));
    process.kill(stopped, 'SIGSTOP');
    // The primary hands one of these to the stopped worker, which cannot take it.
    let answered = 0;
    const broken: (string | undefined)[] = [];
    const clients = Array.from({ length: 4 }, () =>
      status(node).then(
        () => answered++,
        ({ code }: NodeJS.ErrnoException) => broken.push(code),
      ),
    );
    await until('all answers but one', () => answered === 3);
    expect(broken).toEqual([]);
    process.kill(stopped, 'SIGKILL');
    await Promise.all(clients);
    // The connection ends. Without that the client would wait until its own timeout.
    expect(broken).toEqual(['ECONNRESET']);
  }, 60_000);
});

describe('the ledger', () => {
  const facts = (cpuMicros: number, startedAt: number) => ({
    processes: 1,
    startedAt,
    heapUsedBytes: 10,
    residentBytes: 20,
    openDescriptors: 3,
    cpuMicros,
    eventLoopP50Ms: 1,
    eventLoopP99Ms: 2,
    eventLoopMaxMs: 3,
  });

  function snapshot(durationsMs: readonly number[], startedAt: number): MetricsSnapshot {
    const counted = new NodeCounters();
    for (const durationMs of durationsMs)
      counted.answered({
        at: 0,
        client: '',
        method: 'GET',
        url: '',
        status: 200,
        outcome: 'hit',
        reason: '',
        bytesOut: 1,
        bytesFromOrigin: 0,
        durationMs,
        aborted: false,
      });
    counted.connections = 5;
    const store = {
      responses: 1,
      bytes: 2,
      capacityBytes: 3,
      evictions: 4,
      corrupt: 5,
      refused: 6,
      copies: 7,
      copyBytes: 8,
    };
    return counted.snapshot({ memory: store }, 7, facts(1000, startedAt));
  }

  it('keeps what a process did, and not what it held', () => {
    const ledger = new MemberLedger();
    ledger.note({ worker: 0, pid: 1, at: 0, snapshot: snapshot([1], 100) });
    ledger.note({ worker: 1, pid: 2, at: 0, snapshot: snapshot([1, 2], 50) });
    ledger.end(1);
    ledger.end(1);
    expect(ledger.report.members.map(({ pid }) => pid)).toEqual([1]);
    expect(totalOf(ledger.report)).toMatchObject({
      bytesOut: 3,
      connections: 5,
      accessLogDropped: 14,
      stores: {
        memory: {
          responses: 1,
          bytes: 2,
          capacityBytes: 3,
          evictions: 8,
          corrupt: 10,
          refused: 12,
          copies: 7,
          copyBytes: 8,
        },
      },
      process: { processes: 1, startedAt: 50, cpuMicros: 2000, residentBytes: 20, openDescriptors: 3 },
    });
  });

  it('gives the same sums of times whatever the order: none is lower by a rounding', () => {
    const ledger = new MemberLedger();
    for (const [worker, ms] of [0.1, 0.7, 0.3, 1e6].entries())
      ledger.note({ worker, pid: worker, at: 0, snapshot: snapshot([ms, ms / 3], 0) });
    const before = totalOf(ledger.report).latency.cacheMicros;
    expect(Number.isInteger(before)).toBe(true);
    for (const worker of [2, 0, 3, 1]) {
      ledger.end(worker);
      expect(totalOf(ledger.report).latency.cacheMicros).toBe(before);
    }
  });
});

describe('a worker that hangs', () => {
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('is killed and restarted, and its keys are served again', async () => {
    // As run-cache.ts does it, with less patience; beside the program of the workers.
    const impatient = join(dirname(program), 'impatient.js');
    buildSync({
      bundle: true,
      platform: 'node',
      format: 'esm',
      banner: {
        js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
      },
      stdin: {
        contents: `
          import { loadConfig } from './config/node-config.ts';
          import { Log } from './log/log.ts';
          import { Workers } from './workers/workers.ts';
          const log = new Log({ level: 'info', format: 'json' });
          await Workers.start(loadConfig(JSON.parse(process.argv[2])), log, { hungMs: 3000 });`,
        resolveDir: fileURLToPath(new URL('../../src/node/', import.meta.url)),
        loader: 'ts',
      },
      outfile: impatient,
    });
    const origin = await startOrigin();
    const node = await startProgram(impatient, { upstream: [origin.url], workers: 2 });
    const [stopped] = node.events('listening').map(({ pid }) => Number(pid));
    process.kill(stopped, 'SIGSTOP');
    await until('it to be killed', () => node.events('worker-hung').some(({ pid }) => pid === stopped));
    await until('its return', () => node.events('worker-restarted').length > 0);
    expect(isAlive(stopped)).toBe(false);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => ask(node.port, `/${i}`)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  });

  it('is one that keeps silent, and no other', async () => {
    const hung: number[] = [];
    const watch = new SilenceWatch(300, (worker) => hung.push(worker));
    cleanUp(() => watch.stop());
    for (const worker of [0, 1, 2]) watch.heard(worker);
    watch.forget(2);
    const talking = setInterval(() => watch.heard(0), 20);
    cleanUp(() => clearInterval(talking));
    await pause(150);
    expect(hung).toEqual([]);
    await until('one to be found', () => hung.length > 0, 20_000);
    expect(hung).toEqual([1]);
  });

  it('is none when all were asleep, and the clock alone has moved on', async () => {
    const hung: number[] = [];
    const watch = new SilenceWatch(300, (worker) => hung.push(worker));
    cleanUp(() => watch.stop());
    watch.heard(0);
    await pause(50);
    // Nothing runs in this process for longer than the limit.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
    await pause(60);
    expect(hung).toEqual([]);
  });
});

describe('a primary that is killed', () => {
  it('takes its workers and their sockets with it', async () => {
    const temporary = mkdtempSync(join(folder, 'tmp-'));
    const node = await startProgram(program, { workers: 2 }, { env: { TMPDIR: temporary } });
    const pids = node.events('listening').map(({ pid }) => Number(pid));
    expect(readdirSync(temporary)).toHaveLength(1);
    node.child.kill('SIGKILL');
    await node.ended;
    await until('the workers to be gone', () => !pids.some(isAlive), 40_000);
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('leaves nothing either when a signal ends it before all is ready', async () => {
    const temporary = mkdtempSync(join(folder, 'tmp-'));
    const flags = JSON.stringify({ flags: { listen: ['127.0.0.1:0'], disk: false, workers: 2 } });
    const child = spawn(process.execPath, [program, flags], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: 'ignore',
    });
    await until('its folder', () => readdirSync(temporary).length === 1);
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code).toBe(143);
    await until('nothing to be left', () => readdirSync(temporary).length === 0, 20_000);
  });
});

describe('folders of sockets that were left behind', () => {
  it('are removed if no process listens there, and no others', async () => {
    const parent = mkdtempSync(join(folder, 'left-'));
    const make = (name: string, ageSeconds = 60) => {
      const path = join(parent, name);
      mkdirSync(path);
      return { path, grow: () => utimesSync(path, Date.now() / 1000, Date.now() / 1000 - ageSeconds) };
    };
    // One whose process was killed: the name of its socket is there.
    const dead = make('bloomery-workers-dead');
    const sock = join(dead.path, 'primary.sock');
    const killed = spawn(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(sock)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ]);
    await once(killed, 'exit');
    expect(existsSync(sock)).toBe(true);
    const empty = make('bloomery-workers-empty');
    const young = make('bloomery-workers-young', 0);
    const other = make('bloomery-other');
    const alive = make('bloomery-workers-alive');
    const server = createServer((socket) => socket.destroy()).listen(join(alive.path, 'primary.sock'));
    await once(server, 'listening');
    cleanUp(() => server.close());
    const elsewhere = make('kept');
    writeFileSync(join(elsewhere.path, 'letter'), 'dear');
    symlinkSync(elsewhere.path, join(parent, 'bloomery-workers-link'));
    writeFileSync(join(parent, 'bloomery-workers-file'), '');
    for (const one of [dead, empty, young, other, alive, elsewhere]) one.grow();
    await removeLeftFolders(parent);
    expect(readdirSync(parent).sort()).toEqual([
      'bloomery-other',
      'bloomery-workers-alive',
      'bloomery-workers-file',
      'bloomery-workers-link',
      'bloomery-workers-young',
      'kept',
    ]);
    expect(existsSync(join(elsewhere.path, 'letter'))).toBe(true);
  });

  it('are looked for by the next primary, whose own is not one of them', async () => {
    const parent = mkdtempSync(join(folder, 'next-'));
    const first = await openWorkersFolder(parent);
    const old = Date.now() / 1000 - 3600;
    utimesSync(first.path, old, old);
    const left = join(parent, 'bloomery-workers-left');
    mkdirSync(left);
    utimesSync(left, old, old);
    const second = await openWorkersFolder(parent);
    expect([first.path, second.path].map(existsSync)).toEqual([true, true]);
    expect(existsSync(left)).toBe(false);
    first.close();
    second.close();
    expect(readdirSync(parent)).toEqual([]);
  });

  it('a temporary folder with too long a name is told as such', async () => {
    const parent = join(folder, 'a'.repeat(90));
    mkdirSync(parent);
    await expect(openWorkersFolder(parent)).rejects.toThrow(
      /Cannot make sockets in the temporary folder .*: expected at most .* set TMPDIR/,
    );
    expect(readdirSync(parent)).toEqual([]);
  });
});
