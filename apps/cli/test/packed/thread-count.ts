/**
 * How many answers a command got from its threads. `bloomery build` does all work by itself until a
 * thread is ready, and also if none can be started, so its result alone does not show that the
 * thread's file was found.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cleanEnvironment } from './tarballs.ts';

/**
 * Loaded before the command: every Worker counts its answers, and the sums are written at the end.
 */
const HOOK = `
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';
import threads from 'node:worker_threads';

if (threads.isMainThread && process.argv[1]?.endsWith('bloomery')) {
  const counts = {};
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(file, options) {
      super(file, options);
      const name = basename(String(file));
      // The first message of some threads says that they are ready; it has no id.
      this.on('message', (message) => {
        if (message?.id !== undefined || name !== 'hash-worker.js') counts[name] = (counts[name] ?? 0) + 1;
      });
    }
  };
  syncBuiltinESMExports();
  process.on('exit', () => writeFileSync(process.env.BLOOMERY_TEST_THREADS, JSON.stringify(counts)));
}
`;

/**
 * The environment for a command whose threads are counted, and the file where the count will be.
 */
export function countThreads(folder: string): { readonly env: NodeJS.ProcessEnv; readonly log: string } {
  const hook = join(folder, 'count-threads.mjs');
  const log = join(folder, 'threads.json');
  writeFileSync(hook, HOOK);
  rmSync(log, { force: true });
  const env = {
    ...cleanEnvironment(),
    NODE_OPTIONS: `--import ${pathToFileURL(hook)}`,
    BLOOMERY_TEST_THREADS: log,
  };
  return { env, log };
}

/** Answers from the threads of one file. */
export function answersOfThreads(log: string, name: string): number {
  return JSON.parse(readFileSync(log, 'utf8'))[name] ?? 0;
}
