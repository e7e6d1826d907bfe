/**
 * Nodes over NATS that leave, are killed and come back at random, while clients ask: no wrong byte,
 * no failed answer of a node that is up, and all lists of members are right in the end. 32 nodes
 * for ten minutes, beside the simulator, are a row of the benchmark
 * (bench/cooperation/churn-row.ts).
 */

import { until } from '@bloomery/testkit/eventually';
import { churnSchedule, traceUnderChurn } from '@bloomery/testkit/fleet/churn-schedule';
import { playChurn, wrongMembers } from '@bloomery/testkit/fleet/play-churn';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, test } from 'vitest';
import { zipfTrace } from '../../src/simulation/index.ts';
import { cleanUp } from '../node/scratch.ts';
import { startFleet, startKnownOrigin } from './start-fleet.ts';

const CHURN = { nodes: 5, durationMs: 16_000, everyMs: 1500, mostDown: 2, readyMs: 3000, seed: 1 };
const REQUESTS = 300;
/** Ten times the three heartbeats after which a killed node is masked. */
const RIGHT_MS = 150_000;

test('nodes come and go at random: every answer is right, and so are the lists of members', async () => {
  const { nodes, durationMs } = CHURN;
  const origin = await startKnownOrigin({ headDelayMs: 20 });
  const server = await NatsServer.start();
  cleanUp(() => server[Symbol.asyncDispose]());
  const fleet = await startFleet({
    nodes,
    origin: origin.url,
    // The shutdown of a node on a busy machine takes longer than the 2 s of other tests.
    settings: () => ({ peer: [], nats: server.url, memory: '1MB', shutdownTimeout: '30s' }),
  });
  const changes = churnSchedule(CHURN);
  const ratePerNode = REQUESTS / nodes / (durationMs / 1000);
  const trace = zipfTrace({ objects: 150, requests: REQUESTS, nodes, ratePerNode, meanBytes: 8000 });
  const played = await playChurn(fleet, traceUnderChurn(trace, changes, CHURN), changes);
  expect(played).toMatchObject({ requests: REQUESTS, wrong: [], failed: [], badExits: [] });
  expect(played.changes.leave).toBeGreaterThan(0);
  expect(played.changes.kill).toBeGreaterThan(0);
  expect(played.changes.join).toBeGreaterThan(0);
  expect(played.counts.neighbourHits).toBeGreaterThan(0);
  await until('all lists are right', async () => (await wrongMembers(fleet)).length === 0, RIGHT_MS);
}, 300_000);
