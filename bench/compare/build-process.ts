/**
 * The process of one build and one subject: `node build-process.mjs <checkout> <subject>`. It
 * measures one slice of one operation whenever libraries.ts asks, and sleeps while the other build
 * is measured. It counts processor time, not the clock's: on a machine with neighbours the clock
 * says how busy those are.
 */

import { operationsOf, type SubjectName } from './operations.ts';

export interface BuildRequest {
  readonly operation: number;
  readonly budgetMs: number;
}

export type BuildAnswer =
  | { readonly ready: readonly { readonly name: string; readonly unit: string }[] }
  | { readonly nsPerUnit: number }
  | { readonly error: string };

/** The caches are cold after the sleep: the first millisecond does not count. */
const SETTLE_MS = 1;

const [folder, subject] = process.argv.slice(2);
const answer = (message: BuildAnswer) => process.send!(message);
try {
  const operations = await operationsOf(subject as SubjectName, folder);
  process.on('message', ({ operation, budgetMs }: BuildRequest) => {
    const { run, units } = operations[operation];
    const settled = performance.now() + SETTLE_MS;
    do run();
    while (performance.now() < settled);
    const cpu = process.cpuUsage();
    const start = performance.now();
    let calls = 0;
    do {
      run();
      calls++;
    } while (performance.now() - start < budgetMs);
    const { user, system } = process.cpuUsage(cpu);
    answer({ nsPerUnit: ((user + system) * 1000) / (calls * units) });
  });
  answer({ ready: operations.map(({ name, unit }) => ({ name, unit })) });
} catch (error) {
  answer({ error: String(error) });
}
