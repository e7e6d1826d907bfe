/**
 * A scratch directory and the real command in it. Starting Node costs half a second of processor
 * time, so command lines go to one process that waits for them, through the same `main` that
 * `bin/bloomery.js` calls; what they print is told apart by marks. `run` starts `bin/bloomery.js`
 * itself, and can give it standard input.
 */

import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { BloomFilter } from 'bloomery';
import { afterAll } from 'vitest';

export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export class Scratch {
  readonly directory = mkdtempSync(join(tmpdir(), 'bloomery-test-'));
  #driver: Driver | undefined;

  constructor() {
    afterAll(() => {
      this.#driver?.process.stdin.end();
      rmSync(this.directory, { recursive: true });
    });
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  put(name: string, content: Uint8Array | string | { encode(): Uint8Array }): string {
    const bytes = typeof content === 'string' || content instanceof Uint8Array ? content : content.encode();
    writeFileSync(this.path(name), bytes);
    return name;
  }

  get(name: string): Uint8Array {
    return Uint8Array.from(readFileSync(this.path(name)));
  }

  has(name: string): boolean {
    return existsSync(this.path(name));
  }

  names(): string[] {
    return readdirSync(this.directory);
  }

  /** Starts the command itself. */
  run(args: readonly string[], input?: Uint8Array | string): Outcome & { readonly bytes: Uint8Array } {
    const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, ...args], {
      cwd: this.directory,
      maxBuffer: 2 ** 28,
      ...(input === undefined ? {} : { input }),
    });
    return {
      code: status ?? -1,
      stdout: stdout.toString(),
      stderr: stderr.toString(),
      bytes: Uint8Array.from(stdout),
    };
  }

  /** One command line; words are separated by blanks. */
  async line(line: string): Promise<Outcome> {
    const driver = (this.#driver ??= this.#start());
    const answer = Promise.all([driver.out.until(MARK), driver.out.until(MARK), driver.errors.until(MARK)]);
    driver.process.stdin.write(`${JSON.stringify(line.split(' '))}\n`);
    const [stdout, code, stderr] = await answer;
    return { stdout, stderr, code: Number(code) };
  }

  /** One after the other. */
  async lines(lines: readonly string[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const line of lines) outcomes.push(await this.line(line));
    return outcomes;
  }

  /** A command line that must work; what it printed. */
  async ok(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.line(line);
    if (code !== 0) throw new Error(`${line} ended with ${code}: ${stderr}`);
    return stdout;
  }

  #start(): Driver {
    const child = spawn(process.execPath, ['--input-type=module', '-e', DRIVER], {
      cwd: this.directory,
      env: { ...process.env, MAIN, MARK },
    });
    return { process: child, out: new Reader(child.stdout), errors: new Reader(child.stderr) };
  }
}

interface Driver {
  readonly process: ChildProcessWithoutNullStreams;
  readonly out: Reader;
  readonly errors: Reader;
}

/** Text of a stream up to each mark, in turn. */
class Reader {
  #text = '';
  #ended = false;
  readonly #waiting: { mark: string; resolve(text: string): void; reject(error: Error): void }[] = [];

  constructor(stream: Readable) {
    stream.setEncoding('utf8');
    stream.on('data', (text) => {
      this.#text += text;
      this.#serve();
    });
    stream.on('end', () => {
      this.#ended = true;
      this.#serve();
    });
  }

  until(mark: string): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ mark, resolve, reject });
      this.#serve();
    });
  }

  #serve(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const at = this.#text.indexOf(next.mark);
      if (at < 0 && !this.#ended) return;
      this.#waiting.shift();
      if (at < 0) next.reject(new Error(`the command ended early: ${this.#text}`));
      else next.resolve(this.#text.slice(0, at));
      this.#text = this.#text.slice(at + next.mark.length);
    }
  }
}

/** `key-FROM` up to, and without, `key-TO`. */
export function keys(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `key-${from + i}`);
}

/** A filter for 10,000 keys at 1 % that halves three times, with some keys in it. */
export function bloom(from: number, to: number, options: { seed?: number; hash?: string } = {}): BloomFilter {
  const filter = BloomFilter.forCapacity({
    capacity: 10_000,
    falsePositiveRate: 0.01,
    halvings: 3,
    ...options,
  });
  filter.addMany(keys(from, to));
  return filter;
}

const BIN = fileURLToPath(new URL('../bin/bloomery.js', import.meta.url));
const MAIN = new URL('../../../packages/bloomery/bin/main.js', import.meta.url).href;
const MARK = '\u0001next\u0001';
const DRIVER = `
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
const { main } = await import(process.env.MAIN);
const { MARK } = process.env;
for await (const line of createInterface({ input: process.stdin })) {
  process.exitCode = 0;
  await main(JSON.parse(line));
  writeSync(1, MARK + process.exitCode + MARK);
  writeSync(2, MARK);
}
process.exitCode = 0;
`;
