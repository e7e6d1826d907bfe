/**
 * A worker for the browser tests: adds integers to the shared filter it is sent, then says whether
 * it has them.
 */

import { BlockedBloomFilter, BloomFilter } from '../src/index.ts';

interface WorkerScope {
  onmessage: (event: { data: WorkerTask }) => void;
  postMessage(message: boolean): void;
}

export interface WorkerTask {
  readonly structure: 'bloom' | 'blocked';
  readonly options: object;
  readonly from: number;
  readonly count: number;
}

const scope = globalThis as unknown as WorkerScope;

scope.onmessage = ({ data: { structure, options, from, count } }) => {
  const filter =
    structure === 'bloom' ? new BloomFilter(options as never) : new BlockedBloomFilter(options as never);
  const keys = Array.from({ length: count }, (_, i) => from + i);
  filter.addMany(keys.slice(0, count / 2));
  for (const key of keys.slice(count / 2)) filter.add(key);
  scope.postMessage(filter.hasMany(keys).every((answer) => answer === 1));
};
