import { until } from '@bloomery/testkit/eventually';
import { afterEach, expect, test } from 'vitest';
import { HttpFleet } from './http-fleet.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const soon = { timeoutMs: 10_000 };
const fleets: HttpFleet[] = [];

afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.end();
});

async function pair(serverLimits = {}) {
  const fleet = await HttpFleet.withNames('a', 'b');
  fleets.push(fleet);
  const a = fleet.start('a', ['b']);
  const b = fleet.start('b', [], { limits: serverLimits });
  b.serve('echo', (body) => body);
  await until('up', () => a.peers()[0].state === 'up');
  return { fleet, a, b, toB: fleet.address('b') };
}

test('HttpTransport keeps the connection of a request for the next', async () => {
  const { fleet, a, toB } = await pair();
  for (let i = 0; i < 10; i++) await a.request(toB, 'echo', bytes(`${i}`), soon);
  // One connection has the stream, and one the requests.
  expect(fleet.relay('b').connections.length).toBe(2);
});

test('HttpTransport asks again if the neighbour closed the kept connection in this moment', async () => {
  const { fleet, a, toB } = await pair();
  await a.request(toB, 'echo', bytes('1'), soon);
  const kept = fleet.relay('b').connections[1];
  // The next bytes to the server on a known connection reset it.
  fleet.relay('b').setFaults({ toServer: { cutAfter: kept.sent.toServer } });
  const asked = a.request(toB, 'echo', bytes('2'), soon);
  await until('the kept connection is cut', () => !kept.open);
  fleet.relay('b').setFaults();
  expect(new TextDecoder().decode(await asked)).toBe('2');
});

test('HttpTransport bounds the bytes of requests that arrive at one time', async () => {
  const { a, b, toB } = await pair({ requestBytes: 10_000 });
  const waiting: ((answer: Uint8Array) => void)[] = [];
  b.serve('slow', () => new Promise<Uint8Array>((resolve) => waiting.push(resolve)));
  const first = a.request(toB, 'slow', new Uint8Array(8000), soon);
  await until('it has come', () => waiting.length === 1);
  await expect(a.request(toB, 'echo', new Uint8Array(8000), soon)).rejects.toMatchObject({ code: 'busy' });
  expect((await a.request(toB, 'echo', new Uint8Array(1000), soon)).length).toBe(1000);
  waiting[0](bytes('!'));
  await first;
  expect((await a.request(toB, 'echo', new Uint8Array(8000), soon)).length).toBe(8000);
});
