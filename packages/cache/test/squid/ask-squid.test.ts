/**
 * A real Squid as a neighbour of this node: its digest is fetched, and what it lists is taken from
 * it. The long form has 4,000 objects, as in docs/guide/squid.md; the short one 400.
 */

import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { EFFORT } from '@bloomery/testkit/effort';
import { needSquid, type Squid, startSquid } from '@bloomery/testkit/programs/squid-program';
import { expectBinomial } from '@bloomery/testkit/statistics';
import { SquidDigest } from 'bloomery/formats/squid';
import { expect, test } from 'vitest';
import type { PeerReport } from '../../src/peers/peer-report.ts';
import {
  ask,
  cleanUp,
  scratchFolder,
  startOrigin,
  startTestNode,
  type TestNode,
  until,
} from '../node/scratch.ts';

const OBJECTS = EFFORT >= 20 ? 4000 : 400;
const DIGEST = '/squid-internal-periodic/store_digest';

async function askAll(port: number, urls: readonly string[], atOnce: number): Promise<void> {
  const queue = [...urls];
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
  const one = async () => {
    for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
      const { status, body } = await ask(port, url, { agent });
      expect(status, url).toBe(200);
      expect(body, url).toContain(new URL(url).pathname);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  agent.destroy();
}

/** The digest of a Squid, or null while it has none. */
async function digestOf(squid: Squid): Promise<SquidDigest | null> {
  const response = await fetch(`http://127.0.0.1:${squid.port}${DIGEST}`, {
    headers: { connection: 'close' },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  return response.status === 200 ? SquidDigest.decode(bytes) : null;
}

/** A Squid that holds objects, and has had the time to build a digest of them. */
async function startFilled(urls: readonly string[]): Promise<Squid> {
  const squid = await startSquid();
  cleanUp(() => squid.stop());
  await askAll(squid.port, urls, 8);
  // Its digest is rebuilt each second, and lists an object once it is on disk.
  await until('the digest of Squid', async () => {
    const digest = await digestOf(squid);
    return digest !== null && urls.filter((url) => digest.has(url)).length > 0.9 * urls.length;
  });
  return squid;
}

async function squidOf(node: TestNode): Promise<PeerReport> {
  return (await node.status()).squids!.squids[0]!;
}

async function startAsker(squid: Squid, flags: Record<string, unknown> = {}): Promise<TestNode> {
  const node = await startTestNode({
    name: 'asker',
    squid: [`http://127.0.0.1:${squid.port}`],
    allowAddress: ['127.0.0.1'],
    // A busy machine is no reason to go to the origin.
    peerBudget: '5s',
    ...flags,
  });
  await until('the digest', async () => (await squidOf(node)).masked === null);
  return node;
}

test('what the digest of a Squid lists comes through this node, and false hits are those of its density', async (context) => {
  needSquid(context);
  const origin = await startOrigin();
  const held = Array.from({ length: OBJECTS }, (_, i) => `${origin.url}held/${i}?v=${i % 7}`);
  const squid = await startFilled(held);
  const accessLog = join(scratchFolder(), 'access.log');
  const node = await startAsker(squid, { accessLog });

  // Mixed, as they come in life: a Squid that is only asked in vain is soon not believed.
  const absent = held.map((_, i) => `${origin.url}absent/${i}`);
  await askAll(
    node.port,
    held.flatMap((url, i) => [url, absent[i]!]),
    1,
  );
  const { trueHits, falseHits, failures, falsePositiveRate } = await squidOf(node);
  const lines = () => readFileSync(accessLog, 'utf8').split('\n').slice(0, -1);
  await until('the access log', () => lines().length >= 2 * OBJECTS);
  const answers = lines().map(
    (line) => JSON.parse(line) as { url: string; outcome: string; neighbours: string },
  );
  const listed = (path: string) =>
    answers.filter(({ url, neighbours }) => url.includes(path) && !neighbours.startsWith('no candidate'));
  const ofHeld = listed('/held/');
  const came = ofHeld.filter(({ outcome }) => outcome === 'neighbour').length;
  const wrong = listed('/absent/').length;
  console.info(
    `asked of Squid: its digest lists ${ofHeld.length} of ${OBJECTS} held objects, and ${came} came from it, ` +
      `${failures} questions were late; it lists ${wrong} of ${OBJECTS} absent objects, ` +
      `${(falsePositiveRate * OBJECTS).toFixed(0)} expected, and ${falseHits} false hits were asked for`,
  );
  expect(trueHits).toBe(came);
  expect(ofHeld.length).toBeGreaterThan(0.8 * OBJECTS);
  expectBinomial(wrong, OBJECTS, falsePositiveRate, 'absent objects that the digest lists');
  expect(falseHits).toBeLessThanOrEqual(wrong);
  // A Squid that misses its deadline of 100 ms on a busy machine is no fault: the origin is asked
  // then, and after three in a row the Squid rests for a second.
  if (failures === 0) expect(falseHits).toBe(wrong);
  expect(came).toBeGreaterThanOrEqual((EFFORT >= 20 ? 0.99 : 0.8) * ofHeld.length);
  await squid.stop();
}, 600_000);
