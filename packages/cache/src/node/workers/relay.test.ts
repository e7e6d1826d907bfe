/** The two ends of a relay between servers of the test's own. Whole workers: `test/node`. */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FROM_NEIGHBOUR, Relay, RelayServer } from './relay.ts';

let folder: string;
let relay: Relay;
let owner: RelayServer;
let front: Server;
let unavailable: number;
let answer: (request: IncomingMessage, response: ServerResponse, client: string) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-relay-'));
  relay = new Relay({ socketPath: (worker) => join(folder, `${worker}.sock`) }, () => 'node');
  owner = new RelayServer((incoming, response, client) => answer(incoming, response, client));
  await owner.open(join(folder, '0.sock'));
  unavailable = 0;
  front = createServer((incoming, response) => {
    const number = incoming.url === 'http://x/down' ? 1 : 0;
    relay.send(incoming, response, { client: FROM_NEIGHBOUR, owner: number }, () => {
      unavailable++;
      response.writeHead(504).end();
    });
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
});

afterEach(async () => {
  await relay.close();
  await owner.close(0);
  front.closeAllConnections();
  await new Promise((resolve) => front.close(resolve));
  rmSync(folder, { recursive: true });
});

async function ask(path: string) {
  const { port } = front.address() as AddressInfo;
  const client = request({ host: '127.0.0.1', port, path, agent: false }).end();
  const interim: number[] = [];
  client.on('information', ({ statusCode }) => interim.push(statusCode));
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  response.on('data', (piece: Buffer) => pieces.push(piece));
  await new Promise((resolve) => response.once('close', resolve));
  const { statusCode, headers, rawTrailers, complete } = response;
  return { status: statusCode, interim, headers, rawTrailers, complete, body: Buffer.concat(pieces) };
}

function answerInPieces(pieces: readonly Buffer[]): void {
  answer = (_request, response) => {
    response.writeHead(200, ['Trailer', 'Bloomery-Digest', 'X-Twice', '1', 'X-Twice', '2']);
    for (const piece of pieces) response.write(piece);
    response.addTrailers([['Bloomery-Digest', 'sha-256=:AAAA:; mac=_x']]);
    response.end();
  };
}

test('pieces and trailers of an answer arrive as the owner sent them', async () => {
  const pieces = [Buffer.alloc(100_000, 1), Buffer.alloc(3, 2), Buffer.alloc(400_000, 3)];
  answerInPieces(pieces);
  const reply = await ask('http://x/a');
  expect(reply.body.equals(Buffer.concat(pieces))).toBe(true);
  expect(reply.headers).toMatchObject({ trailer: 'Bloomery-Digest', 'x-twice': '1, 2' });
  expect([reply.complete, reply.rawTrailers]).toEqual([true, ['Bloomery-Digest', 'sha-256=:AAAA:; mac=_x']]);
});

test('an answer to an HTTP/1.0 client, which has no chunks, announces no trailers', async () => {
  answerInPieces([Buffer.from('hello')]);
  const { port } = front.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write('GET http://x/a HTTP/1.0\r\n\r\n');
  await once(socket, 'close');
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text).toMatch(/\r\n\r\nhello$/);
  expect(text).not.toMatch(/trailer/i);
});

test('a neighbour hears that it is to go on waiting', async () => {
  answer = (_request, response) => {
    response.writeProcessing();
    response.writeProcessing();
    response.end('late');
  };
  const reply = await ask('http://x/a');
  expect([reply.interim, reply.body.toString()]).toEqual([[102, 102], 'late']);
});

test('an answer that breaks off never ends regularly', async () => {
  answer = (_request, response) => {
    response.writeHead(200, ['Trailer', 'Bloomery-Digest']);
    response.write('a part', () => response.destroy());
  };
  const reply = await ask('http://x/a');
  expect([reply.status, reply.body.toString(), reply.complete]).toEqual([200, 'a part', false]);
});

test('an owner that is down, or dies before its head, is unavailable', async () => {
  expect((await ask('http://x/down')).status).toBe(504);
  answer = (incoming) => incoming.socket.destroy();
  expect((await ask('http://x/a')).status).toBe(504);
  expect(unavailable).toBe(2);
});

test('the owner is told the sender, and gets the fields without that', async () => {
  let told: unknown[] = [];
  answer = ({ url, rawHeaders }, response, client) => {
    told = [url, client, rawHeaders.join()];
    response.end();
  };
  await ask('http://x/a');
  const { port } = front.address() as AddressInfo;
  expect(told).toEqual([
    'http://x/a',
    FROM_NEIGHBOUR,
    expect.stringMatching(`(^|,)[Hh]ost,127.0.0.1:${port}`),
  ]);
  expect(told[2]).not.toMatch(/relayed/i);
});
