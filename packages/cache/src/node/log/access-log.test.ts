/**
 * The access log where writing is hard: full disks, pipes without a reader, files that are moved
 * away meanwhile. No line is lost without being counted.
 */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundleProgram } from '../../../test/node/cache-program.ts';
import {
  ask,
  cleanUp,
  scratchFolder,
  startOrigin,
  startTestNode,
  until,
} from '../../../test/node/scratch.ts';
import type { AnswerRecord } from '../../proxy/proxy-observer.ts';
import { loadConfig } from '../config/node-config.ts';
import { AccessLog } from './access-log.ts';

const folder = scratchFolder();
let pipes = 0;

const RECORD: AnswerRecord = {
  at: 0,
  client: '127.0.0.1',
  method: 'GET',
  url: `http://h/${'a'.repeat(900)}`,
  status: 200,
  outcome: 'hit',
  reason: '',
  bytesOut: 10,
  bytesFromOrigin: 0,
  durationMs: 1,
  aborted: false,
};

function openLog(path: string) {
  const seen = { dropped: 0, problems: [] as string[] };
  const log = new AccessLog({
    path,
    format: 'json',
    failed: (error) => seen.problems.push(error.message),
    dropped: (lines) => {
      seen.dropped += lines;
    },
  });
  const add = (count: number) => {
    for (let i = 0; i < count; i++) log.add(RECORD);
  };
  return { log, seen, add };
}

/** A pipe with a name, and its other end, which is read when asked to. */
function pipe() {
  const path = join(folder, `pipe-${++pipes}`);
  execFileSync('mkfifo', [path]);
  const open = () => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  let reader: number | null = open();
  cleanUp(() => reader !== null && closeSync(reader));
  return {
    path,
    leave() {
      if (reader !== null) closeSync(reader);
      reader = null;
    },
    comeBack() {
      reader = open();
    },
    /** The next byte, if there is one. */
    readByte(): string {
      const byte = Buffer.alloc(1);
      try {
        return byte.toString('latin1', 0, readSync(reader as number, byte));
      } catch {
        return ''; // EAGAIN
      }
    },
    /** All that is there now. */
    read(): string {
      const parts: Buffer[] = [];
      const part = Buffer.alloc(65536);
      for (;;) {
        try {
          const length = readSync(reader as number, part);
          if (length === 0) break;
          parts.push(Buffer.from(part.subarray(0, length)));
        } catch {
          break; // EAGAIN: nothing more at the moment
        }
      }
      return Buffer.concat(parts).toString();
    },
  };
}

const linesIn = (text: string) => text.split('\n').length - 1;

describe('a pipe', () => {
  it('that is read slowly gets every line, whole', async () => {
    const fifo = pipe();
    const { log, seen, add } = openLog(fifo.path);
    // Four times what a pipe holds.
    add(250);
    const closed = log.close(4000);
    let text = '';
    await until('all lines', () => {
      text += fifo.read();
      return linesIn(text) === 250;
    });
    await closed;
    for (const line of text.trimEnd().split('\n')) expect(JSON.parse(line)).toMatchObject({ status: 200 });
    expect(seen).toEqual({ dropped: 0, problems: [] });
  });

  it('that is not read holds up no end, and what it did not take is counted', {
    timeout: 15_000,
  }, async () => {
    const fifo = pipe();
    const { log, seen, add } = openLog(fifo.path);
    add(250);
    await log.close(200);
    const taken = linesIn(fifo.read());
    expect(taken).toBeGreaterThan(20);
    expect(seen.dropped).toBe(250 - taken);
  });

  it('that is not read fills memory to a bound; the rest is counted, and told once', async () => {
    const fifo = pipe();
    const { log, seen, add } = openLog(fifo.path);
    add(12_000);
    expect(seen.dropped).toBeGreaterThan(1000);
    expect(seen.problems).toEqual([expect.stringContaining('so some are dropped')]);
    await log.close(0);
    expect(seen.dropped).toBeGreaterThan(11_800);
  });

  it('whose reader left loses lines, counted; the next reader finds the next line on a line of its own', async () => {
    const fifo = pipe();
    const { log, seen, add } = openLog(fifo.path);
    add(250);
    log.flush();
    // Full, in the middle of a line: the kernel lets no process read while it fills a pipe.
    let text = '';
    await until('the pipe to be full', () => (text = fifo.readByte()) !== '');
    fifo.leave();
    await until('the loss to be told', () => seen.problems.length === 1);
    expect(seen.problems[0]).toContain('EPIPE');
    fifo.comeBack();
    text += fifo.read();
    log.add({ ...RECORD, url: 'http://h/next' });
    const closed = log.close(60_000);
    // On a busy machine more than a pipe holds may still be on its way.
    await until('the next line', () => {
      text += fifo.read();
      return text.includes('http://h/next');
    });
    await closed;
    const whole = text.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
    expect(JSON.parse(whole.at(-1) as string)).toMatchObject({ url: 'http://h/next' });
    expect(whole.length - 1 + seen.dropped).toBe(250);
  });

  it('without a reader is refused at once, instead of waiting for one', () => {
    const fifo = pipe();
    fifo.leave();
    expect(() => openLog(fifo.path)).toThrow(
      `Cannot open the access log ${fifo.path}: it is a pipe without a reader (ENXIO)`,
    );
  });
});

describe('opening it again', () => {
  const openOf = (path: string) =>
    readdirSync('/proc/self/fd').filter((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`) === path;
      } catch {
        return false;
      }
    }).length;

  it('again and again while something is being written leaves no descriptor, and loses no line', async () => {
    const fifo = pipe();
    const { log, seen, add } = openLog(fifo.path);
    const before = openOf(fifo.path);
    add(100);
    log.flush();
    for (let i = 0; i < 5; i++) {
      add(1);
      log.reopen();
    }
    let text = '';
    // All of them come by themselves: no further line is needed to push out the last.
    await until('all lines', () => {
      text += fifo.read();
      return linesIn(text) === 105;
    });
    await until('the old ones to be closed', () => openOf(fifo.path) === before);
    await log.close();
    expect(seen.dropped).toBe(0);
    expect(openOf(fifo.path)).toBe(before - 1);
  });
});

describe('of a node', () => {
  it('lines that a full disk did not take are in status and metrics', async () => {
    const origin = await startOrigin();
    const node = await startTestNode({ upstream: [origin.url], accessLog: '/dev/full', logFormat: 'json' });
    for (let i = 0; i < 3; i++) await ask(node.port, '/a');
    await until('the loss', async () => (await node.status()).accessLogDropped === 3);
    expect(await node.metrics()).toContain('\nbloomery_cache_access_log_dropped_total 3\n');
    expect(node.lines.filter(({ event }) => event === 'access-log')).toEqual([
      expect.objectContaining({ level: 'error', problem: expect.stringContaining('ENOSPC') }),
    ]);
    // Another log does not start its count again.
    node.reload(loadConfig({ flags: { disk: false } }));
    expect((await node.status()).accessLogDropped).toBe(3);
  });

  it('on a standard output that is read slowly loses nothing, and stops when its reader is gone', async () => {
    const program = bundleProgram(join(folder, 'program'));
    const origin = await startOrigin();
    const flags = { listen: ['127.0.0.1:0'], disk: false, upstream: [origin.url], accessLog: '-' };
    // As a shell makes it: `bloomery cache --access-log - | …`.
    const fifo = pipe();
    const output = openSync(fifo.path, 'w');
    const child = spawn(process.execPath, [program, JSON.stringify({ flags })], {
      stdio: ['ignore', output, 'pipe'],
    });
    closeSync(output);
    cleanUp(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr?.on('data', (text) => {
      said += text;
    });
    await until('it to listen', () => /127\.0\.0\.1:\d+"/.test(said));
    const port = Number(/127\.0\.0\.1:(\d+)"/.exec(said)?.[1]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    cleanUp(() => agent.destroy());
    // More than a pipe holds.
    const askAll = async () => {
      for (let i = 0; i < 60; i++) await ask(port, `/${'a'.repeat(1900)}`, { agent });
    };
    await askAll();
    await new Promise((resolve) => setTimeout(resolve, 200));
    let text = '';
    await until('all lines', () => {
      text += fifo.read();
      return linesIn(text) === 60;
    });
    expect(said).not.toContain('access-log');
    await askAll();
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
  });

  it('counts what the filter before the disk did not admit', async () => {
    const origin = await startOrigin();
    const disk = join(folder, 'disk');
    const node = await startTestNode({ upstream: [origin.url], disk, diskSize: '50MB' });
    for (const path of ['/1', '/2', '/3']) await ask(node.port, path);
    expect((await node.status()).stores.disk).toMatchObject({ responses: 0, refused: 3 });
    expect(await node.metrics()).toContain('bloomery_cache_store_not_admitted_total{tier="disk"} 3\n');
    expect(readFileSync(join(disk, 'bloomery-cache.json'), 'utf8')).toContain('"workers":1');
  });
});

describe('a line as JSON', () => {
  it('has every field of its record, and no others', async () => {
    const all: Required<Omit<AnswerRecord, 'neighbour' | 'cacheStatus' | 'fields'>> = {
      ...RECORD,
      at: 0,
      url: 'http://h/a',
      bytesFromNeighbours: 7,
      neighbours: 'no candidate',
      notStored: 'private',
    };
    const path = join(folder, 'json.log');
    const { log } = openLog(path);
    log.add(all);
    log.add(RECORD);
    await log.close();
    const [first, second] = readFileSync(path, 'utf8').trim().split('\n');
    expect(JSON.parse(first)).toEqual({ ...all, at: '1970-01-01T00:00:00.000Z', url: 'http://h/a' });
    expect(JSON.parse(second)).toEqual({ ...RECORD, at: new Date(RECORD.at).toISOString() });
  });
});
