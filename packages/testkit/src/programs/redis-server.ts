/**
 * A real Redis server (Debian's package `redis-server`) on loopback, with a folder of its own. It
 * can be killed and started again on the same port and the same folder, as after a crash, or
 * stopped and continued, as on a machine that hangs.
 */

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

export interface RedisServerSettings {
  /** Words of its command line: `['--appendonly', 'yes']`. Default: nothing is written to disk. */
  readonly words?: readonly string[];
  /** A folder of the caller's, which is not removed. */
  readonly folder?: string;
}

const READY = /Ready to accept connections|MASTER <-> REPLICA sync started/;
const TAKEN = /Address already in use/;
const ATTEMPTS = 20;

export class RedisServer implements AsyncDisposable {
  readonly folder: string;
  readonly #settings: RedisServerSettings;
  #child: ChildProcess | null = null;
  #port = 0;

  private constructor(settings: RedisServerSettings) {
    this.#settings = settings;
    this.folder = settings.folder ?? mkdtempSync(join(tmpdir(), 'bloomery-redis-'));
  }

  static async start(settings: RedisServerSettings = {}): Promise<RedisServer> {
    const server = new RedisServer(settings);
    for (let attempt = 0; ; attempt++) {
      server.#port = await freePort();
      try {
        await server.start();
        return server;
      } catch (error) {
        // Another process took the port between the question and the start.
        if (attempt === ATTEMPTS || !(error instanceof Error && TAKEN.test(error.message))) {
          server.#removeFolder();
          throw error;
        }
      }
    }
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.#port}`;
  }

  /** Starts it again after `kill`. */
  async start(): Promise<void> {
    const place = ['--port', String(this.#port), '--bind', '127.0.0.1', '--dir', this.folder];
    const words = this.#settings.words ?? ['--save', '', '--appendonly', 'no'];
    const child = spawn('redis-server', [...place, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(
          new Error('Cannot start a Redis server: expected the program redis-server (Debian: redis-server)', {
            cause,
          }),
        ),
      );
      child.once('exit', (code) =>
        reject(new Error(`Cannot start a Redis server: got exit code ${code}: ${said.join('\n')}`)),
      );
      createInterface({ input: child.stdout! }).on('line', (line) => {
        said.push(line);
        if (READY.test(line)) resolve();
      });
      createInterface({ input: child.stderr! }).on('line', (line) => said.push(line));
    });
    this.#child = child;
  }

  /** Runs `redis-cli` on it, and returns what it printed. */
  cli(...words: readonly string[]): string {
    const place = ['-h', '127.0.0.1', '-p', String(this.#port)];
    return execFileSync('redis-cli', [...place, ...words], { encoding: 'utf8', timeout: 60_000 }).trim();
  }

  /**
   * The same without stopping this process meanwhile, for questions that are asked again and again.
   */
  async ask(...words: readonly string[]): Promise<string> {
    const place = ['-h', '127.0.0.1', '-p', String(this.#port)];
    const { stdout } = await promisify(execFile)('redis-cli', [...place, ...words], { timeout: 60_000 });
    return stdout.trim();
  }

  /** Ends it by SIGKILL, and waits until it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    this.#removeFolder();
  }

  #removeFolder(): void {
    if (this.#settings.folder === undefined) rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A port of loopback that no program listens on at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
