/**
 * Random interleavings of one writer and many readers on a spool, on both backings. The writer
 * writes, ends, fails, or is abandoned; readers join late, read slowly, leave, or are left behind;
 * the backing admits no more, has no room, or fails.
 *
 * Checked at each step: each reader gets the bytes of its range in order, and memory is bounded.
 * Checked at the end: each reader has all its bytes and an end, or an error that the rules allow;
 * the writer does not wait for anything; and nothing is left in use.
 *
 * Time passes in steps of the patience, so that it is known which readers must be left behind.
 */

import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  BACKINGS,
  type BackingName,
  type SpoolBench,
  spoolOn,
  type Trouble,
  WINDOW,
} from '../../test/store/spool-lab.ts';
import { bodyBytes, expectBytes } from '../../test/store/stored-responses.ts';
import { BodyError, type BodyReader } from './response-store.ts';

const HOLD_MS = 10_000;
const body = bodyBytes(2_000_000, 5);
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test.each(BACKINGS)('random interleavings on %s', { timeout: 30_000 * Math.max(1, EFFORT) }, async (name) => {
  const seen: Record<string, number> = {};
  for (let seed = 1; seed <= withEffort(100, 60); seed++) {
    try {
      for (const event of await new Run(name, seed).play()) seen[event] = (seen[event] ?? 0) + 1;
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  // A model that never meets a case does not test it.
  for (const event of [
    'ended',
    'aborted',
    'abandoned',
    'left behind',
    'joined too late',
    'waited',
    'passed',
  ]) {
    expect(seen[event], event).toBeGreaterThan(0);
  }
});

/** A reader, and what the model knows about it. */
interface Follower {
  readonly reader: BodyReader;
  readonly start: number;
  readonly end: number;
  got: number;
  busy: boolean;
  result: 'ended' | 'closed' | BodyError | undefined;
  /** Set if its first bytes were dropped before it came: it must be told before any byte. */
  readonly late: boolean;
  /** Set if it held up others for too long. */
  leftBehind: boolean;
}

class Run {
  readonly #random: Random;
  readonly #bench: SpoolBench;
  readonly #chunk: number;
  readonly #attended: boolean;
  readonly #events = new Set<string>();
  readonly #followers: Follower[] = [];
  #writing = false;
  /** The most bytes in memory that a body may have had when it ceased to be kept. */
  #before = 0;
  #hadReader = false;

  constructor(name: BackingName, seed: number) {
    const random = new Random(seed);
    this.#random = random;
    this.#chunk = random.pick([500, 20_000, 120_000]);
    const at = random.below(12 * this.#chunk);
    const trouble: Trouble = random.pick([{}, { refuseAfter: at }, { fullAfter: at }, { failAfter: at }]);
    this.#bench = spoolOn(name, trouble);
    if (random.below(6) === 0) this.#bench.spool.letThrough();
    this.#attended = random.below(2) === 0;
    if (this.#attended)
      this.#bench.spool.attend({ holdMs: HOLD_MS, abandoned: (why) => this.#abandoned(why) });
  }

  async play(): Promise<Iterable<string>> {
    const random = this.#random;
    for (let step = 0; step < 250 && this.#bench.spool.open; step++) {
      const action = random.below(24);
      if (action < 9) this.#write();
      else if (action < 17) this.#read(this.#pick());
      else if (action < 19) this.#join();
      else if (action === 19 && random.below(2) === 0) this.#leave(this.#pick());
      else if (action === 20 && random.below(3) === 0) await this.#tick();
      else if (action > 21) await turn();
      this.#check();
    }
    await this.#finish();
    return this.#events;
  }

  #write(): void {
    const { spool } = this.#bench;
    if (this.#writing) return;
    if (!spool.passing) this.#before = Math.max(this.#before, spool.held.end - spool.held.start);
    const chunk = body.subarray(spool.length, spool.length + 1 + this.#random.below(this.#chunk));
    if (chunk.length === 0) return;
    const wait = spool.push(chunk);
    if (wait === undefined) return;
    this.#writing = true;
    const done = (): void => {
      this.#writing = false;
    };
    wait.then(done, (error: unknown) => {
      if (!(error instanceof BodyError)) throw error;
      // The backing failed: the writer goes on when there is room.
      const room = spool.room();
      if (room === undefined) done();
      else void room.then(done);
    });
  }

  #join(): void {
    const { spool, backing } = this.#bench;
    if (this.#followers.filter((one) => one.result === undefined).length >= 5) return;
    const random = this.#random;
    const start = random.below(2) === 0 ? 0 : random.below(spool.length + 2 * this.#chunk);
    const end = random.below(3) > 0 ? Number.POSITIVE_INFINITY : start + random.below(6 * this.#chunk);
    const hole = spool.held.start > backing.end;
    const held = start >= spool.held.start || (start < backing.end && (!hole || end <= backing.end));
    if (start === 0 && spool.joinable && spool.length > 0) expect(held, 'joinable').toBe(true);
    this.#hadReader = true;
    this.#followers.push({
      reader: spool.read(start, end),
      start,
      end,
      got: 0,
      busy: false,
      result: undefined,
      late: !held,
      leftBehind: false,
    });
  }

  #pick(): Follower | undefined {
    const open = this.#followers.filter((one) => one.result === undefined && !one.busy);
    return open.length === 0 ? undefined : this.#random.pick(open);
  }

  #read(one: Follower | undefined): void {
    if (one === undefined) return;
    const next = one.reader.next();
    if (!(next instanceof Promise)) {
      this.#took(one, next);
      return;
    }
    one.busy = true;
    next.then(
      (bytes) => {
        one.busy = false;
        this.#took(one, bytes);
      },
      (error: unknown) => {
        one.busy = false;
        if (one.result === 'closed') return;
        expect(error).toBeInstanceOf(BodyError);
        one.result = error as BodyError;
      },
    );
  }

  #took(one: Follower, bytes: Uint8Array | null): void {
    if (one.result === 'closed') return;
    if (bytes === null) {
      one.result = 'ended';
      // A reader that has all it wants counts until it is closed.
      one.reader.close();
      return;
    }
    const at = one.start + one.got;
    expect(bytes.length).toBeGreaterThan(0);
    expect(at + bytes.length).toBeLessThanOrEqual(one.end);
    expectBytes(bytes, body.subarray(at, at + bytes.length), `bytes at ${at}`);
    one.got += bytes.length;
  }

  #leave(one: Follower | undefined): void {
    if (one === undefined) return;
    one.result = 'closed';
    one.reader.close();
  }

  /** The patience ends: the readers that hold up others are left behind. */
  async #tick(): Promise<void> {
    for (let i = 0; i < 5; i++) await turn();
    const { spool } = this.#bench;
    if (this.#writing && spool.passing) {
      this.#events.add('waited');
      const open = this.#followers.filter((one) => one.result === undefined);
      const waiting = open.some((one) => one.start + one.got >= spool.length);
      for (const one of open) {
        if (!waiting || spool.length - one.start - one.got <= WINDOW / 2) continue;
        one.leftBehind = true;
        this.#events.add('left behind');
      }
    }
    vi.advanceTimersByTime(HOLD_MS);
    await turn();
  }

  #abandoned(why: Error): void {
    const { spool } = this.#bench;
    expect(spool.readers).toBe(0);
    this.#events.add('abandoned');
    spool.abort(why);
    this.#bench.release();
  }

  #check(): void {
    const { spool, backing } = this.#bench;
    if (spool.passing) {
      this.#events.add('passed');
      // Unread and unkept: it must have been abandoned, unless its first reader may still come.
      if (this.#attended && this.#hadReader && spool.readers === 0) expect(spool.open).toBe(false);
    }
    const held = spool.held.end - spool.held.start;
    const bound = spool.passing
      ? Math.max(WINDOW, this.#before) + 2 * this.#chunk
      : 'bytes' in this.#bench.left()
        ? spool.length
        : WINDOW + this.#chunk;
    expect(held, 'bytes in memory').toBeLessThanOrEqual(bound);
    expect(spool.held.start, 'no hole before a reader').toBeGreaterThanOrEqual(backing.end);
  }

  async #finish(): Promise<void> {
    const { spool } = this.#bench;
    const aborts = this.#random.below(3) === 0;
    if (aborts && spool.open) {
      this.#events.add('aborted');
      spool.abort(new Error('the origin went away'));
      this.#bench.release();
    }
    // Readers go on until the writer is released, and after the end until they have all.
    await this.#until('the writer waits', () => !this.#writing);
    if (spool.open) {
      this.#events.add('ended');
      spool.end();
      this.#bench.release();
    }
    await this.#until('a reader hangs', () => this.#followers.every((one) => one.result !== undefined));
    for (const one of this.#followers) this.#judge(one);
    await this.#until('something is left', () =>
      Object.values(this.#bench.left()).every((count) => count === 0),
    );
    expect([spool.readers, vi.getTimerCount()]).toEqual([0, 0]);
    this.#bench.dispose();
  }

  async #until(what: string, done: () => boolean): Promise<void> {
    for (let i = 0; !done(); i++) {
      if (i > 100_000) expect.fail(what);
      for (const one of this.#followers) if (one.result === undefined && !one.busy) this.#read(one);
      await turn();
      if (this.#bench.spool.open) this.#check();
    }
  }

  /** Whether the rules allow what a reader got in the end. */
  #judge(one: Follower): void {
    const { spool } = this.#bench;
    const { result, got, start, end, late, leftBehind } = one;
    if (result === 'ended') {
      const all = spool.failure === undefined ? Math.min(end, spool.length) : end;
      expect(got, `bytes from ${start} to ${end}`).toBe(Math.max(0, all - start));
    } else if (result instanceof BodyError && result.code === 'gone') {
      expect(leftBehind || (late && got === 0), `gone after ${got} bytes: ${result.message}`).toBe(true);
      if (late) this.#events.add('joined too late');
    } else if (result instanceof BodyError) {
      expect([result.code, spool.failure === result]).toEqual(['aborted', true]);
    }
  }
}
