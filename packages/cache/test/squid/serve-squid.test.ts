/**
 * This node as a sibling of a real Squid: its digest, and the objects that the Squid then asks for.
 * The long form has 4,000 objects, as in docs/guide/squid.md; the short one 400.
 */

import { Agent } from 'node:http';
import { EFFORT } from '@bloomery/testkit/effort';
import { needSquid, type Squid, startSquid } from '@bloomery/testkit/programs/squid-program';
import { expectBinomial } from '@bloomery/testkit/statistics';
import { SquidDigest } from 'bloomery/formats/squid';
import { expect, test } from 'vitest';
import { bundleProgram, startProgram } from '../node/cache-program.ts';
import { ask, cleanUp, scratchFolder, startOrigin, startTestNode, until } from '../node/scratch.ts';

const OBJECTS = EFFORT >= 20 ? 4000 : 400;
const ABSENT = 2 * OBJECTS;
const DIGEST = '/squid-internal-periodic/store_digest';

async function startSibling(...ports: number[]): Promise<Squid> {
  const squid = await startSquid({ siblings: ports });
  cleanUp(() => squid.stop());
  return squid;
}

/** Requests one after the other on kept connections, some of them at a time. */
async function askAll(port: number, urls: readonly string[]): Promise<void> {
  const queue = [...urls];
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const one = async () => {
    for (let url = queue.shift(); url !== undefined; url = queue.shift()) {
      const { status } = await ask(port, url, { agent });
      expect(status, url).toBe(200);
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
  agent.destroy();
}

async function fetchDigest(port: number): Promise<SquidDigest> {
  const response = await fetch(`http://127.0.0.1:${port}${DIGEST}`, { headers: { connection: 'close' } });
  expect(response.status).toBe(200);
  return SquidDigest.decode(new Uint8Array(await response.arrayBuffer()));
}

/** The answers of a Squid to the URLs, once its log has all of them. */
async function answersTo(squid: Squid, urls: readonly string[]) {
  const wanted = new Set(urls);
  const found = () => squid.answers().filter(({ url }) => wanted.has(url));
  await until('the log of Squid', () => found().length === urls.length);
  return found();
}

/** Asks a Squid for other objects until it uses the digest. */
async function untilUsed(squid: Squid, urls: readonly string[]): Promise<void> {
  let at = 0;
  await until('the first sibling hit', async () => {
    await ask(squid.port, urls[at++ % urls.length]!);
    return squid.answers().some(({ from }) => from.startsWith('CD_SIBLING_HIT'));
  });
}

test('a Squid serves what this node holds as sibling hits, after its first fetch of the digest', async (context) => {
  needSquid(context);
  const origin = await startOrigin();
  const node = await startTestNode({ squidDigest: true, allowAddress: ['127.0.0.1'], memory: '100MB' });
  const held = Array.from({ length: OBJECTS }, (_, i) => `${origin.url}held/${i}?v=${i % 7}`);
  const warming = Array.from({ length: 50 }, (_, i) => `${origin.url}warm/${i}`);
  await askAll(node.port, [...held, ...warming]);
  const squid = await startSibling(node.port);
  await untilUsed(squid, warming);

  const asked = origin.asked.length;
  await askAll(squid.port, held);
  const fromNode = (await answersTo(squid, held)).filter(({ from }) => from.startsWith('CD_SIBLING_HIT'));
  expect(fromNode.length).toBeGreaterThanOrEqual(0.99 * OBJECTS);
  expect(origin.asked.length - asked).toBe(OBJECTS - fromNode.length);

  // The digest that Squid has, and one of this moment, differ by nothing: all is stored.
  const digest = await fetchDigest(node.port);
  expect(digest.onesCount() / digest.bits).toBeLessThan(0.65);
  const absent = Array.from({ length: ABSENT }, (_, i) => `${origin.url}absent/${i}`);
  const listed = absent.filter((url) => digest.has(url)).length;
  const rate = (digest.onesCount() / digest.bits) ** 4;
  expectBinomial(listed, ABSENT, rate, 'URLs that are not stored and listed');
  const missesBefore = misses(await node.metrics());
  await askAll(squid.port, absent);
  const falseHits = misses(await node.metrics()) - missesBefore;
  expectBinomial(falseHits, ABSENT, rate, 'false hits of Squid');
  console.info(
    `Squid asked this node: ${fromNode.length} of ${OBJECTS} held objects as sibling hits; ` +
      `${falseHits} false hits of ${ABSENT} absent objects, ${(rate * ABSENT).toFixed(0)} expected`,
  );
  // Its folder has a file for each object, and their removal may take longer than a hook has.
  await squid.stop();
}, 600_000);

test('with workers, the digest has the objects of all of them, whichever is asked', async () => {
  const origin = await startOrigin();
  const program = bundleProgram(scratchFolder());
  const flags = { workers: 3, squidDigest: true, allowAddress: ['127.0.0.1'] };
  const { port, events } = await startProgram(program, flags);
  const urls = Array.from({ length: 60 }, (_, i) => `${origin.url}${i}`);
  await askAll(port, urls);
  // A connection each, so that node:cluster gives the requests to different workers.
  const digests = await Promise.all([1, 2, 3].map(() => fetchDigest(port)));
  for (const digest of digests) expect(urls.filter((url) => digest.has(url))).toEqual(urls);

  // A worker that is gone is left out, and the others answer.
  const [{ pid }] = events('listening') as [{ pid: number }];
  process.kill(pid, 'SIGKILL');
  await until('the death of the worker', () => events('worker-died').length === 1);
  const left = await fetchDigest(port);
  expect(left.useful).toBe(true);
}, 60_000);

test('a client that is not allowed does not get the digest, and no client can change it', async () => {
  const open = await startTestNode({ squidDigest: true });
  expect((await ask(open.port, DIGEST, { method: 'POST' })).status).toBe(405);
  expect((await ask(open.port, DIGEST, { method: 'HEAD' })).status).toBe(200);
  const own = `http://127.0.0.1:${open.port}${DIGEST}`;
  expect((await ask(open.port, own)).headers['content-type']).toBe('application/cache-digest');
  const closed = await startTestNode({ squidDigest: true, allowClient: ['10.9.9.9'] });
  expect((await ask(closed.port, DIGEST)).status).toBe(403);
  const without = await startTestNode({});
  expect((await ask(without.port, DIGEST)).status).toBe(404);
});

/** Requests that found nothing in the store of the node. */
function misses(metrics: string): number {
  return Number(/^bloomery_cache_requests_total\{outcome="miss"\} (\d+)$/m.exec(metrics)![1]);
}
