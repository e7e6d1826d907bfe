/** The body that many clients read while it arrives, without HTTP. */

import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StoredResponse } from '../../src/policy/stored-response.ts';
import { PartsReader } from '../../src/proxy/client/parts-reader.ts';
import { FlightBody } from '../../src/proxy/flight/flight-body.ts';
import { MemoryStore } from '../../src/store/memory/memory-store.ts';
import type { BodyReader, BodyWriter } from '../../src/store/response-store.ts';

const response: StoredResponse = {
  key: 'k',
  status: 200,
  statusText: 'OK',
  headers: [],
  varied: [],
  requestTime: 0,
  responseTime: 0,
  initialAgeMs: 0,
  lifetimeMs: 1000,
  flags: 0,
  staleWhileRevalidateMs: 0,
  staleIfErrorMs: 0,
  etag: null,
  lastModified: null,
  bodyLength: 6,
  range: null,
};
const bytes = (text: string) => Buffer.from(text);

async function all(reader: BodyReader): Promise<string> {
  let text = '';
  for (let chunk = await reader.next(); chunk !== null; chunk = await reader.next())
    text += Buffer.from(chunk);
  return text;
}

/** A writer that fails on demand, as a full disk does. */
function failing(inner: BodyWriter, after: number): BodyWriter {
  let written = 0;
  return {
    get length() {
      return inner.length;
    },
    write: async (chunk) => {
      written += chunk.length;
      if (written > after) throw new Error('No space left');
      await inner.write(chunk);
    },
    read: (start, end) => inner.read(start, end),
    spool: inner.spool,
    commit: (stored) => inner.commit(stored),
    endUnkept: () => inner.endUnkept(),
    abort: (reason) => inner.abort(reason),
  };
}

describe('FlightBody', () => {
  const store = () => new MemoryStore({ capacityBytes: 10_000_000 });

  it('is read by many, each at its own pace, while it comes and after', async () => {
    const kept = store();
    const body = new FlightBody(kept.create('k', undefined), 100, () => {});
    const early = all(body.read());
    body.write(bytes('abc'));
    const late = all(body.read());
    const part = all(body.read(1, 4));
    body.write(bytes('def'));
    const lazy = body.read();
    expect(await body.end(response)).toBe(true);
    expect(await Promise.all([early, late, part, all(lazy)])).toEqual(['abcdef', 'abcdef', 'bcd', 'abcdef']);
    expect(kept.statistics.responses).toBe(1);
  });

  it('goes on without readers as long as it moves, and is given up when it drips', async () => {
    const clock = new VirtualClock();
    const kept = store();
    const abandoned = vi.fn();
    const begin = (key: string) =>
      new FlightBody(kept.create(key, undefined), 1e9, abandoned, { timers: clock });
    const body = begin('k');
    const reader = body.read();
    body.write(bytes('abc'));
    await clock.advance(60_000); // with a reader, that is the reader's affair
    expect(abandoned).not.toHaveBeenCalled();
    reader.close();
    for (let i = 0; i < 5; i++) {
      await clock.advance(9_000);
      body.write(new Uint8Array(70_000));
    }
    expect(abandoned).not.toHaveBeenCalled();
    for (let i = 0; i < 20; i++) {
      await clock.advance(1_000);
      body.write(bytes('x'));
    }
    expect(abandoned).toHaveBeenCalledOnce();
    expect(body.open).toBe(false);
    expect(kept.statistics.responses).toBe(0);
    expect(clock.pending).toBe(0);
    const background = begin('b');
    background.write(bytes('abc'));
    expect(clock.pending).toBe(1);
    await background.end({ ...response, key: 'b', bodyLength: 3 });
    expect(clock.pending).toBe(0);
  });

  it('tells readers that it failed', async () => {
    const body = new FlightBody(store().create('k', undefined), 100, () => {});
    const reader = body.read();
    body.write(bytes('abc'));
    const text = all(reader);
    body.fail(new Error('cut'));
    await expect(text).rejects.toThrow(/cut/);
    expect(body.open).toBe(false);
  });

  it.each(['too long', 'full disk'])('gives readers every byte when it overflows: %s', async (why) => {
    const kept = store();
    const inner = kept.create('k', undefined);
    const writer = why === 'full disk' ? failing(inner, 6) : inner;
    const body = new FlightBody(writer, why === 'full disk' ? 1e9 : 6, () => {});
    const eager = all(body.read());
    const slow = body.read();
    await body.write(bytes('abc'));
    await body.write(bytes('def'));
    expect(body.open).toBe(true);
    await body.write(bytes('ghi'));
    expect(body.open).toBe(false);
    const first = await slow.next();
    await body.write(bytes('jkl'));
    expect(await body.end(response)).toBe(false);
    expect(await eager).toBe('abcdefghijkl');
    expect(Buffer.from(first!).toString() + (await all(slow))).toBe('abcdefghijkl');
    expect(kept.statistics.responses).toBe(0);
    expect(kept.inUse.pendingBytes).toBe(0);
  });

  it('waits for the slowest reader after an overflow, until that one leaves', async () => {
    let abandoned = 0;
    const body = new FlightBody(store().create('k', undefined), 6, () => abandoned++);
    const slow = body.read();
    const eager = all(body.read());
    const chunk = Buffer.alloc(150_000, 'x');
    expect(body.write(chunk)).toBeUndefined();
    const wait = body.write(chunk);
    expect(wait).toBeInstanceOf(Promise);
    let went = false;
    void wait!.then(() => {
      went = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(went).toBe(false);
    slow.close();
    await wait;
    body.end(response);
    expect((await eager).length).toBe(300_000);
    expect(abandoned).toBe(0);
  });

  describe('after an overflow', () => {
    const chunk = Buffer.alloc(75_000, 'x');

    /**
     * One reader that has taken one chunk, and one that takes all; the origin waits for the first.
     */
    async function heldUp() {
      const kept = store();
      const body = new FlightBody(kept.create('k', undefined), 6, () => {});
      const [slow, fast] = [body.read(), body.read()];
      let read = 0;
      const eager = (async () => {
        for (let part = await fast.next(); part !== null; part = await fast.next()) read += part.length;
      })();
      let wait: Promise<void> | undefined;
      for (let i = 0; i < 4; i++) wait = body.write(chunk);
      expect(wait).toBeInstanceOf(Promise);
      let went = false;
      void wait!.then(() => {
        went = true;
      });
      await vi.advanceTimersByTimeAsync(0);
      return { kept, body, slow, eager, read: () => read, went: () => went };
    }

    beforeEach(() => {
      vi.useFakeTimers();
    });
    afterEach(() => {
      const timers = vi.getTimerCount();
      vi.useRealTimers();
      expect(timers).toBe(0);
    });

    it('who holds up others for ten seconds is left behind', async () => {
      const { kept, body, slow, eager, read, went } = await heldUp();
      await vi.advanceTimersByTimeAsync(9_999);
      expect([went(), body.readers, read()]).toEqual([false, 2, 300_000]);
      await vi.advanceTimersByTimeAsync(1);
      expect([went(), body.readers]).toEqual([true, 1]);
      await expect(slow.next()).rejects.toMatchObject({ code: 'gone' });
      for (let i = 0; i < 10; i++) await body.write(chunk);
      body.end(response);
      await eager;
      expect(read()).toBe(14 * 75_000);
      slow.close();
      expect(kept.inUse).toEqual({ readers: 0, pendingBytes: 0 });
    });

    it('who makes room in time is not, however slow', async () => {
      const { body, slow, eager } = await heldUp();
      let taken = 0;
      for (let round = 0; round < 10; round++) {
        await vi.advanceTimersByTimeAsync(9_000);
        while (taken < body.length - 125_000) taken += (await slow.next())!.length;
        expect(body.readers).toBe(2);
        await vi.advanceTimersByTimeAsync(0);
        // Until the window is full again.
        while (body.write(chunk) === undefined);
        await vi.advanceTimersByTimeAsync(0);
      }
      body.fail(new Error('over'));
      await expect(eager).rejects.toThrow('over');
    });

    it('that holds up only itself is not', async () => {
      const body = new FlightBody(store().create('k', undefined), 6, () => {});
      const slow = body.read();
      for (let i = 0; i < 4; i++) body.write(chunk);
      await vi.advanceTimersByTimeAsync(100_000);
      expect(body.readers).toBe(1);
      expect((await slow.next())!.length).toBe(75_000);
      body.fail(new Error('over'));
    });

    it('that waits for a part further on does not hold up others', async () => {
      const body = new FlightBody(store().create('k', undefined), 6, () => {});
      const part = all(body.read(749_999, 750_001));
      for (let i = 0; i < 9; i++) expect(body.write(chunk)).toBeUndefined();
      for (const end of ['a', 'b']) body.write(Buffer.alloc(75_000, end));
      body.end(response);
      expect(await part).toBe('ab');
    });

    it('who had all it wanted gets its end', async () => {
      const { body, eager } = await heldUp();
      const part = body.read(0, 0);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await part.next()).toBeNull();
      body.end(response);
      await eager;
    });
  });

  it.each(['when it overflows', 'after it'])(
    'is abandoned if nobody reads it %s, and has failed then',
    async (when) => {
      let abandoned = 0;
      const kept = store();
      const body = new FlightBody(kept.create('k', undefined), 2, () => abandoned++);
      const reader = when === 'after it' ? body.read() : null;
      body.write(bytes('abc'));
      expect(abandoned).toBe(reader === null ? 1 : 0);
      reader?.close();
      expect(abandoned).toBe(1);
      expect(body.write(Buffer.alloc(2_000_000))).toBeUndefined();
      // No reader should come any more; one that does must not wait for bytes that are not fetched.
      for (const late of [body.read(), body.read(5)]) {
        await expect(all(late)).rejects.toMatchObject({ code: 'aborted' });
        late.close();
      }
      expect(abandoned).toBe(1);
      expect(kept.inUse).toEqual({ readers: 0, pendingBytes: 0 });
    },
  );

  it('is not abandoned when it is complete and waits to be committed', async () => {
    let abandoned = 0;
    const writer = store().create('k', undefined);
    let commit = (): void => {};
    const turn = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const later = writer.endUnkept.bind(writer);
    (writer as BodyWriter).endUnkept = () => turn.then(later);
    const body = new FlightBody(writer, 2, () => abandoned++);
    const reader = body.read();
    await body.write(bytes('abc'));
    const ended = body.end(response);
    reader.close();
    commit();
    expect([await ended, abandoned]).toEqual([false, 0]);
  });

  it('is not abandoned between two parts that one client reads', async () => {
    let abandoned = 0;
    const kept = store();
    const body = new FlightBody(kept.create('k', undefined), 4, () => abandoned++);
    const parts = [
      { head: '<', start: 0, end: 5 },
      { head: '|', start: 8, end: 10 },
    ];
    const text = all(partsOf(parts, body));
    for (const piece of ['abc', 'def', 'ghi', 'jkl']) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      await body.write(bytes(piece));
    }
    expect(await text).toBe('<abcde|ij>');
    // It has left now, and there is no other reader.
    expect(abandoned).toBe(1);
    expect(kept.inUse).toEqual({ readers: 0, pendingBytes: 0 });
  });

  it('opens no part for a client that left at the end of the one before', async () => {
    const body = new FlightBody(store().create('k', undefined), 2, () => {});
    const parts = [
      { head: '<', start: 4, end: 9 },
      { head: '|', start: 0, end: 1 },
    ];
    const reader = partsOf(parts, body);
    await reader.next();
    const last = reader.next();
    body.write(bytes('abc'));
    // It ends before the part begins, and the client leaves at that very moment.
    expect(body.end(response)).toBe(false);
    reader.close();
    expect(await last).toBeNull();
    expect(body.readers).toBe(0);
  });

  const partsOf = (parts: { head: string; start: number; end: number }[], body: FlightBody) =>
    new PartsReader({ kind: 'parts', parts, tail: '>', contentLength: 0 }, (start, end) =>
      body.read(start, end),
    );

  it('can be given to all who read it and not be kept', async () => {
    const kept = store();
    const body = new FlightBody(kept.create('k', undefined), 100, () => {});
    const waiting = all(body.read());
    const lazy = body.read();
    body.write(bytes('abcdef'));
    await new Promise((resolve) => setTimeout(resolve, 5));
    body.discard('overtaken');
    expect(await body.end(response)).toBe(false);
    expect(await waiting).toBe('abcdef');
    expect(await all(lazy)).toBe('abcdef');
    lazy.close();
    expect(kept.statistics.responses).toBe(0);
    expect(kept.inUse).toEqual({ readers: 0, pendingBytes: 0 });
  });
});
