/** Real workers of the browser, in a cross-origin isolated page. */

import { expect, test } from 'vitest';
import type { WorkerTask } from '../../../test/filter-worker.ts';
import { BlockedBloomFilter, BloomFilter } from '../../index.ts';

interface BrowserWorker {
  onmessage: (event: { data: boolean }) => void;
  onerror: (event: unknown) => void;
  postMessage(task: WorkerTask): void;
  terminate(): void;
}
interface Browser {
  URL: new (path: string, base: string) => object;
  Worker: new (url: object, options: { type: 'module' }) => BrowserWorker;
}
const { URL, Worker } = globalThis as unknown as Browser;

function addInWorker(task: WorkerTask): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('../../../test/filter-worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = ({ data }) => {
      worker.terminate();
      resolve(data);
    };
    worker.onerror = reject;
    worker.postMessage(task);
  });
}

test.each(['bloom', 'blocked'] as const)(
  '%s: three workers build at once and nothing is lost',
  async (structure) => {
    const options = { capacity: 150_000, falsePositiveRate: 0.1, shared: true };
    const shared =
      structure === 'bloom' ? BloomFilter.forCapacity(options) : BlockedBloomFilter.forCapacity(options);
    const alone = shared.copy();
    const count = 50_000;
    const found = await Promise.all(
      [0, 1, 2].map((i) => addInWorker({ structure, options: shared.share(), from: i * count, count })),
    );
    expect(found).toEqual([true, true, true]);
    alone.addMany(Array.from({ length: 3 * count }, (_, i) => i));
    expect(shared.encode()).toEqual(alone.encode());
  },
);
