/**
 * A fleet that no client asks costs little: a few bytes on each link, and little CPU time in each
 * node. The bounds are generous here: a process that has just started still compiles, and the beats
 * that end the wait may come close together. 64 nodes over a quiet minute, with the wanted bounds,
 * are a row of the benchmark (bench/cooperation/idle-row.ts). Relays count the bytes, without the
 * heads of TCP.
 */

import { until } from '@bloomery/testkit/eventually';
import type { Fleet } from '@bloomery/testkit/fleet/fleet';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { processCpuMs } from '@bloomery/testkit/programs/process-cpu';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { expect, test } from 'vitest';
import { cleanUp } from '../node/scratch.ts';
import { startFleet, startKnownOrigin } from './start-fleet.ts';

const NODES = 3;
const LINKS = (NODES * (NODES - 1)) / 2;
const MOST_BYTES = 600;
const MOST_CPU_MS = 100;
/** Ten times two heartbeats. */
const BEATS_MS = 100_000;

const sent = (relay: TcpRelay) =>
  relay.connections.reduce((sum, each) => sum + each.sent.toServer + each.sent.toClient, 0);

/** Waits until all relays carried a number of bytes, and compares the costs with the bounds. */
async function expectIdle({ nodes }: Fleet, relays: readonly TcpRelay[], beats: number): Promise<void> {
  const cpu = () => Math.max(...nodes.map(({ pid }, at) => processCpuMs(pid) - (cpuBefore[at] ?? 0)));
  const cpuBefore = nodes.map(({ pid }) => processCpuMs(pid));
  const before = relays.map(sent);
  const began = performance.now();
  const since = () => relays.map((relay, at) => sent(relay) - before[at]!);
  await until('two heartbeats', () => since().every((bytes) => bytes >= beats), BEATS_MS);
  const seconds = (performance.now() - began) / 1000;
  const bytes = since().reduce((sum, each) => sum + each, 0);
  expect(bytes / seconds / LINKS).toBeLessThanOrEqual(MOST_BYTES);
  expect(cpu() / seconds).toBeLessThanOrEqual(MOST_CPU_MS);
}

test('an idle fleet over HTTP sends heartbeats and little else', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({ nodes: NODES, origin: origin.url, relays: {} });
  // A heartbeat has 27 bytes.
  await expectIdle(fleet, fleet.relays, 2 * 27);
});

test('an idle fleet over NATS sends beats of presence and little else', async () => {
  const origin = await startKnownOrigin();
  const server = await NatsServer.start();
  cleanUp(() => server[Symbol.asyncDispose]());
  const relay = await TcpRelay.start({ target: server.port });
  cleanUp(() => relay[Symbol.asyncDispose]());
  const url = `nats://127.0.0.1:${relay.port}`;
  const fleet = await startFleet({
    nodes: NODES,
    origin: origin.url,
    settings: () => ({ peer: [], nats: url }),
  });
  // Each beat goes to the server once, and from there to the two others.
  await expectIdle(fleet, [relay], 2 * NODES * 3 * 300);
});
