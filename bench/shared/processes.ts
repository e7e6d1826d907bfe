/** The processes behind the lanes, and a common face for them and for the native program. */

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { KeyFiles } from './keys.ts';
import type { KeySet, LaneRequest, Prepared, Rate, Slice, Trial } from './lane.ts';
import type { Action, FormName } from './subject.ts';

/** A slice is taken as it is if its process had the processor for this share of it. */
const UNDISTURBED = 0.9;
const MOST_REPEATS = 5;

/** Something that can be told to measure one slice and then be quiet again. */
export interface Measurable {
  time(operation: string, action: Action, budgetMs: number): Promise<number>;
  stop(): void;
}

export class LaneProcess implements Measurable {
  readonly #child: ChildProcess;

  /**
   * `program` is lane-process.ts compiled: plain Node runs it, so that no loader touches the code
   * that is measured.
   */
  constructor(program: string) {
    this.#child = fork(program, { execArgv: ['--expose-gc', '--max-old-space-size=8192'] });
  }

  prepare(lane: string, keys: KeySet, forms: readonly FormName[], only: string | null): Promise<Prepared> {
    return this.#ask({ do: 'prepare', lane, keys, forms, only });
  }

  rate(): Promise<Rate> {
    return this.#ask({ do: 'rate' });
  }

  trial(lane: string, keys: KeyFiles, start: number, size: number): Promise<Trial> {
    return this.#ask({ do: 'trial', lane, keys, start, size });
  }

  /**
   * One slice. On a crowded machine the processor may be taken away in the middle of it, and then
   * it says how crowded the machine is: such a slice is repeated a few times, and the least
   * disturbed one counts. Builds are too long for that.
   */
  async time(form: string, action: Action, budgetMs: number): Promise<number> {
    let best: Slice | undefined;
    for (let i = 0; i < (action === 'build' ? 1 : MOST_REPEATS); i++) {
      const slice = await this.#ask<Slice>({ do: 'time', form: form as FormName, action, budgetMs });
      if (best === undefined || slice.busy > best.busy) best = slice;
      if (best.busy >= UNDISTURBED) break;
    }
    return best!.nsPerKey;
  }

  stop(): void {
    this.#child.kill();
  }

  #ask<T>(request: LaneRequest): Promise<T> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`its process ended with code ${code}`));
      this.#child.once('exit', ended);
      this.#child.once('message', (answer: { value?: T; error?: string }) => {
        this.#child.off('exit', ended);
        if (answer.error === undefined) resolve(answer.value as T);
        else reject(new Error(answer.error));
      });
      this.#child.send(request);
    });
  }
}

export interface NativeBuild {
  readonly checksum: string;
  readonly found: number;
  readonly falsePositives: number;
}

/** The compiled yardstick: one command a line in, one answer a line out (native/yardstick.cpp). */
export class NativeProcess implements Measurable {
  readonly #child;
  readonly #answers: AsyncIterator<string>;

  constructor(program: string, { stored, heldOut, size, chunkKeys, starts }: KeySet) {
    const files = [stored.bytes, stored.offsets, size, heldOut.bytes, heldOut.offsets, heldOut.count];
    this.#child = spawn(program, [...files, chunkKeys, ...starts].map(String), {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async build(filter: string, size: number, hashes: number): Promise<NativeBuild> {
    const [checksum, found, falsePositives] = await this.#ask(`build ${filter} ${size} ${hashes}`);
    return { checksum, found: Number(found), falsePositives: Number(falsePositives) };
  }

  async time(filter: string, action: Action, budgetMs: number): Promise<number> {
    return Number((await this.#ask(`time ${filter} ${action} ${budgetMs}`))[0]);
  }

  stop(): void {
    this.#child.kill();
  }

  async #ask(command: string): Promise<string[]> {
    this.#child.stdin.write(`${command}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error('the native yardstick ended unexpectedly');
    return (value as string).split(' ');
  }
}
