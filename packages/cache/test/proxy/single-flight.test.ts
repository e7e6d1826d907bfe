/** Many requests for one object at once, over real sockets. */

import {
  type LabAnswer,
  type LabRequest,
  type OriginLab,
  startOrigin,
} from '@bloomery/testkit/origins/origin-lab';
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { eventually, type ProxyLab, type Reply, rawConnection, startProxy } from './proxy-lab.ts';

let origin: OriginLab;
let lab: ProxyLab;

beforeEach(async () => {
  origin = await startOrigin();
  lab = await startProxy({
    limits: { connectionsPerClient: 4000, connections: 4000, flightWaitMs: 100_000 },
  });
});

afterEach(async () => {
  await lab.close();
  await origin.close();
});

const many = (count: number, ask: (index: number) => Promise<Reply>) =>
  Promise.all(Array.from({ length: count }, (_, index) => ask(index)));

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('single flight', () => {
  it('1000 concurrent requests make one fetch', async () => {
    const door = gate();
    const body = Buffer.alloc(50_000, 'z');
    origin.on('/a', async () => {
      await door.opened;
      return { headers: ['Cache-Control', 'max-age=60'], body };
    });
    const replies = many(1000, () => lab.get(origin.url('/a')));
    await eventually(() => lab.proxy.activity.flights === 1 && origin.count('/a') === 1);
    // All are in before the origin says a word.
    await eventually(() => lab.asked() === 1000);
    door.open();
    for (const reply of await replies) {
      expect(reply.status).toBe(200);
      expect(reply.body.equals(body)).toBe(true);
    }
    expect(origin.count('/a')).toBe(1);
    await eventually(() => lab.records.length === 1000);
    const outcomes = new Set(lab.records.map(({ outcome }) => outcome));
    expect(outcomes.has('miss') && outcomes.has('collapsed')).toBe(true);
    expect(lab.proxy.activity).toMatchObject({ fetches: 0, flights: 0 });
  });

  it('those who come while the body is on its way get it from its beginning', async () => {
    const door = gate();
    origin.on('/a', {
      headers: ['Cache-Control', 'max-age=60'],
      body: inTwo('first ', door.opened, 'second'),
    });
    const leader = lab.get(origin.url('/a'));
    await eventually(() => origin.count('/a') === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const followers = many(10, () => lab.get(origin.url('/a')));
    await eventually(() => lab.asked() === 11);
    door.open();
    for (const reply of [await leader, ...(await followers)]) expect(reply.text).toBe('first second');
    expect(origin.count('/a')).toBe(1);
  });

  it('a slow reader does not hold up the others', async () => {
    const size = 20_000_000;
    await lab.close();
    const { MemoryStore } = await import('../../src/store/memory/memory-store.ts');
    const store = new MemoryStore({ capacityBytes: 100_000_000, maxBodyBytes: 30_000_000 });
    lab = await startProxy({ store });
    origin.on('/big', { headers: ['Cache-Control', 'max-age=60'], body: pieces(size) });
    const raw = await rawConnection(lab.port);
    raw.socket.pause();
    raw.socket.write(`GET ${origin.url('/big')} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await eventually(() => origin.count('/big') === 1);
    const fast = await lab.get(origin.url('/big'));
    expect(fast.body.length).toBe(size);
    expect(fast.body[size - 1]).toBe(((size - 1) >> 16) & 255);
    // It has read nothing so far; now it reads all, from the store.
    expect(raw.received().length).toBeLessThan(size / 2);
    let received = 0;
    raw.socket.on('data', (chunk) => {
      received += chunk.length;
    });
    raw.socket.resume();
    await eventually(() => received > size);
    expect(origin.count('/big')).toBe(1);
    raw.socket.destroy();
  });

  it('a reader that stalls does not hold up the others for long when the body cannot be stored', async () => {
    const size = 40_000_000;
    await lab.close();
    lab = await startProxy({ limits: { storedObjectBytes: 100_000, clientStallMs: 24_000 } });
    const door = gate();
    // Without a length: that it is too long for the store is seen only when both read it.
    const body = async function* () {
      yield 'x'.repeat(1000);
      await door.opened;
      yield* pieces(size);
    };
    origin.on('/big', () => ({ headers: ['Cache-Control', 'max-age=60'], body: body() }));
    const raw = await rawConnection(lab.port);
    raw.socket.pause();
    raw.socket.write(`GET ${origin.url('/big')} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await eventually(() => origin.count('/big') === 1);
    const began = performance.now();
    const fast = lab.get(origin.url('/big'));
    await eventually(() => lab.asked() === 2);
    door.open();
    expect((await fast).body.length).toBe(size + 1000);
    // A client that holds up others may stall for a twelfth of the limit, 2 s. The deadline is ten
    // times that.
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(origin.count('/big')).toBe(1);
    // It is cut off when it wants more, and sees that what it has is not all.
    let received = '';
    raw.socket.on('data', (chunk) => {
      received = (received + chunk.toString('latin1')).slice(-16);
    });
    raw.socket.resume();
    await raw.ended();
    expect(received.endsWith('0\r\n\r\n')).toBe(false);
    raw.socket.destroy();
  });

  it('goes on when the one who began it leaves', async () => {
    const door = gate();
    origin.on('/a', async () => {
      await door.opened;
      return { headers: ['Cache-Control', 'max-age=60'], body: 'hello' };
    });
    const leaving = new AbortController();
    const leader = lab.get(origin.url('/a'), [], { signal: leaving.signal });
    leader.catch(() => {});
    await eventually(() => origin.count('/a') === 1);
    const follower = lab.get(origin.url('/a'));
    await eventually(() => lab.proxy.activity.flights === 1);
    leaving.abort();
    await expect(leader).rejects.toThrow();
    door.open();
    expect((await follower).text).toBe('hello');
    expect(origin.count('/a')).toBe(1);
  });

  it('goes on when all leave, if it can be stored', async () => {
    const door = gate();
    origin.on('/a', { headers: ['Cache-Control', 'max-age=60'], body: inTwo('a', door.opened, 'b') });
    const leaving = new AbortController();
    const leader = lab.get(origin.url('/a'), [], { signal: leaving.signal });
    leader.catch(() => {});
    await eventually(() => origin.count('/a') === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    leaving.abort();
    await eventually(() => lab.records.length === 1);
    expect(lab.records[0]!.aborted).toBe(true);
    door.open();
    await eventually(() => lab.store.statistics.responses === 1);
    expect((await lab.get(origin.url('/a'))).text).toBe('ab');
    expect(origin.count('/a')).toBe(1);
  });

  it('is aborted when the only one leaves, if it cannot be stored', async () => {
    origin.on('/a', { headers: ['Cache-Control', 'no-store'], body: inTwo('a', new Promise(() => {}), 'b') });
    const leaving = new AbortController();
    const leader = lab.get(origin.url('/a'), [], { signal: leaving.signal });
    leader.catch(() => {});
    await eventually(() => origin.count('/a') === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(origin.open).toBe(1);
    leaving.abort();
    await eventually(() => origin.open === 0);
    expect(lab.proxy.activity.fetches).toBe(0);
  });

  it('fails for all when the origin fails', async () => {
    const door = gate();
    origin.on('/a', async () => {
      await door.opened;
      return { raw: (socket) => socket.destroy() };
    });
    const replies = many(50, () => lab.get(origin.url('/a')));
    await eventually(() => origin.count('/a') === 1 && lab.asked() === 50);
    door.open();
    for (const reply of await replies) {
      expect(reply.status).toBe(502);
      expect(reply.header('proxy-status')).toBe('bloomery; error=connection_terminated');
    }
    expect(origin.count('/a')).toBe(1);
  });

  it('never shares what belongs to one: cookies are not mixed', async () => {
    origin.on('/a', (request) => ({
      headers: ['Cache-Control', 'private', 'Set-Cookie', `who=${request.header('x-who')}`],
      body: `for ${request.header('x-who')}`,
      delayMs: 30,
    }));
    for (const _ of ['unknown', 'known to be barren']) {
      const replies = await many(30, (index) => lab.get(origin.url('/a'), ['X-Who', String(index)]));
      replies.forEach((reply, index) => {
        expect([reply.text, reply.header('set-cookie')]).toEqual([`for ${index}`, `who=${index}`]);
      });
    }
    expect(origin.count('/a')).toBe(60);
    expect(lab.store.statistics.responses).toBe(0);
  });

  test('a request with a condition cannot be shared, and does not end the sharing of others', async () => {
    const door = gate();
    origin.on('/a', async (request) => {
      const headers = ['Cache-Control', 'max-age=60', 'ETag', '"1"'];
      if (request.header('if-none-match') === '"1"') return { status: 304, headers };
      await door.opened;
      return { headers, body: 'whole' };
    });
    const revalidated = await lab.get(origin.url('/a'), ['If-None-Match', '"1"']);
    expect(revalidated.status).toBe(304);
    const replies = many(20, () => lab.get(origin.url('/a')));
    await eventually(() => lab.asked() === 21);
    door.open();
    for (const { text } of await replies) expect(text).toBe('whole');
    expect(origin.count('/a')).toBe(2);
  });

  describe('with a response for each language', () => {
    const languages = Array.from({ length: 64 }, (_, index) => `l${index}`);
    const askInAll = () =>
      many(64, (index) => lab.get(origin.url('/a'), ['Accept-Language', languages[index]!]));
    const answer = (request: LabRequest): LabAnswer => ({
      headers: ['Cache-Control', 'max-age=60', 'Vary', 'Accept-Language'],
      body: `in ${request.header('accept-language')}`,
    });
    const texts = languages.map((language) => `in ${language}`);

    test('requests that are turned away fetch at the same time, not one after the other', async () => {
      const [first, others] = [gate(), gate()];
      origin.on('/a', async (request, count) => {
        // The 63 others are answered only when all of them have reached the origin.
        if (count === 64) others.open();
        await (count === 1 ? first : others).opened;
        return answer(request);
      });
      const replies = askInAll();
      await eventually(() => lab.asked() === 64 && origin.count('/a') === 1);
      first.open();
      expect((await replies).map(({ text }) => text)).toEqual(texts);
      expect(origin.count('/a')).toBe(64);
    });

    test('no request waits for another language once the key is known to vary', async () => {
      origin.on('/a', answer);
      await lab.get(origin.url('/a'), ['Accept-Language', 'first']);
      const door = gate();
      origin.on('/a', async (request, count) => {
        if (count === 65) door.open();
        await door.opened;
        return answer(request);
      });
      expect((await askInAll()).map(({ text }) => text)).toEqual(texts);
      expect(origin.count('/a')).toBe(65);
    });

    test('requests for one language still make one fetch', async () => {
      origin.on('/a', answer);
      await lab.get(origin.url('/a'), ['Accept-Language', 'first']);
      const door = gate();
      origin.on('/a', async (request) => {
        await door.opened;
        return answer(request);
      });
      const replies = many(200, () => lab.get(origin.url('/a'), ['Accept-Language', 'de']));
      await eventually(() => lab.asked() === 201);
      door.open();
      for (const { text } of await replies) expect(text).toBe('in de');
      expect(origin.count('/a')).toBe(2);
    });
  });

  it('sends those away for whom Vary says no; they share among themselves', async () => {
    const door = gate();
    origin.on('/a', async (request) => {
      await door.opened;
      const language = request.header('accept-language');
      return { headers: ['Cache-Control', 'max-age=60', 'Vary', 'Accept-Language'], body: `in ${language}` };
    });
    const replies = many(60, (index) =>
      lab.get(origin.url('/a'), ['Accept-Language', ['en', 'fr', 'de'][index % 3]!]),
    );
    await eventually(() => origin.count('/a') === 1 && lab.asked() === 60);
    door.open();
    (await replies).forEach((reply, index) => {
      expect(reply.text).toBe(`in ${['en', 'fr', 'de'][index % 3]}`);
    });
    expect(origin.count('/a')).toBe(3);
  });

  it('a crowd that asks for something that must be validated makes few fetches', async () => {
    let served = 0;
    origin.on('/a', (request) => {
      served++;
      return request.header('if-none-match') === '"1"'
        ? { status: 304, headers: ['ETag', '"1"'], delayMs: 50 }
        : { headers: ['ETag', '"1"', 'Cache-Control', 'no-cache'], body: 'hello', delayMs: 50 };
    });
    const replies = await many(200, () => lab.get(origin.url('/a')));
    expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(['hello']));
    expect(served).toBeLessThan(30);
  });

  it('those who are tired of waiting fetch again, together', async () => {
    await lab.close();
    lab = await startProxy({ limits: { flightWaitMs: 1000 } });
    const never = new Promise<void>(() => {});
    origin.on('/a', async (_, count) => {
      if (count === 1) await never;
      return { headers: ['Cache-Control', 'max-age=60'], body: 'hello', delayMs: 30 };
    });
    const leaving = new AbortController();
    const leader = lab.get(origin.url('/a'), [], { signal: leaving.signal });
    leader.catch(() => {});
    await eventually(() => origin.count('/a') === 1);
    const replies = await many(20, () => lab.get(origin.url('/a')));
    expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(['hello']));
    expect(origin.count('/a')).toBe(2);
    leaving.abort();
    await expect(leader).rejects.toThrow();
  });

  it('a range and a condition are answered from a fetch for all', async () => {
    const door = gate();
    origin.on('/a', async () => {
      await door.opened;
      return { headers: ['Cache-Control', 'max-age=60', 'ETag', '"1"'], body: '0123456789' };
    });
    const leader = lab.get(origin.url('/a'));
    await eventually(() => origin.count('/a') === 1);
    door.open();
    expect((await leader).text).toBe('0123456789');
    const range = await lab.get(origin.url('/a'), ['Range', 'bytes=2-4']);
    expect([range.status, range.text]).toEqual([206, '234']);
    expect(origin.count('/a')).toBe(1);
  });
});

async function* inTwo(first: string, held: Promise<void>, second: string): AsyncIterable<string> {
  yield first;
  await held;
  yield second;
}

async function* pieces(size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < size; at += 65_536) yield Buffer.alloc(Math.min(65_536, size - at), (at >> 16) & 255);
}
