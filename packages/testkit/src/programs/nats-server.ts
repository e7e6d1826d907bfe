/**
 * A real NATS server (Debian's package `nats-server`) on loopback, with a folder of its own. It can
 * be killed and started again on the same port and the same folder, as after a crash.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface NatsServerSettings {
  /** Whether it has JetStream, which holds KV buckets. Default true. */
  readonly jetStream?: boolean;
  /** Words before its command that run it elsewhere, such as in a namespace. */
  readonly prefix?: readonly string[];
  /** Lines of its configuration file: `max_payload: 8MB`. */
  readonly config?: string;
}

const READY = /Server is ready/;
const PORT = /Listening for client connections on 127\.0\.0\.1:(\d+)/;

export class NatsServer implements AsyncDisposable {
  readonly #settings: NatsServerSettings;
  readonly #folder: string;
  #child: ChildProcess | null = null;
  #port = -1;

  private constructor(settings: NatsServerSettings) {
    this.#settings = settings;
    this.#folder = mkdtempSync(join(tmpdir(), 'bloomery-nats-'));
  }

  static async start(settings: NatsServerSettings = {}): Promise<NatsServer> {
    const server = new NatsServer(settings);
    await server.start();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.#port}`;
  }

  /** Starts it again after `kill`. */
  async start(): Promise<void> {
    const config = join(this.#folder, 'nats.conf');
    const { jetStream = true, prefix = [] } = this.#settings;
    const lines = [
      `listen: "127.0.0.1:${this.#port}"`,
      ...(jetStream ? [`jetstream { store_dir: ${JSON.stringify(this.#folder)} }`] : []),
      this.#settings.config ?? '',
    ];
    writeFileSync(config, lines.join('\n'));
    const [program, ...words] = [...prefix, 'nats-server', '-c', config];
    const child = spawn(program!, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    const said: string[] = [];
    await new Promise<void>((resolve, reject) => {
      child.once('error', (cause) =>
        reject(
          new Error('Cannot start a NATS server: expected the program nats-server (Debian: nats-server)', {
            cause,
          }),
        ),
      );
      child.once('exit', (code) =>
        reject(new Error(`Cannot start a NATS server: got exit code ${code}: ${said.join('\n')}`)),
      );
      createInterface({ input: child.stderr! }).on('line', (line) => {
        said.push(line);
        const port = PORT.exec(line)?.[1];
        if (port !== undefined) this.#port = Number(port);
        if (READY.test(line)) resolve();
      });
    });
  }

  /** Ends it by SIGKILL, and waits until it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
