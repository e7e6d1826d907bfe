import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { storeContract } from '../../../test/store/store-contract.ts';
import {
  bodyBytes,
  expectBytes,
  pause,
  readAll,
  storeBody,
  storedResponse,
} from '../../../test/store/stored-responses.ts';
import { BodyError } from '../response-store.ts';
import { MemoryStore } from './memory-store.ts';

storeContract('MemoryStore', async ({ capacityBytes, variantsPerKey }) => {
  const store = new MemoryStore({ capacityBytes, variantsPerKey });
  return { store, openReaders: () => store.inUse.readers };
});

const KEY = 'http://example.org/';

describe('MemoryStore', () => {
  test('answers at once, with no promise', async () => {
    const store = new MemoryStore({ capacityBytes: 2 ** 20 });
    const { response, body } = await storeBody(store, { key: KEY, bodyLength: 100, time: 1 });
    expect(store.find(KEY)[0]).toBe(response);
    expectBytes(store.bodyInMemory(response)!, body);
    const reader = store.read(response);
    expect(reader.next()).toBeInstanceOf(Uint8Array);
    expect(reader.next()).toBeNull();
  });

  test('a body of one large exact chunk is not copied; a small view of a large buffer is', async () => {
    const store = new MemoryStore({ capacityBytes: 2 ** 24 });
    const exact = bodyBytes(100_000, 1);
    const writer = store.create(KEY, exact.length);
    writer.write(exact);
    writer.commit(storedResponse({ key: KEY, bodyLength: exact.length, time: 1 }));
    expect(store.bodyInMemory(store.find(KEY)[0]!)).toBe(exact);

    const view = bodyBytes(65_536, 2).subarray(100, 300);
    const second = store.create(KEY, view.length);
    second.write(view);
    second.commit(storedResponse({ key: KEY, bodyLength: 200, time: 2 }));
    const body = store.bodyInMemory(store.find(KEY)[0]!)!;
    expectBytes(body, view);
    expect(body.buffer.byteLength).toBe(200);
  });

  test('a body of many chunks is one exact array, and its followers go on in it', async () => {
    const store = new MemoryStore({ capacityBytes: 2 ** 24 });
    const body = bodyBytes(100_000, 3);
    const writer = store.create(KEY, undefined);
    const reader = writer.read();
    for (let at = 0; at < body.length; at += 1000) writer.write(body.subarray(at, at + 1000));
    const first = await reader.next();
    writer.commit(storedResponse({ key: KEY, bodyLength: body.length, time: 1 }));
    const whole = store.bodyInMemory(store.find(KEY)[0]!)!;
    expect(whole.buffer.byteLength).toBe(body.length);
    const rest = (await reader.next())!;
    expect(rest.buffer).toBe(whole.buffer);
    expectBytes(Buffer.concat([first!, rest]), body);
    reader.close();
  });

  test('what a slow reader holds stays readable after it was evicted', async () => {
    const store = new MemoryStore({ capacityBytes: 200_000, maxBodyBytes: 100_000 });
    const { response, body } = await storeBody(store, { key: KEY, bodyLength: 50_000, time: 1 });
    const reader = store.read(response, 10);
    for (let i = 0; i < 50; i++) await storeBody(store, { key: `${KEY}${i}`, bodyLength: 50_000, time: i });
    expect(store.find(KEY)).toEqual([]);
    expectBytes(await readAll(reader), body.subarray(10));
  });

  test('a body that is too long is let through in a window; the slowest reader holds it up, until it leaves', async () => {
    const store = new MemoryStore({ capacityBytes: 2 ** 22, maxBodyBytes: 100_000 });
    const body = bodyBytes(3_000_000, 4);
    const writer = store.create(KEY, undefined);
    const quick = readAll(writer.read());
    const stalled = writer.read();
    await stalled.next;
    let written = 0;
    const writing = (async () => {
      for (; written < body.length; written += 10_000) {
        await writer.write(body.slice(written, written + 10_000));
        expect(store.inUse.pendingBytes).toBeLessThanOrEqual(100_000);
      }
    })();
    await pause(50);
    expect(written).toBeGreaterThan(200_000);
    expect(written).toBeLessThan(300_000);
    stalled.close();
    await writing;
    const late = await readAll(writer.read()).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(BodyError);
    expect((late as BodyError).code).toBe('gone');
    expect(writer.commit(storedResponse({ key: KEY, bodyLength: body.length, time: 1 }))).toBe(false);
    expectBytes(await quick, body);
    expect(store.inUse).toEqual({ readers: 0, pendingBytes: 0 });
    expect(store.statistics.refused).toBe(1);
  });

  test('bodies on their way in are bounded together', async () => {
    const store = new MemoryStore({ capacityBytes: 2 ** 22, maxBodyBytes: 100_000, pendingBytes: 250_000 });
    const writers = Array.from({ length: 5 }, (_, i) => store.create(`${KEY}${i}`, 100_000));
    const readers = writers.map((writer) => readAll(writer.read()));
    for (const [i, writer] of writers.entries()) await writer.write(bodyBytes(100_000, i));
    expect(store.inUse.pendingBytes).toBe(200_000);
    const kept = writers.map((writer, i) =>
      writer.commit(storedResponse({ key: `${KEY}${i}`, bodyLength: 100_000, time: i })),
    );
    expect(kept).toEqual([true, true, false, false, false]);
    for (const [i, reader] of readers.entries()) expectBytes(await reader, bodyBytes(100_000, i));
    expect(store.inUse).toEqual({ readers: 0, pendingBytes: 0 });
  });

  test('a scan does not push out what is used', async () => {
    const store = new MemoryStore({ capacityBytes: 4_000_000, maxBodyBytes: 100_000 });
    const hot = Array.from({ length: 100 }, (_, i) => `${KEY}hot/${i}`);
    for (const [time, key] of hot.entries()) await storeBody(store, { key, bodyLength: 10_000, time });
    for (const key of hot) store.find(key);
    for (let time = 0; time < 2000; time++) {
      await storeBody(store, { key: `${KEY}scan/${time}`, bodyLength: 10_000, time });
      if (time % 10 === 0) for (const key of hot) store.find(key);
    }
    // Twenty times the capacity has passed. With LRU they stay only if asked for more often than
    // that.
    expect(hot.filter((key) => store.has(key))).toHaveLength(100);
    expect(store.statistics.bytes).toBeGreaterThan(3_500_000);
  });

  test('a single use before a long scan is enough to stay', async () => {
    const store = new MemoryStore({ capacityBytes: 4_000_000, maxBodyBytes: 100_000 });
    for (let time = 0; time < 100; time++)
      await storeBody(store, { key: `${KEY}hot/${time}`, bodyLength: 10_000, time });
    for (let i = 0; i < 100; i++) store.find(`${KEY}hot/${i}`);
    for (let time = 0; time < 2000; time++)
      await storeBody(store, { key: `${KEY}scan/${time}`, bodyLength: 10_000, time });
    let left = 0;
    for (let i = 0; i < 100; i++) if (store.has(`${KEY}hot/${i}`)) left++;
    expect(left).toBe(100);
  });

  test('a new head that needs more room makes it', async () => {
    const store = new MemoryStore({ capacityBytes: 100_000, maxBodyBytes: 50_000 });
    for (let time = 0; time < 9; time++)
      await storeBody(store, { key: `${KEY}${time}`, bodyLength: 10_000, time });
    const last = store.find(`${KEY}8`)[0]!;
    const renewed = { ...last, headers: ['X-Long', 'x'.repeat(30_000)], responseTime: last.responseTime + 1 };
    expect(store.refresh(last, renewed)).toBe(true);
    expect(store.find(`${KEY}8`)).toEqual([renewed]);
    expect(store.statistics.bytes).toBeLessThanOrEqual(store.statistics.capacityBytes);
    expect(store.statistics.responses).toBeLessThan(7);
    const endless = {
      ...renewed,
      headers: ['X-Long', 'x'.repeat(200_000)],
      responseTime: renewed.responseTime + 1,
    };
    expect(store.refresh(renewed, endless)).toBe(false);
    expect(store.find(`${KEY}8`)).toEqual([]);
  });

  test('what is counted is what the heap grows by, within a quarter', () => {
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    const used = () => {
      for (let i = 0; i < 3; i++) collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const text = (value: string) => Buffer.from(value).toString('latin1'); // flat, as from a parser
    for (const bodyLength of [0, 1000]) {
      const store = new MemoryStore({ capacityBytes: 2 ** 30 });
      const before = used();
      for (let i = 0; i < 20_000; i++) {
        const response = {
          ...storedResponse({ key: text(`${KEY}some/path/${i}`), bodyLength, time: i }),
          headers: [
            'Content-Type',
            text(`text/html; n=${i}`),
            'ETag',
            text(`"${i * 7919}"`),
            'Date',
            text(`date ${i}`),
          ],
          etag: text(`"${i * 7919}"`),
        };
        store.put(response, new Uint8Array(bodyLength));
      }
      const grown = used() - before;
      const counted = store.statistics.bytes;
      expect(store.statistics.responses).toBe(20_000);
      expect(counted / grown, `${counted} counted, ${grown} grown`).toBeGreaterThan(0.8);
      expect(counted / grown, `${counted} counted, ${grown} grown`).toBeLessThan(1.25);
    }
  });

  test('what is in the heap has a bound of its own, which large bodies do not use up', () => {
    const heapBytes = 100_000;
    const store = new MemoryStore({ capacityBytes: 50_000_000, heapBytes });
    const put = (name: string, bodyLength: number, time: number) =>
      store.put(storedResponse({ key: `${KEY}${name}`, bodyLength, time }), new Uint8Array(bodyLength));
    for (let i = 0; i < 20; i++) expect(put(`large/${i}`, 1_000_000, i)).toBe(true);
    expect(store.statistics.responses).toBe(20);
    for (let i = 0; i < 1000; i++) {
      expect(put(`small/${i}`, 10, i)).toBe(true);
      const bodies = [...store.keys()].reduce((sum, key) => sum + store.peek(key)[0]!.bodyLength, 0);
      expect(store.statistics.bytes - bodies).toBeLessThanOrEqual(heapBytes);
    }
    expect(store.statistics.responses).toBeGreaterThan(50);
    // What is replaced, refreshed and removed leaves nothing in the sums.
    for (let i = 0; i < 300; i++) {
      put('same', 1000 + i, i);
      const [response] = store.find(`${KEY}same`);
      store.refresh(response!, { ...response!, headers: ['X-Long', 'x'.repeat(i)], responseTime: i + 0.5 });
    }
    const long = {
      ...storedResponse({ key: `${KEY}long`, bodyLength: 1, time: 0 }),
      headers: ['A', 'x'.repeat(heapBytes)],
    };
    expect(store.put(long, new Uint8Array(1))).toBe(false);
    for (const key of [...store.keys()]) store.removeKey(key);
    expect(store.statistics).toMatchObject({ responses: 0, bytes: 0 });
    for (let i = 0; i < 40; i++) put(`again/${i}`, 10, i);
    expect(store.statistics.responses).toBe(40);
  });

  test('options are checked', () => {
    expect(() => new MemoryStore({ capacityBytes: 0 })).toThrow(RangeError);
    expect(() => new MemoryStore({ capacityBytes: 1000, variantsPerKey: 0.5 })).toThrow('variantsPerKey');
  });
});
