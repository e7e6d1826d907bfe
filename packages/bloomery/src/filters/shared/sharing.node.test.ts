/** Real threads of Node, on the built library: `npm run build` comes first in the test command. */

import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { BlockedBloomFilter, BloomFilter } from '../../index.ts';

const library = new URL('../../../dist/index.js', import.meta.url).href;

/**
 * Adds `count` integers from `from` on, in batches and one by one, to the filter it is given; then
 * asks for them.
 */
const program = `
  import { parentPort, workerData } from 'node:worker_threads';
  const { BlockedBloomFilter, BloomFilter } = await import(workerData.library);
  const { structure, options, from, count } = workerData;
  const filter = new (structure === 'bloom' ? BloomFilter : BlockedBloomFilter)(options);
  const keys = Array.from({ length: count }, (_, i) => from + i);
  filter.addMany(keys.slice(0, count / 2));
  for (const key of keys.slice(count / 2)) filter.add(key);
  parentPort.postMessage(filter.hasMany(keys).every((answer) => answer === 1));
`;

function addInThread(
  structure: 'bloom' | 'blocked',
  options: object,
  from: number,
  count: number,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
      workerData: { library, structure, options, from, count },
    });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

describe('threads on one filter', () => {
  test.each(['bloom', 'blocked'] as const)(
    '%s: four threads build at once and nothing is lost',
    async (structure) => {
      // Small enough that the threads meet in the same words all the time.
      const options = { capacity: 200_000, falsePositiveRate: 0.1, shared: true };
      const shared =
        structure === 'bloom' ? BloomFilter.forCapacity(options) : BlockedBloomFilter.forCapacity(options);
      const alone = shared.copy();
      const count = 50_000;
      const found = await Promise.all(
        [0, 1, 2, 3].map((i) => addInThread(structure, shared.share(), i * count, count)),
      );
      expect(found).toEqual([true, true, true, true]);
      alone.addMany(Array.from({ length: 4 * count }, (_, i) => i));
      expect(shared.encode()).toEqual(alone.encode());
    },
  );
});
