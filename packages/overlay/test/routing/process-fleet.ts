/**
 * Route nodes in processes of their own, over HTTP or over a NATS server, in two halves that can be
 * cut from each other. Over HTTP the members of the other half are reached through relays; over
 * NATS each half has a relay to the server, and one of them is cut.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import type { Located } from '../../src/routing/index.ts';

const PROGRAM = fileURLToPath(new URL('run-daemon.mjs', import.meta.url));
const SECRET = '000102030405060708090a0b0c0d0e0f1011121314151617';

export interface DaemonStatus {
  readonly members: readonly { readonly id: string | null; readonly state: string }[];
  readonly neighbours: readonly string[];
  readonly publishedBytes: number;
  readonly stateBytes: number;
}

export class FleetProcess {
  readonly id: string;
  readonly child: ChildProcess;
  control = '';
  peerPort: number | null = null;

  constructor(id: string, options: object) {
    this.id = id;
    this.child = spawn(process.execPath, [PROGRAM, JSON.stringify({ id, secret: SECRET, ...options })], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
  }

  async listening(): Promise<void> {
    for await (const line of createInterface({ input: this.child.stdout! })) {
      const { control, peerPort } = JSON.parse(line) as { control: string; peerPort: number | null };
      this.control = control;
      this.peerPort = peerPort;
      return;
    }
    throw new Error(`Cannot start ${this.id}: expected a line with its ports, got the end of the process`);
  }

  async announce(key: string): Promise<boolean> {
    return ((await this.#ask('POST', 'announce', key)) as { settled: boolean }).settled;
  }

  async withdraw(key: string): Promise<boolean> {
    return ((await this.#ask('POST', 'withdraw', key)) as { settled: boolean }).settled;
  }

  async locate(key: string): Promise<Located> {
    return (await this.#ask('GET', 'locate', key)) as Located;
  }

  async status(): Promise<DaemonStatus> {
    return (await this.#ask('GET', 'status', '')) as DaemonStatus;
  }

  /** Ends the process without a word, as `kill -9` does. */
  kill(): void {
    this.child.kill('SIGKILL');
  }

  async #ask(method: string, path: string, key: string): Promise<unknown> {
    const headers: Record<string, string> = method === 'POST' ? { 'Bloomery-Admin': '1' } : {};
    const response = await fetch(`${this.control}/${path}?key=${encodeURIComponent(key)}`, {
      method,
      headers,
    });
    return await response.json();
  }
}

export class ProcessFleet implements AsyncDisposable {
  readonly nodes: readonly FleetProcess[];
  readonly #relays: TcpRelay[];
  readonly #server: NatsServer | null;

  private constructor(nodes: readonly FleetProcess[], relays: TcpRelay[], server: NatsServer | null) {
    this.nodes = nodes;
    this.#relays = relays;
    this.#server = server;
  }

  static async start(count: number, over: 'http' | 'nats', options: object): Promise<ProcessFleet> {
    const server = over === 'nats' ? await NatsServer.start() : null;
    const relays: TcpRelay[] = [];
    if (server !== null) relays.push(await TcpRelay.start({ target: server.port }));
    const half = (number: number) => (number < count / 2 ? 0 : 1);
    const nodes = Array.from({ length: count }, (_, number) => {
      const port = half(number) === 1 ? relays[0]?.port : server?.port;
      const nats = server === null ? {} : { nats: `nats://127.0.0.1:${port}` };
      return new FleetProcess(`n${number}`, { listen: { host: '127.0.0.1', port: 0 }, ...options, ...nats });
    });
    await Promise.all(nodes.map((node) => node.listening()));
    if (server === null) {
      for (const { peerPort } of nodes) relays.push(await TcpRelay.start({ target: peerPort! }));
      for (const [number, { child }] of nodes.entries()) {
        const peers = nodes.flatMap(({ peerPort }, other) => {
          if (other === number) return [];
          const port = half(other) === half(number) ? peerPort : relays[other].port;
          return [`http://127.0.0.1:${port}`];
        });
        child.stdin!.write(`${JSON.stringify(peers)}\n`);
      }
    }
    return new ProcessFleet(nodes, relays, server);
  }

  /** Cuts the two halves from each other. */
  partition(): void {
    for (const relay of this.#relays) {
      relay.setFaults({ refuse: true });
      relay.cut();
    }
  }

  heal(): void {
    for (const relay of this.#relays) relay.setFaults();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.nodes) child.kill('SIGKILL');
    for (const relay of this.#relays) await relay[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
  }
}
