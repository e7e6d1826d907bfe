/** Sessions over real streams: sockets on loopback, web streams, and connections that break. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { type ByteDuplex, ReconcileError, reconcile } from '../../src/index.ts';

/** The two ends of a connection over TCP. */
async function socketPair(): Promise<[Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connect(port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  server.close();
  return [client, socket];
}

function duplexOf(socket: Socket): ByteDuplex {
  return {
    readable: socket.iterator({ destroyOnReturn: false }),
    writable: (bytes) => {
      if (!socket.write(bytes)) return once(socket, 'drain');
    },
  };
}

const many = (from: number, end: number) => Array.from({ length: end - from }, (_, i) => `key ${from + i}`);

test('reconcile: both sides of a socket get their part, and the socket stays open', async () => {
  const [a, b] = await socketPair();
  const seen: number[] = [];
  const [here, there] = await Promise.all([
    reconcile(many(0, 20_000), duplexOf(a), {
      role: 'initiator',
      onProgress: ({ bytesReceived }) => seen.push(bytesReceived),
    }),
    reconcile(many(500, 21_000), duplexOf(b), { role: 'responder' }),
  ]);
  expect(here.onlyHere).toEqual(many(0, 500));
  expect(there.onlyHere).toEqual(many(20_000, 21_000));
  expect([here.progress.bytesSent, here.progress.bytesReceived]).toEqual([
    there.progress.bytesReceived,
    there.progress.bytesSent,
  ]);
  expect(seen.at(-1)).toBe(here.progress.bytesReceived);
  a.write('and on');
  expect(String((await once(b, 'data'))[0])).toBe('and on');
  a.destroy();
  b.destroy();
});

test('reconcile: both sides send more keys than the buffers of a socket hold', async () => {
  const [a, b] = await socketPair();
  const long = (name: string) => Array.from({ length: 3000 }, (_, i) => `${name} ${i} ${'x'.repeat(2000)}`);
  const [here, there] = await Promise.all([
    reconcile(long('here'), duplexOf(a), { role: 'initiator', exchange: true }),
    reconcile(long('there'), duplexOf(b), { role: 'responder', exchange: true }),
  ]);
  expect(here.onlyThere?.map(String)).toHaveLength(3000);
  expect(there.onlyThere?.map((key) => Buffer.from(key).toString())).toEqual(long('here'));
  a.destroy();
  b.destroy();
});

test('reconcile: web streams, whose locks are given back', async () => {
  const [a, b] = await socketPair();
  const [left, right] = [Duplex.toWeb(a), Duplex.toWeb(b)] as unknown as (ByteDuplex & {
    readable: ReadableStream;
    writable: WritableStream;
  })[];
  const [here, there] = await Promise.all([
    reconcile(['a', 'b'], left, { role: 'initiator' }),
    reconcile(['b', 'c'], right, { role: 'responder' }),
  ]);
  expect([here.onlyHere, there.onlyHere]).toEqual([['a'], ['c']]);
  expect([left.readable.locked, left.writable.locked]).toEqual([false, false]);
  expect([right.readable.locked, right.writable.locked]).toEqual([false, false]);
  a.destroy();
  b.destroy();
});

test('reconcile: a peer that leaves in the middle is a ReconcileError', async () => {
  const [a, b] = await socketPair();
  b.once('data', () => b.end());
  const session = reconcile(many(0, 100), duplexOf(a), { role: 'initiator' });
  await expect(session).rejects.toMatchObject({ code: 'closed' });
  await expect(session).rejects.toThrow(ReconcileError);
  a.destroy();
});

test('reconcile: goes on over another connection, with the token of the broken one', async () => {
  const keys = [many(0, 20_000), many(700, 21_000)];
  const [a, b] = await socketPair();
  let token: Uint8Array | undefined;
  // The connection is cut in the middle of the answers.
  const most = 1500;
  let heard = 0;
  async function* cut() {
    for await (const chunk of a.iterator({ destroyOnReturn: false })) {
      const part = chunk.subarray(0, most - heard);
      heard += part.length;
      yield part;
      if (heard === most) return;
    }
  }
  const responder = reconcile(keys[1], duplexOf(b), { role: 'responder' });
  const first = reconcile(
    keys[0],
    { ...duplexOf(a), readable: cut() },
    { role: 'initiator', onBroken: (bytes) => (token = bytes) },
  );
  await expect(first).rejects.toMatchObject({ code: 'closed' });
  a.destroy();
  await expect(responder).rejects.toThrow();
  b.destroy();
  expect(token?.length).toBeGreaterThan(most);

  const [c, d] = await socketPair();
  const [here, there] = await Promise.all([
    reconcile(keys[0], duplexOf(c), { role: 'initiator', resume: token }),
    reconcile(keys[1], duplexOf(d), { role: 'responder' }),
  ]);
  expect(here.onlyHere).toEqual(many(0, 700));
  expect(there.onlyHere).toEqual(many(20_000, 21_000));
  expect(here.progress.bytesResumed).toBe(heard);
  expect([here.progress.bytesSent, here.progress.bytesReceived]).toEqual([
    there.progress.bytesReceived,
    there.progress.bytesSent,
  ]);
  c.destroy();
  d.destroy();
});

test('reconcile: a signal ends the wait for a silent peer', async () => {
  const [a, b] = await socketPair();
  const controller = new AbortController();
  const session = reconcile(['a'], duplexOf(a), { role: 'initiator', signal: controller.signal });
  b.once('data', () => controller.abort(new Error('enough')));
  await expect(session).rejects.toThrow('enough');
  await expect(
    reconcile(['a'], duplexOf(a), { role: 'initiator', signal: AbortSignal.abort('at once') }),
  ).rejects.toBe('at once');
  a.destroy();
  b.destroy();
});

test('reconcile: bytes after the end are handed back', async () => {
  const randoms = [Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1)];
  /** A session in which `more` arrives together with the last of `length` bytes of the peer. */
  const session = async (length: number, more: string) => {
    const [a, b] = await socketPair();
    const peer = reconcile(['b'], duplexOf(b), { role: 'responder', random: randoms[1] });
    async function* withMore() {
      let arrived = 0;
      for await (const chunk of a.iterator({ destroyOnReturn: false })) {
        arrived += chunk.length;
        yield arrived < length ? chunk : Buffer.concat([chunk, Buffer.from(more)]);
      }
    }
    const outcome = await reconcile(
      ['a'],
      { ...duplexOf(a), readable: withMore() },
      { role: 'initiator', random: randoms[0] },
    );
    await peer;
    a.destroy();
    b.destroy();
    return outcome;
  };
  // The peer's bytes arrive in chunks of any size, so the first session counts them.
  const { progress } = await session(Infinity, '');
  const { rest, onlyHere } = await session(progress.bytesReceived, 'next');
  expect(onlyHere).toEqual(['a']);
  expect(Buffer.from(rest).toString()).toBe('next');
});
