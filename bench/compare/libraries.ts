/**
 * Two builds of the library in two processes that are measured in turn, a few milliseconds each.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { BuildAnswer, BuildRequest } from './build-process.ts';
import type { SubjectName } from './operations.ts';

/** The roots of this checkout and of the other. */
export interface Checkouts {
  readonly here: string;
  readonly there: string;
}

/** One row: the same operation in both builds, a number for each round. */
export interface Compared {
  readonly name: string;
  readonly unit: string;
  readonly here: number[];
  readonly there: number[];
}

const SLICE_MS = 10;
const WARM_UP_MS = 150;

export async function compareSubject(
  program: string,
  subject: SubjectName,
  folders: Checkouts,
  { rounds, starts }: { readonly rounds: number; readonly starts: number },
): Promise<Compared[]> {
  const rows: Compared[] = [];
  for (let start = 0; start < starts; start++) {
    const here = new BuildProcess(program, folders.here, subject);
    const there = new BuildProcess(program, folders.there, subject);
    try {
      const operations = await here.ready();
      await there.ready();
      if (start === 0) rows.push(...operations.map((operation) => ({ ...operation, here: [], there: [] })));
      for (const i of rows.keys()) {
        await here.time(i, WARM_UP_MS);
        await there.time(i, WARM_UP_MS);
      }
      for (let round = 0; round < rounds; round++) {
        for (const [i, row] of rows.entries()) {
          // The one that runs second finds the machine's caches as the first left them: they take
          // turns.
          if (round % 2 === 0) row.here.push(await here.time(i, SLICE_MS));
          row.there.push(await there.time(i, SLICE_MS));
          if (round % 2 === 1) row.here.push(await here.time(i, SLICE_MS));
        }
      }
    } finally {
      here.stop();
      there.stop();
    }
  }
  return rows;
}

class BuildProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<BuildAnswer>;

  constructor(program: string, folder: string, subject: SubjectName) {
    this.#child = fork(program, [folder, subject]);
    this.#ready = this.#answer();
  }

  async ready(): Promise<readonly { name: string; unit: string }[]> {
    const answer = await this.#ready;
    if ('ready' in answer) return answer.ready;
    throw new Error('error' in answer ? answer.error : 'expected the operations, got a measurement');
  }

  async time(operation: number, budgetMs: number): Promise<number> {
    const request: BuildRequest = { operation, budgetMs };
    this.#child.send(request);
    const answer = await this.#answer();
    return 'nsPerUnit' in answer ? answer.nsPerUnit : Number.NaN;
  }

  stop(): void {
    this.#child.kill();
  }

  async #answer(): Promise<BuildAnswer> {
    const ended = new AbortController();
    const exit = once(this.#child, 'exit', { signal: ended.signal }).then(([code]) => {
      throw new Error(`Cannot compare: a process of the build ended with code ${code}`);
    });
    exit.catch(() => {});
    try {
      const [message] = await Promise.race([once(this.#child, 'message', { signal: ended.signal }), exit]);
      return message as BuildAnswer;
    } finally {
      ended.abort();
    }
  }
}
