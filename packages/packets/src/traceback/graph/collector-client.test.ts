import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ipv4, udp } from '../../../test/captures/build-packet.ts';
import { collectorClient, readAnswer } from './collector-client.ts';

const RIGHT = {
  seen: true,
  chanceOfAny: 0.1,
  sightings: [{ firstS: 1, lastS: 2 }],
  coveredFromS: 0,
  changes: [],
};
const WINDOW = { firstS: 100, lastS: 200 };
let url: string;
const server = createServer((request, response) => {
  if (request.url !== '/v1/seen') response.writeHead(404).end('{}');
  else if (request.headers.authorization === 'Bearer endless') {
    const write = () => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', write);
    };
    response.on('error', () => {});
    write();
  } else if (request.headers.authorization === 'Bearer elsewhere') {
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  } else if (request.headers.authorization !== 'Bearer never') response.end(JSON.stringify(RIGHT));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test.each([
  ['right', RIGHT.chanceOfAny],
  ['never', 'no answer in 300 ms'],
  ['endless', /at most/],
  ['elsewhere', /./],
])('a collector with the token %s gives an answer or a reason', async (token, expected) => {
  const ask = collectorClient({
    collectors: new Map([['a', { url }]]),
    window: { firstS: 0, lastS: 1 },
    tokenOf: () => token,
    timeoutMs: token === 'never' ? 300 : 20_000,
  });
  const answer = await ask('a', Uint8Array.of(1));
  if (typeof expected === 'number') expect(answer).toMatchObject({ seen: true, chance: expected });
  else expect(answer).toEqual({ silent: expect.stringMatching(expected) });
});

test('collectors that are unknown, without a url or down are silent', async () => {
  const ask = collectorClient({
    collectors: new Map([
      ['b', {}],
      ['c', { url: 'http://127.0.0.1:9' }],
    ]),
    window: { firstS: 0, lastS: 1 },
    tokenOf: () => 'x',
  });
  for (const id of ['a', 'b', 'c']) expect(await ask(id, Uint8Array.of(1))).toHaveProperty('silent');
});

test.each<[number, unknown]>([
  [200, 'text'],
  [200, null],
  [200, { ...RIGHT, seen: 'yes' }],
  [200, { ...RIGHT, chanceOfAny: -1 }],
  [200, { ...RIGHT, sightings: 5 }],
  [200, { ...RIGHT, coveredFromS: 'always' }],
  [401, { error: { code: 'token' } }],
  [500, []],
])('an answer %i %j is a silence', (status, value) => {
  expect(readAnswer(status, JSON.stringify(value), WINDOW)).toHaveProperty('silent');
});

test('parts of an answer that are wrong are left out', () => {
  const changes = [
    { kind: 'magic', packet: 'AAAA' },
    { kind: 'nat', packet: 5 },
    null,
    // Bytes that are no packet would make each other collector refuse the question.
    { kind: 'nat', packet: 'AAAA' },
    { kind: 'nat', packet: Buffer.from(ipv4({ protocol: 17 }, udp(1, 2))).toString('base64') },
  ];
  const sightings = [
    null,
    { firstS: 1, lastS: 2 },
    // No calendar has these times.
    { firstS: 1e300, lastS: 1e301 },
    { firstS: -5, lastS: 2 },
    { firstS: 3, lastS: 2 },
  ];
  const answer = readAnswer(200, JSON.stringify({ ...RIGHT, sightings, changes: changes.slice(1) }), WINDOW);
  expect(answer).toMatchObject({ sightings: [{ firstS: 1, lastS: 2 }], changes: [{ kind: 'nat' }] });
});

test('a no about a time from which a collector has nothing is a silence', () => {
  const no = (coveredFromS: number | null) =>
    readAnswer(200, JSON.stringify({ ...RIGHT, seen: false, coveredFromS }), WINDOW);
  expect(no(150)).toMatchObject({ seen: false });
  expect(no(200)).toMatchObject({ seen: false });
  expect(no(201)).toEqual({ silent: 'has no tables of that time' });
  expect(no(null)).toEqual({ silent: 'has no tables of that time' });
});

test('the code of a refusal reaches no terminal unless it is one', () => {
  const silence = (code: unknown) => readAnswer(429, JSON.stringify({ error: { code } }), WINDOW);
  expect(silence('rate')).toEqual({ silent: 'refused: rate' });
  for (const code of ['\u001b[2J', 'x'.repeat(99), 5])
    expect(silence(code)).toEqual({ silent: 'refused: 429' });
});
