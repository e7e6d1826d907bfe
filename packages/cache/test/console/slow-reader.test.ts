/** A reader on a real connection that reads nothing costs bounded memory, then gets the state. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from 'vitest';
import { EventStreams, eventText } from '../../src/node/console/event-streams.ts';
import { cleanUp, until } from '../node/scratch.ts';

test('a reader that reads nothing holds 256 KiB and one message, and then gets reset and the state', async () => {
  const streams = new EventStreams();
  let response: ServerResponse | null = null;
  const server = createServer((_request, answer) => {
    response = answer;
    answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
    streams.add(answer, Buffer.from(eventText('hello', {})), 0);
  }).listen(0, '127.0.0.1');
  cleanUp(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const socket = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  cleanUp(() => socket.destroy());
  await once(socket, 'connect');
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await until('the stream', () => streams.size === 1);
  const message = Buffer.from(eventText('counts', 'x'.repeat(60_000)));
  let most = 0;
  // 60 MB, of which the kernel takes a few.
  for (let i = 0; i < 1000; i++) {
    streams.send(message, i);
    most = Math.max(most, response!.writableLength);
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(most).toBeGreaterThan(262_144);
  // The frame of a chunk takes a few bytes of its own.
  expect(most).toBeLessThan(262_144 + message.length + 1000);
  // Everything that waited is read, and then the state comes, once.
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    text = (text + chunk).slice(-200_000);
  });
  socket.resume();
  await until('an empty queue', () => response!.writableLength === 0);
  let built = 0;
  const full = () => Buffer.from(eventText('reset', { v: 1, built: ++built }));
  streams.sweep(2000, full);
  streams.sweep(3000, full);
  await until('reset', () => text.includes('event: reset'));
  expect([built, streams.size]).toEqual([1, 1]);
});
