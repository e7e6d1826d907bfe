import { once } from 'node:events';
import { createServer, get as httpGet, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@bloomery/testkit/eventually';
import { TurnClock } from '@bloomery/testkit/turn-clock';
import { afterEach, expect, test } from 'vitest';
import { FleetKeyring } from '../fleet-keyring.ts';
import { FrameReader, MESSAGE } from './frame.ts';
import { HTTP_LIMITS } from './http-limits.ts';
import { StreamServer } from './stream-server.ts';

const endings: (() => void)[] = [];

afterEach(() => {
  for (const end of endings.splice(0).reverse()) end();
});

/** A subscriber that notes the first byte of each message. */
interface Reader {
  readonly firsts: number[];
  isEnded: boolean;
}

async function streams(count: number, limits = HTTP_LIMITS) {
  const clock = new TurnClock();
  const keyring = new FleetKeyring([new Uint8Array(32)]);
  const streamServer = new StreamServer({ node: 'a', life: 'life', keyring, clock, limits });
  const http = createServer((request, response) => {
    const node = request.url!;
    const keys = keyring.first;
    streamServer.open({ node, nonce: node, keys, protocol: 1, topics: ['news'] }, response);
  }).listen(0, '127.0.0.1');
  await once(http, 'listening');
  endings.push(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const readers: Reader[] = [];
  for (let i = 0; i < count; i++) {
    const reader: Reader = { firsts: [], isEnded: false };
    readers.push(reader);
    const [answer] = (await once(httpGet({ port, path: `/${i}` }), 'response')) as [IncomingMessage];
    const frames = new FrameReader();
    answer.on('error', () => {});
    answer.on('close', () => (reader.isEnded = true));
    answer.on('data', (piece: Buffer) => {
      for (const { kind, payload } of frames.push(piece))
        if (kind === MESSAGE) reader.firsts.push(payload[0]);
    });
  }
  return { clock, streamServer, readers };
}

const message = (first: number, length: number) => new Uint8Array(length).fill(first, 0, 1);
const heard = (readers: Reader[]) => readers.filter(({ firsts }) => firsts.length > 0).length;

test('StreamServer writes a long message to some subscribers in each turn of the event loop', async () => {
  const { clock, streamServer, readers } = await streams(6);
  streamServer.publish('news', message(1, 300_000));
  for (const expected of [2, 4, 6]) {
    await until('some subscribers heard the message', () => heard(readers) >= expected);
    expect(heard(readers)).toBe(expected);
    clock.turn();
  }
});

test('StreamServer sends each subscriber its messages in order, though some of them wait', async () => {
  const { clock, streamServer, readers } = await streams(3);
  for (let i = 1; i <= 3; i++) {
    streamServer.publish('news', message(10 * i, 700_000));
    streamServer.publish('news', message(10 * i + 1, 10));
  }
  for (let turn = 0; turn < 20; turn++) clock.turn();
  await until('all messages came', () => readers.every(({ firsts }) => firsts.length === 6));
  for (const { firsts } of readers) expect(firsts).toEqual([10, 11, 20, 21, 30, 31]);
});

test('StreamServer sends messages that wait before it closes', async () => {
  const { streamServer, readers } = await streams(4);
  streamServer.publish('news', message(1, 600_000));
  streamServer.close();
  await until('all streams ended', () => readers.every(({ isEnded }) => isEnded));
  expect(readers.map(({ firsts }) => firsts)).toEqual([[1], [1], [1], [1]]);
});

test('StreamServer counts messages that wait for their turn towards the queue of a subscriber', async () => {
  const { streamServer, readers } = await streams(2, { ...HTTP_LIMITS, queuedBytes: 1_000_000 });
  // The first subscriber gets the first message at once. Both messages of the second one wait.
  for (let i = 1; i <= 2; i++) streamServer.publish('news', message(i, 600_000));
  await until('the second stream was cut', () => readers[1].isEnded);
  expect(readers[1].firsts).toEqual([]);
});
