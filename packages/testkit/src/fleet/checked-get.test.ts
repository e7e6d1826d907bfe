import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { knownBody, knownPath } from '../origins/known-body.ts';
import { checkedGet } from './checked-get.ts';

const PATH = knownPath('object', 200_000);
const open: (() => unknown)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function served(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test('checkedGet finds nothing wrong with the right bytes, whole or in a range', async () => {
  const whole = await served((_, res) => res.end(knownBody(PATH)));
  const answer = await checkedGet(whole, PATH);
  expect(answer).toMatchObject({ status: 200, bytes: 200_000, isWhole: true, wrong: null, isDamaged: false });
  expect(answer.firstByteMs).toBeLessThanOrEqual(answer.totalMs);
  const part = await served((_, res) => {
    res.writeHead(206, { 'Content-Range': 'bytes 1000-1999/200000' });
    res.end(knownBody(PATH).subarray(1000, 2000));
  });
  expect(await checkedGet(part, PATH)).toMatchObject({ status: 206, isWhole: true, wrong: null });
});

test('checkedGet calls an answer wrong if it looks whole and is not', async () => {
  const flipped = Buffer.from(knownBody(PATH));
  flipped[150_000] = flipped[150_000]! ^ 1;
  const damaged = await checkedGet(await served((_, res) => res.end(flipped)), PATH);
  expect(damaged.wrong).toMatch('wrong byte at 150000');
  const short = await checkedGet(await served((_, res) => res.end(knownBody(PATH).subarray(0, 99))), PATH);
  expect(short.wrong).toMatch('expected 200000 bytes of /object-200000, got 99 and a clean end');
});

test('checkedGet calls an answer broken if the client can see that it is', async () => {
  const cut = await served((_, res) => {
    res.writeHead(200, { 'Content-Length': 200_000 });
    res.write(knownBody(PATH).subarray(0, 5000), () => res.destroy());
  });
  expect(await checkedGet(cut, PATH)).toMatchObject({
    status: 200,
    bytes: 5000,
    isWhole: false,
    wrong: null,
  });
  const flipped = await served((_, res) => {
    res.writeHead(200, { 'Content-Length': 200_000 });
    res.write('other bytes', () => res.destroy());
  });
  expect(await checkedGet(flipped, PATH)).toMatchObject({ isWhole: false, wrong: null, isDamaged: true });
  const none = await served((req) => req.socket.destroy());
  expect(await checkedGet(none, PATH)).toMatchObject({ status: 0, isWhole: false, wrong: null });
});
