/**
 * A program of Node in a process of its own that writes its log to standard error as lines of JSON,
 * as `bloomery cache --log-format json` does. A test waits for events in that log, kills it, and
 * reads what it said.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const START_MS = 60_000;
const STOP_MS = 60_000;

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export class NodeProcess {
  /** Lines of its log. */
  readonly log: LogLine[] = [];
  /** Other output: a stack, when it crashed. */
  readonly said: string[] = [];
  /** Exit code or signal of the process. */
  readonly gone: Promise<number | string>;
  readonly #child: ChildProcess;
  readonly #watchers = new Set<() => void>();

  /**
   * `args` are the arguments of Node: the program, and its own. `prefix` are words before the
   * command that run it elsewhere, such as in a namespace, and become that process.
   */
  constructor(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    prefix: readonly string[] = [],
  ) {
    const [program, ...words] = [...prefix, process.execPath, ...args];
    this.#child = spawn(program!, words, {
      env: { PATH: process.env.PATH ?? '', ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const lines = createInterface({ input: this.#child.stderr! });
    lines.on('line', (line) => {
      try {
        this.log.push(JSON.parse(line) as LogLine);
      } catch {
        this.said.push(line);
      }
      for (const watcher of this.#watchers) watcher();
    });
    this.gone = new Promise((resolve) =>
      this.#child.once('close', (code, signal) => {
        resolve(code ?? signal ?? 'unknown');
        for (const watcher of this.#watchers) watcher();
      }),
    );
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Waits for the first line of the log with this event. Rejects if the process ends before. */
  async event(name: string): Promise<LogLine> {
    const found = () => this.log.find(({ event }) => event === name);
    return new Promise((resolve, reject) => {
      const look = () => {
        const line = found();
        if (line === undefined && this.isRunning) return;
        clearTimeout(timer);
        this.#watchers.delete(look);
        if (line !== undefined) resolve(line);
        else reject(this.#failure(`expected the event ${name}, got the end of the process`));
      };
      const timer = setTimeout(() => {
        this.#watchers.delete(look);
        reject(this.#failure(`expected the event ${name} within ${START_MS} ms`));
      }, START_MS);
      this.#watchers.add(look);
      look();
    });
  }

  /** Sends SIGKILL, and waits until the process is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.gone;
  }

  /** Sends SIGTERM, and SIGKILL if that does not help. Returns the exit code or the signal. */
  async stop(): Promise<number | string> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    const code = await this.gone;
    clearTimeout(timer);
    return code;
  }

  #failure(why: string): Error {
    const end = this.isRunning ? '' : ` (${this.#child.exitCode ?? this.#child.signalCode})`;
    const output = [...this.said, ...this.log.slice(-3).map((line) => JSON.stringify(line))].join('\n');
    return new Error(`Cannot wait for a process: ${why}${end}: ${output}`);
  }
}
