/** The processes behind the lanes, and a common face for them and for the native program. */

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { KeySet, LaneRequest, Prepared, Rate, Slice } from './lane.ts';
import type { Action, FormName } from './subject.ts';

/** Something that can be told to measure one slice and then be quiet again. */
export interface Measurable {
  time(operation: string, action: Action, budgetMs: number): Promise<number>;
  stop(): void;
}

export class LaneProcess implements Measurable {
  readonly #child: ChildProcess;

  /** `program` is lane.ts compiled: plain Node runs it, so that no loader touches the code that is measured. */
  constructor(program: string) {
    this.#child = fork(program, { execArgv: ['--expose-gc', '--max-old-space-size=8192'] });
  }

  prepare(lane: string, keys: KeySet, only: string | null): Promise<Prepared> {
    return this.#ask({ do: 'prepare', lane, keys, only });
  }

  rate(): Promise<Rate> {
    return this.#ask({ do: 'rate' });
  }

  async time(form: string, action: Action, budgetMs: number): Promise<number> {
    const slice = await this.#ask<Slice>({ do: 'time', form: form as FormName, action, budgetMs });
    return slice.nsPerKey;
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
