import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { afterEach, expect, test } from 'vitest';
import { DIGEST_PATH, isDigestTarget, sendDigest } from './digest-answer.ts';

const close: (() => void)[] = [];
afterEach(() => {
  for (const end of close.splice(0)) end();
});

test('isDigestTarget knows the digest of this node in both forms, and no other', () => {
  const isOwn = (host: string, port: number) => host === 'node.example' && port === 3128;
  const of = (target: string) => isDigestTarget(target, isOwn);
  expect(of(DIGEST_PATH)).toBe(true);
  expect(of(`http://node.example:3128${DIGEST_PATH}`)).toBe(true);
  expect(of(`http://node.example${DIGEST_PATH}`)).toBe(false);
  expect(of(`http://other.example:3128${DIGEST_PATH}`)).toBe(false);
  expect(of(`http://node.example:3128/a${DIGEST_PATH}`)).toBe(false);
  expect(of(`/a${DIGEST_PATH}`)).toBe(false);
  expect(of(`${DIGEST_PATH}?a`)).toBe(false);
});

test('sendDigest sends the head, the header of the digest and the mask 60 ms apart', async () => {
  const clock = new VirtualClock();
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => i);
  const built = { bytes, objects: 1, builtAt: 1_600_000_000_000, expiresAt: 1_600_000_010_000 };
  const server = createServer((req, res) => sendDigest(req, res, built, clock)).listen(0, '127.0.0.1');
  close.push(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { 'If-Modified-Since': 'Sun, 13 Sep 2026 12:26:40 GMT', Connection: 'close' };
  const asked = request({ port, host: '127.0.0.1', path: DIGEST_PATH, headers }).end();
  const [response] = await once(asked, 'response');
  expect(response.statusCode).toBe(200);
  expect(response.headers).toMatchObject({
    'content-type': 'application/cache-digest',
    'content-length': '300',
    'last-modified': 'Sun, 13 Sep 2020 12:26:40 GMT',
    expires: 'Sun, 13 Sep 2020 12:26:50 GMT',
  });
  await clock.advance(59);
  expect(clock.pending).toBe(1);
  const came = once(response, 'data');
  await clock.advance(1);
  const [first] = await came;
  expect(first).toEqual(Buffer.from(bytes.subarray(0, 128)));
  await clock.advance(59);
  expect(clock.pending).toBe(1);
  const rest = once(response, 'data');
  const ended = once(response, 'end');
  await clock.advance(1);
  const [second] = await rest;
  expect(second).toEqual(Buffer.from(bytes.subarray(128)));
  await ended;
});
