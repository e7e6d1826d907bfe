/** `intersect` over real streams: sockets, pipes of the platform, ends and signals. */

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { intersect } from '../../src/private/intersection/intersect.ts';
import { ristretto255 } from '../../src/private/sodium.ts';
import { texts } from './session-lab.ts';

const group = await ristretto255();
const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `person${from + i}`);

describe('intersect', () => {
  test('over a TCP connection, and the connection stays open', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const accepted = once(server, 'connection');
    const here = connect(port, '127.0.0.1');
    const [there] = await accepted;
    try {
      const channel = (socket: typeof here) => ({
        readable: socket.iterator({ destroyOnReturn: false }),
        send: (bytes: Uint8Array) => {
          socket.write(bytes);
        },
      });
      const [a, b] = await Promise.all([
        intersect(names(0, 150), channel(here), { role: 'initiator', group }),
        intersect(names(100, 300), channel(there), { role: 'responder', group }),
      ]);
      expect(texts(a.common)).toEqual(names(100, 150));
      expect(b).toMatchObject({ commonCount: 50, peerSize: 150 });
      there.end('bye');
      const [rest] = await once(here, 'data');
      expect(String(rest)).toBe('bye');
    } finally {
      here.destroy();
      there.destroy();
      server.close();
    }
  });

  test('over web streams', async () => {
    const [one, two] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
    const channel = (from: typeof one, to: typeof one) => {
      const writer = to.writable.getWriter();
      return { readable: from.readable, send: (bytes: Uint8Array) => writer.write(bytes) };
    };
    const options = { group, reveals: 'count' } as const;
    const [a, b] = await Promise.all([
      intersect(names(0, 9), channel(one, two), { ...options, role: 'initiator' }),
      intersect(names(7, 12), channel(two, one), { ...options, role: 'responder' }),
    ]);
    expect([a.commonCount, b.commonCount, a.common]).toEqual([2, 2, null]);
  });

  test('a peer that leaves in the middle is a typed error', async () => {
    async function* short() {
      yield Uint8Array.of(0x42, 0x50, 0x53, 0x49, 1, 1);
    }
    await expect(
      intersect(names(0, 3), { readable: short(), send: () => {} }, { role: 'initiator', group }),
    ).rejects.toMatchObject({ name: 'IntersectionError', code: 'closed' });
  });

  test('a signal ends it: before, while it waits and while it works', async () => {
    const silent = { readable: never(), send: () => {} };
    await expect(
      intersect(names(0, 3), silent, {
        role: 'responder',
        group,
        signal: AbortSignal.abort(new Error('stop')),
      }),
    ).rejects.toThrow('stop');
    const controller = new AbortController();
    const waiting = intersect(
      names(0, 3),
      { readable: never(), send: () => {} },
      {
        role: 'responder',
        group,
        signal: controller.signal,
      },
    );
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const working = new AbortController();
    const sent: number[] = [];
    await expect(
      intersect(
        names(0, 3000),
        {
          readable: never(),
          send: (bytes) => {
            sent.push(bytes.length);
            if (sent.length === 2) working.abort(new Error('in the middle'));
          },
        },
        { role: 'initiator', group, signal: working.signal },
      ),
    ).rejects.toThrow('in the middle');
    expect(sent).toHaveLength(2);
  });
});

/** A stream on which nothing comes. */
async function* never(): AsyncGenerator<Uint8Array> {
  await new Promise(() => {});
}
