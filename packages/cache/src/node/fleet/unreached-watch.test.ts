import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SimNetwork } from '@bloomery/sim';
import { eventually } from '@bloomery/testkit/eventually';
import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import type { Transport } from '@bloomery/transport';
import { HttpTransport } from '@bloomery/transport/http';
import { expect, onTestFinished, test } from 'vitest';
import { UnreachedWatch } from './unreached-watch.ts';

/** The warnings of a watch, as "address why". */
function watch(transport: Transport, clock: VirtualClock): string[] {
  const warnings: string[] = [];
  const event = (_: string, name: string, { peer, why }: Record<string, unknown>) =>
    void warnings.push(`${name} ${peer} ${why}`);
  const watching = new UnreachedWatch({ transport, clock, event });
  onTestFinished(() => watching.close());
  return warnings;
}

test('UnreachedWatch warns once of a neighbour that was never up, and of none that is up in time', async () => {
  const clock = new VirtualClock();
  const network = new SimNetwork(clock.simulation);
  const transport = network.join({ id: 'a', peers: ['sim:b', 'sim:c'] });
  const warnings = watch(transport, clock);
  await clock.advance(5000);
  network.join({ id: 'b', peers: [] });
  await clock.advance(9000);
  expect(warnings).toEqual([]);
  await clock.advance(300_000);
  expect(warnings).toEqual(['peer-unreached sim:c unreachable']);
});

test('UnreachedWatch tells a reason that follows the one of the hub, and all again after a recovery', async () => {
  const clock = new VirtualClock();
  const network = new SimNetwork(clock.simulation);
  const transport = network.join({ id: 'a', peers: ['sim:b'] });
  network.join({ id: 'b', peers: [] });
  const warnings = watch(transport, clock);
  for (let round = 1; round <= 2; round++) {
    await clock.advance(60_000);
    expect(transport.peers()[0]!.state).toBe('up');
    expect(warnings).toHaveLength(round - 1);
    network.partition('sim:a', 'sim:b');
    await clock.advance(120_000);
    // The hub has told that it was silent.
    expect(warnings).toEqual(Array(round).fill('peer-unreached sim:b unreachable'));
    network.heal('sim:a', 'sim:b');
  }
});

test('UnreachedWatch says that a neighbour has another secret, over real HTTP', async () => {
  const clock = new VirtualClock({ now: Date.now() });
  const secretOf = (byte: number) => new Uint8Array(32).fill(byte);
  const other = new HttpTransport({ id: 'b', peers: [], secret: secretOf(2), clock });
  const server = createServer((request, response) => {
    if (!other.handle(request, response)) response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = new HttpTransport({ id: 'a', peers: [address], secret: secretOf(1), clock });
  onTestFinished(async () => {
    await transport.close();
    await other.close();
    server.close();
  });
  const warnings = watch(transport, clock);
  await eventually(async () => {
    await clock.advance(1000);
    return warnings.some((warning) => warning.includes('secret'));
  });
  expect(warnings[0]).toMatch(`peer-unreached ${address} `);
});
