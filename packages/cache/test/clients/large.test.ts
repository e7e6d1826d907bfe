/**
 * 300 MB through a node: to a fast client and to one that hardly reads, and then from the disk. The
 * node never has more of it in memory than it was given for responses, and some room for what is on
 * its way.
 *
 * The bytes are made as they are asked for: the block number in every eight bytes, so that a block
 * in the wrong place is another sum.
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { until } from '@bloomery/testkit/eventually';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { cleanEnvironment, need } from '@bloomery/testkit/programs/client-program';
import { expect, it } from 'vitest';
import { startClientNode } from './client-node.ts';

const MB = 1_000_000;
const BLOCK = 65_536;
const BLOCKS = 4578; // 300 MB and 24 kB

it('passes 300 MB with little memory, then from the disk without the origin', async (context) => {
  need(context, 'curl');
  const sum = createHash('sha256');
  for (const block of blocks()) sum.update(block);
  const expected = sum.digest('hex');
  await using origin = await startOrigin();
  origin.on('/large', () => ({
    headers: ['Cache-Control', 'max-age=600', 'Content-Length', String(BLOCK * BLOCKS)],
    body: pieces(),
  }));
  await using node = await startClientNode('--allow-private', '--memory', '32MB', '--disk-size', '2GB');
  const idle = node.peakBytes();
  const slow = download('--limit-rate', '1M');
  expect(await download().sum).toBe(expected);
  slow.stop();
  await slow.sum;
  // What is too long for memory may have to be asked for twice before the disk keeps it
  // (store/tiered/admission.ts).
  expect(await download().sum).toBe(expected);
  const asked = origin.count('/large');
  expect(asked).toBeLessThanOrEqual(2);
  // A client has the last byte before the object is stored. Until then, a further client joins the
  // fetch that is under way, which is not counted as a hit.
  await until('it is on the disk', async () => {
    const { stores } = await node.status();
    return (stores.disk?.bytes ?? 0) >= BLOCK * BLOCKS;
  });
  const { hit } = (await node.status()).requests;
  expect(await download().sum).toBe(expected);
  expect(origin.count('/large')).toBe(asked);
  await until('the last download is counted', async () => (await node.status()).requests.hit > hit);
  // 47 MB were measured, of which 32 MB are for responses.
  const peak = node.peakBytes();
  if (idle !== null && peak !== null) expect((peak - idle) / MB).toBeLessThan(120);

  function download(...more: string[]): { readonly sum: Promise<string>; stop(): void } {
    const args = ['-sS', '-m', '100', '-x', node.url, ...more, origin.url('/large')];
    const child = spawn('curl', args, { env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'ignore'] });
    const hash = createHash('sha256');
    child.stdout.on('data', (chunk: Buffer) => hash.update(chunk));
    return { sum: once(child, 'close').then(() => hash.digest('hex')), stop: () => child.kill() };
  }
});

function* blocks(): Generator<Buffer> {
  for (let number = 0; number < BLOCKS; number++) {
    // A block of its own: the one before may still be on its way.
    yield Buffer.from(new Float64Array(BLOCK / 8).fill(number).buffer);
  }
}

async function* pieces(): AsyncGenerator<Buffer> {
  yield* blocks();
}
