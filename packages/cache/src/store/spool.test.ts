/**
 * The rules of spool.ts, one by one, on both backings. `spool-model.test.ts` mixes them at random.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  BACKINGS,
  fileBacking,
  type SpoolBench,
  spoolOn,
  type Trouble,
  WINDOW,
} from '../../test/store/spool-lab.ts';
import { bodyBytes, expectBytes, readAll } from '../../test/store/stored-responses.ts';
import type { BodyReader } from './response-store.ts';

const CHUNK = 50_000;
const body = bodyBytes(1_000_000, 14);
/** Time for the disk of a busy machine, within the limit of a test. */
const LONGEST_MS = 8000;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe.each(BACKINGS)('a spool on %s', { timeout: 20_000 }, (name) => {
  let bench: SpoolBench;
  const open = (trouble?: Trouble) => {
    bench = spoolOn(name, trouble);
    return bench.spool;
  };

  /** Only the timers of the spool are faked, because a file needs real turns of the event loop. */
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });
  afterEach(async () => {
    const timers = vi.getTimerCount();
    vi.useRealTimers();
    const nothing = Object.fromEntries(Object.keys(bench.left()).map((key) => [key, 0]));
    // A file is closed and deleted in the background.
    const began = performance.now();
    while (JSON.stringify(bench.left()) !== JSON.stringify(nothing) && performance.now() - began < LONGEST_MS)
      await turn();
    const left = bench.left();
    bench.dispose();
    expect([left, timers]).toEqual([nothing, 0]);
  });

  /** Writes the bytes up to `to`. Returns the promise of a write that has to wait, if one has. */
  async function write(to: number): Promise<{ wait?: Promise<void> }> {
    const { spool } = bench;
    while (spool.open && spool.length < to) {
      const wait = spool.push(body.subarray(spool.length, Math.min(to, spool.length + CHUNK)));
      if (wait !== undefined && (await isStuck(wait))) return { wait };
    }
    return {};
  }

  /** Whether only a reader can end this wait. A write to a file takes some time. */
  async function isStuck(wait: Promise<void>): Promise<boolean> {
    let done = false;
    const seen = () => {
      done = true;
    };
    wait.then(seen, seen);
    const began = performance.now();
    for (let i = 0; !done && performance.now() - began < LONGEST_MS; i++) {
      await turn();
      if (bench.spool.passing && i > 20) break;
    }
    return !done;
  }

  async function read(reader: BodyReader, bytes: number): Promise<void> {
    for (let got = 0; got < bytes; ) got += (await reader.next())!.length;
  }

  const end = () => {
    bench.spool.end();
    bench.release();
  };

  test('a slow reader of a kept body delays nothing, and gets every byte later', async () => {
    const spool = open();
    const slow = spool.read();
    const fast = readAll(spool.read());
    expect(await write(body.length)).toEqual({});
    const part = spool.read(300_000, 700_000);
    end();
    expectBytes(await fast, body);
    expectBytes(await readAll(slow), body);
    expectBytes(await readAll(part), body.subarray(300_000, 700_000));
  });

  test('a body that passes through waits for its slowest reader, until half of the window is free', async () => {
    const spool = open({ refuseAfter: 0 });
    const [slow, fast] = [spool.read(), readAll(spool.read())];
    const { wait } = await write(body.length);
    expect(wait).toBeInstanceOf(Promise);
    expect(spool.length).toBe(6 * CHUNK);
    await read(slow, 3 * CHUNK);
    expect(await isStuck(wait!)).toBe(true);
    await read(slow, CHUNK);
    await wait;
    const rest = readAll(slow);
    expect(await write(body.length)).toEqual({});
    end();
    expectBytes(await fast, body);
    expectBytes(await rest, body.subarray(4 * CHUNK));
  });

  test('the others go on when the slowest, or the first, leaves', async () => {
    const spool = open({ refuseAfter: 0 });
    const [first, fast] = [spool.read(), readAll(spool.read())];
    const { wait } = await write(body.length);
    first.close();
    await wait;
    expect(await write(body.length)).toEqual({});
    end();
    expectBytes(await fast, body);
  });

  test('a reader that holds up others for ten seconds is left behind', async () => {
    const spool = open({ refuseAfter: 0 });
    const [slow, fast] = [spool.read(), readAll(spool.read())];
    const { wait } = await write(body.length);
    vi.advanceTimersByTime(9_999);
    expect(await isStuck(wait!)).toBe(true);
    vi.advanceTimersByTime(1);
    await wait;
    await expect((async () => slow.next())()).rejects.toMatchObject({ code: 'gone' });
    expect(await write(body.length)).toEqual({});
    end();
    expectBytes(await fast, body);
  });

  test('a reader that frees half of the window in time is not left behind, nor one that is alone', async () => {
    const spool = open({ refuseAfter: 0 });
    const slow = spool.read();
    const { wait } = await write(body.length);
    vi.advanceTimersByTime(60_000);
    expect(spool.readers).toBe(1);
    const fast = spool.read(6 * CHUNK);
    const first = fast.next();
    vi.advanceTimersByTime(9_000);
    await read(slow, 4 * CHUNK);
    await wait;
    vi.advanceTimersByTime(9_000);
    expect(spool.readers).toBe(2);
    spool.abort(new Error('over'));
    bench.release();
    await expect(first).rejects.toThrow('over');
    await expect(readAll(slow)).rejects.toThrow('over');
  });

  test('a body that ceases to be kept without readers is abandoned at once', async () => {
    const spool = open({ refuseAfter: 2 * CHUNK });
    const abandoned = attend();
    await write(2 * CHUNK);
    expect(abandoned).not.toHaveBeenCalled();
    await write(3 * CHUNK);
    expect(abandoned).toHaveBeenCalledOnce();
    expect([spool.open, spool.joinable]).toEqual([false, false]);
    await expect(readAll(spool.read())).rejects.toMatchObject({ code: 'aborted' });
  });

  test('a body that is not kept is abandoned when its last reader leaves', async () => {
    const spool = open({ refuseAfter: 2 * CHUNK });
    const abandoned = attend();
    const [one, other] = [spool.read(), spool.read()];
    await write(3 * CHUNK);
    one.close();
    expect(abandoned).not.toHaveBeenCalled();
    other.close();
    expect(abandoned).toHaveBeenCalledOnce();
  });

  test('a body that passes through from its first byte on has ten seconds to find a reader', async () => {
    const spool = open();
    spool.letThrough();
    const abandoned = attend();
    await write(body.length);
    vi.advanceTimersByTime(9_999);
    expect(abandoned).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(abandoned).toHaveBeenCalledOnce();
  });

  test('a kept body without readers goes on while 64 KB arrive in ten seconds', async () => {
    open();
    const abandoned = attend();
    for (let to = 70_000; to < 400_000; to += 70_000) {
      await write(to);
      vi.advanceTimersByTime(10_000);
      expect(abandoned).not.toHaveBeenCalled();
    }
    await write(400_000);
    vi.advanceTimersByTime(10_000);
    expect(abandoned).toHaveBeenCalledOnce();
  });

  test.each<[string, Trouble]>([
    ['admits no more', { refuseAfter: 600_000 }],
    ['has no room', { fullAfter: 600_000 }],
    ['fails', { failAfter: 600_000 }],
  ])('the backing %s in the middle: all readers get every byte', async (_, trouble) => {
    const spool = open(trouble);
    attend();
    const [slow, fast] = [spool.read(), readAll(spool.read())];
    await write(600_000);
    expect([spool.passing, spool.joinable]).toEqual([false, true]);
    const failed = spool.push(body.subarray(600_000, 610_000))?.then(
      () => null,
      (error: unknown) => error,
    );
    // The slow reader is in the way by now.
    const rest = readAll(slow);
    if (trouble.failAfter === undefined) expect(await failed).not.toBeInstanceOf(Error);
    else expect(await failed).toMatchObject({ code: 'write-failed' });
    await spool.room();
    expect([spool.passing, spool.joinable, spool.length]).toEqual([true, false, 610_000]);
    expect(await write(body.length)).toEqual({});
    end();
    expectBytes(await fast, body);
    expectBytes(await rest, body);
  });

  test('an abort reaches the writer that waits and all readers, also those that are behind', async () => {
    const spool = open({ refuseAfter: 0 });
    const [behind, waiting] = [spool.read(), readAll(spool.read())];
    const { wait } = await write(body.length);
    spool.abort(new Error('the origin went away'));
    bench.release();
    await wait;
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await expect(readAll(behind)).rejects.toThrow('the origin went away');
    await expect(spool.push(body.subarray(0, 1))).rejects.toMatchObject({ code: 'aborted' });
  });

  test('a body that passes through from its first byte on can be joined while that byte is held', async () => {
    const spool = open();
    spool.letThrough();
    const fast = readAll(spool.read());
    expect(spool.joinable).toBe(true);
    await write(WINDOW - 1);
    expect(spool.joinable).toBe(true);
    const late = readAll(spool.read());
    await write(body.length);
    expect(spool.joinable).toBe(false);
    await expect(readAll(spool.read())).rejects.toMatchObject({ code: 'gone' });
    end();
    expectBytes(await fast, body);
    expectBytes(await late, body);
  });

  test('a reader that has all it wants counts until it is closed, and leaves at the end', async () => {
    const spool = open();
    const [open1, closed] = [spool.read(0, 10), spool.read(0, 10)];
    await write(CHUNK);
    for (const reader of [open1, closed]) {
      expect((await reader.next())!.length).toBe(10);
      expect(await reader.next()).toBeNull();
    }
    expect(spool.readers).toBe(2);
    closed.close();
    expect(spool.readers).toBe(1);
    end();
    expect(spool.readers).toBe(0);
    expect(await open1.next()).toBeNull();
  });

  function attend() {
    const abandoned = vi.fn((reason: Error) => {
      bench.spool.abort(reason);
      bench.release();
    });
    bench.spool.attend({ abandoned });
    return abandoned;
  }
});

test('readers of a body that moves from memory to a file notice nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-spool-'));
  const memory = spoolOn('memory');
  const { spool } = memory;
  const { backing, left } = fileBacking(folder);
  const slow = spool.read();
  const fast = readAll(spool.read());
  await spool.push(body.subarray(0, 400_000));
  const first = (await slow.next())!;
  expect(memory.left().bytes).toBe(400_000);
  spool.moveTo(backing);
  expect(memory.left().bytes).toBe(0);
  for (let at = 400_000; at < body.length; at += CHUNK) await spool.push(body.subarray(at, at + CHUNK));
  expect(backing.end).toBeGreaterThan(900_000);
  const finished = await backing.finish(spool.held);
  expect(finished).toMatchObject({ kind: 'file', length: body.length });
  spool.end();
  backing.discard(true);
  spool.release();
  expectBytes(await fast, body);
  expectBytes(Buffer.concat([first, await readAll(slow)]), body);
  for (let i = 0; i < 1000 && left().open > 0; i++) await turn();
  expect(left()).toEqual({ reserved: 0, open: 0, files: 1 });
  rmSync(folder, { recursive: true });
});
