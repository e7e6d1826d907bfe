import { EFFORT } from '@bloomery/testkit/effort';
import { expect, test } from 'vitest';
import { type SwarmSettings, simulateSwarm } from './swarm.ts';

const NODES = EFFORT > 1 ? 60 : 30;
const SETTINGS: SwarmSettings = { seed: 1, nodes: NODES, size: 32 * 2 ** 20 };

test('a fleet has the file in little more than one download, from about one copy of the origin', async () => {
  const result = await simulateSwarm(SETTINGS);
  expect(result.doneMs.length).toBe(NODES);
  // The file is small, so the half second in which nodes begin is a fifth of a download.
  expect((result.doneMs.at(-1) as number) / result.oneDownloadMs).toBeLessThan(2);
  expect(result.originCopies).toBeGreaterThanOrEqual(1);
  expect(result.originCopies).toBeLessThan(1.3);
  expect(result.duplicateShare).toBeLessThan(0.03);
});

test('a fleet of which a third is killed midway completes, and the survivors keep what they have', async () => {
  const whole = await simulateSwarm(SETTINGS);
  const atMs = whole.oneDownloadMs / 2;
  const result = await simulateSwarm({ ...SETTINGS, killed: { share: 1 / 3, atMs } });
  expect(result.survivors).toBeLessThan(NODES);
  expect(result.doneMs.length).toBe(result.survivors);
  // A survivor that began again would need a whole download from then on.
  expect(result.doneMs[0] as number).toBeLessThan(atMs + whole.oneDownloadMs);
});

test('the same seed gives the same events, another seed gives others', async () => {
  const small = { ...SETTINGS, nodes: 8, size: 4 * 2 ** 20 };
  const { hash } = await simulateSwarm(small);
  expect((await simulateSwarm(small)).hash).toBe(hash);
  expect((await simulateSwarm({ ...small, seed: 2 })).hash).not.toBe(hash);
});

test('a node alone loads the file from the origin in the time of one download', async () => {
  const result = await simulateSwarm({ seed: 1, nodes: 1, size: 8 * 2 ** 20 });
  expect(result.originCopies).toBe(1);
  expect(result.doneMs[0] as number).toBeGreaterThan(result.oneDownloadMs);
  // It begins within half a second, and waits for a request and a block.
  expect(result.doneMs[0] as number).toBeLessThan(result.oneDownloadMs + 600);
});

test('a simulated fleet ends by its signal', async () => {
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(simulateSwarm(SETTINGS, { signal })).rejects.toThrow('enough');
});
