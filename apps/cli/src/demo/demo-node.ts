/**
 * One node of the demonstration: this command again, as `bloomery cache`, in a process of its own.
 * We refused three nodes in one process: the demonstration kills one, and a reader with a second
 * terminal can do the same.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';

const START_MS = 20_000;
const ANSWER_MS = 30_000;

export interface DemoNodeOptions {
  readonly name: string;
  readonly port: number;
  readonly peerPort: number;
  /** The port of the console: the node is in front of an origin, whose pages must not reach it. */
  readonly adminPort: number;
  /** The token for changes by the console. */
  readonly token: string;
  readonly neighbourPorts: readonly number[];
  readonly secretFile: string;
  readonly origin: string;
}

/** The answer to one request of the demonstration. */
export interface DemoAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** The field Cache-Status: a member for each cache, the nearest to the origin first. */
  readonly cacheStatus: string;
  /** Time to the first byte. */
  readonly firstByteMs: number;
  readonly totalMs: number;
}

/** The parts of the status that the demonstration tells. */
export interface DemoStatus {
  readonly cooperation: {
    readonly own: { readonly objects: number; readonly updates: number; readonly bytesPublished: number };
    readonly peers: readonly {
      readonly id: string | null;
      readonly state: string;
      readonly masked: string | null;
      readonly objects: number;
      readonly trueHits: number;
      readonly falseHits: number;
      readonly failures: number;
      readonly summaryBytes: number;
    }[];
  } | null;
}

export class DemoNode {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  readonly #admin: string;
  readonly #token: string;
  readonly #child: ChildProcess;

  private constructor(options: DemoNodeOptions, child: ChildProcess) {
    this.name = options.name;
    this.port = options.port;
    this.pid = child.pid ?? 0;
    this.#admin = `http://127.0.0.1:${options.adminPort}`;
    this.#token = options.token;
    this.#child = child;
  }

  /** Starts the node, and waits until it listens. */
  static async start(options: DemoNodeOptions): Promise<DemoNode> {
    const { name, port, peerPort, adminPort, neighbourPorts, secretFile, origin, token } = options;
    const args = [
      'cache',
      '--quiet',
      '--no-disk',
      '--memory',
      '512MB',
      '--log-format',
      'json',
      '--name',
      name,
    ];
    args.push('--listen', `127.0.0.1:${port}`, '--upstream', `/=${origin}/`);
    args.push('--admin-listen', `127.0.0.1:${adminPort}`, '--console-urls');
    // More patience than usual: all nodes, the origin and the clients share this machine.
    args.push('--peer-budget', '2s');
    args.push('--peer-listen', `127.0.0.1:${peerPort}`, '--peer-secret', secretFile);
    for (const neighbour of neighbourPorts) args.push('--peer', `http://127.0.0.1:${neighbour}`);
    const command = process.argv[1] as string;
    const env = { ...process.env, BLOOMERY_CACHE_ADMIN_TOKEN: token };
    const child = spawn(process.execPath, [command, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    await listening(child, name);
    return new DemoNode(options, child);
  }

  /** Whether its process has not been killed. */
  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The address of the admin endpoints. */
  get adminUrl(): string {
    return this.#admin;
  }

  /** The address of the console, with its token. */
  get consoleUrl(): string {
    return `${this.#admin}/.bloomery/console/#token=${this.#token}`;
  }

  /** Asks the node for a target, as a client does. */
  ask(target: string, at = this.url): Promise<DemoAnswer> {
    const began = performance.now();
    return new Promise((resolve, reject) => {
      const request = get(at + target, { agent: false, timeout: ANSWER_MS }, (response) => {
        const pieces: Buffer[] = [];
        let firstByteMs: number | null = null;
        response.on('data', (piece: Buffer) => {
          firstByteMs ??= performance.now() - began;
          pieces.push(piece);
        });
        response.on('error', reject);
        response.on('end', () => {
          const totalMs = performance.now() - began;
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(pieces),
            cacheStatus: String(response.headers['cache-status'] ?? ''),
            firstByteMs: firstByteMs ?? totalMs,
            totalMs,
          });
        });
      });
      request.on('timeout', () =>
        request.destroy(new Error(`Cannot go on: expected an answer of ${this.name}`)),
      );
      request.on('error', reject);
    });
  }

  async status(): Promise<DemoStatus> {
    return JSON.parse((await this.ask('/.bloomery/status', this.#admin)).body.toString()) as DemoStatus;
  }

  /** Makes the node forget an object. */
  async purge(target: string): Promise<void> {
    const place = `${this.#admin}/.bloomery/purge?url=${encodeURIComponent(target)}`;
    const answer = await fetch(place, {
      method: 'POST',
      headers: { 'Bloomery-Admin': '1', Authorization: `Bearer ${this.#token}`, connection: 'close' },
    });
    await answer.arrayBuffer();
  }

  /** Ends the process at once, as a crash would. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}

function listening(child: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    const fail = (why: string) => {
      child.kill('SIGKILL');
      reject(new Error(`Cannot start ${name}: expected it to listen, got ${why}: ${said.join('\n')}`));
    };
    const timer = setTimeout(() => fail(`nothing for ${START_MS} ms`), START_MS);
    createInterface({ input: child.stderr! }).on('line', (line) => {
      said.push(line);
      if (!line.includes('"event":"listening"')) return;
      clearTimeout(timer);
      resolve();
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`its end (${code ?? signal})`);
    });
  });
}
