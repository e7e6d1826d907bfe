import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { until } from '../eventually.ts';
import { World } from '../origins/chaos-world.ts';
import { Random } from '../statistics.ts';
import { CheckedCrowd } from './checked-crowd.ts';

const KEPT = 8;
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/**
 * A crowd at a node that passes the answers of a world on, as `spoil` lets it, and says that it
 * keeps idle connections for `keepMs`. Each request changes its object with the probability
 * `changes`.
 */
async function crowdAt(
  spoil: (body: Buffer, response: ServerResponse, answer: IncomingMessage) => boolean,
  keepMs = 60_000,
  changes = 0.1,
) {
  const seeded = new Random(7);
  const random = () => seeded.bits() / 2 ** 32;
  const world = new World({ objects: 50, largeBytes: 1000, changes, random });
  const target = await world.listen();
  open.push(() => world.close());
  const server = createServer((asked, response) => {
    request({ port: target, path: asked.url, headers: asked.headers }, async (answer) => {
      const pieces: Buffer[] = [];
      for await (const piece of answer) pieces.push(piece);
      const body = Buffer.concat(pieces);
      for (const name of ['connection', 'keep-alive']) delete answer.headers[name];
      if (spoil(body, response, answer)) response.writeHead(answer.statusCode!, answer.headers).end(body);
    }).end();
  });
  server.keepAliveTimeout = keepMs;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  open.push(() => agent.destroy());
  const node = { name: 'node', port, agent, isServing: true, kills: 0 };
  // More kept connections than clients, so that some are idle.
  await Promise.all(Array.from({ length: KEPT }, () => world.ask(port, 0, { agent })));
  const crowd = new CheckedCrowd({ world, nodes: [node], clients: 4, random });
  open.push(() => crowd[Symbol.asyncDispose]());
  return { crowd, node, world };
}

test('CheckedCrowd finds nothing in right answers, whole and in ranges', async () => {
  const { crowd } = await crowdAt(() => true);
  await crowd.more(200);
  expect([crowd.wrong, crowd.failed, crowd.orphans]).toEqual([[], [], 0]);
  expect(crowd.takeFirstBytes().length).toBeGreaterThanOrEqual(200);
});

test('CheckedCrowd notes each answer with a wrong byte', async () => {
  let flipped = 0;
  const { crowd } = await crowdAt((body) => {
    if (body.length > 100 && flipped < 3) {
      body[50] = body[50]! ^ 1;
      flipped++;
    }
    return true;
  });
  await crowd.more(200);
  expect([crowd.wrongAnswers, crowd.failures]).toEqual([3, 0]);
  expect(crowd.wrong[0]).toMatch('wrong bytes');
});

test('CheckedCrowd notes refusals and broken answers, unless the node was killed meanwhile', async () => {
  let count = 0;
  let isBroken = false;
  const { crowd, node } = await crowdAt(
    (body, response, { statusCode, headers }) => {
      count++;
      if (count === 10) response.writeHead(502).end();
      else if (count > 20 && body.length > 100 && !isBroken) {
        isBroken = true;
        response.writeHead(statusCode!, headers).write(body.subarray(0, 50), () => response.destroy());
      } else if (count === 70) {
        node.kills++;
        response.destroy();
      } else return true;
      return false;
    },
    60_000,
    0,
  );
  await crowd.more(100);
  expect([crowd.wrongAnswers, crowd.failures]).toEqual([0, 2]);
  expect(crowd.orphans).toBeGreaterThanOrEqual(1);
});

test('CheckedCrowd excuses a broken answer only if its object changed meanwhile', async () => {
  for (const hasChanged of [false, true]) {
    let isBroken = false;
    const { crowd, world } = await crowdAt(
      (body, response, { statusCode, headers }) => {
        if (body.length <= 100 || isBroken) return true;
        isBroken = true;
        const id = /^"(\d+)-/.exec(String(headers.etag))![1];
        if (hasChanged) world.change(Number(id));
        response.writeHead(statusCode!, headers).write(body.subarray(0, 50), () => response.destroy());
        return false;
      },
      60_000,
      0,
    );
    await crowd.more(100);
    expect([crowd.wrongAnswers, crowd.failures, crowd.cut]).toEqual(hasChanged ? [0, 0, 1] : [0, 1, 0]);
  }
});

/** Closes connections that have carried an answer, instead of the next answer, from the 50th on. */
function closingKept(most: number) {
  const used = new WeakSet<Socket>();
  let count = 0;
  let closed = 0;
  return (_body: Buffer, response: ServerResponse): boolean => {
    const socket = response.socket!;
    count++;
    if (count >= 50 && closed < most && used.has(socket)) {
      closed++;
      socket.resetAndDestroy();
      return false;
    }
    used.add(socket);
    return true;
  };
}

test('CheckedCrowd asks again on a new connection if idle ones are closed together', async () => {
  const { crowd } = await crowdAt(closingKept(KEPT), 2000);
  await crowd.more(100);
  expect([crowd.wrong, crowd.failed, crowd.repeated]).toEqual([[], [], KEPT]);
});

test('CheckedCrowd notes a connection that is closed before the time that the node announced', async () => {
  const { crowd } = await crowdAt(closingKept(KEPT));
  await crowd.more(100);
  expect([crowd.wrongAnswers, crowd.failures, crowd.repeated]).toEqual([0, KEPT, 0]);
  expect(crowd.failed[0]).toMatch(/idle for \d+ ms of 60000/);
});

test('CheckedCrowd asks again no more than once', async () => {
  let isClosing = false;
  const { crowd } = await crowdAt((_body, response) => {
    if (isClosing) response.socket!.resetAndDestroy();
    return !isClosing;
  }, 2000);
  await crowd.more(50);
  isClosing = true;
  await until('failures on new connections', () => crowd.failures > KEPT);
  isClosing = false;
  await crowd.more(10);
  expect(crowd.repeated).toBeLessThanOrEqual(KEPT);
});
