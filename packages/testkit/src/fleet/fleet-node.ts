/** One node of a fleet (fleet.ts). Its ports and files stay the same when it is started again. */

import { readFileSync } from 'node:fs';
import { type Agent, request } from 'node:http';
import { eventually, until } from '../eventually.ts';
import { type LogLine, NodeProcess } from '../programs/node-process.ts';

/** The parts of `/.bloomery/status` that tests of a fleet read. */
export interface FleetStatus {
  readonly originFetches: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly bytes: { readonly sent: number; readonly fromOrigins: number };
  readonly stores: Readonly<Record<string, FleetStoreStatus>>;
  readonly eventLoopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly cooperation: {
    readonly own: {
      readonly objects: number;
      readonly keys: readonly { readonly id: string; readonly objects: number }[];
      readonly generation: string;
      readonly updates: number;
      readonly bytesPublished: number;
      readonly ownerQuestions: number;
      readonly objectsServed: number;
      readonly bytesServed: number;
    };
    readonly peers: readonly FleetPeer[];
    readonly nats?: { readonly isConnected: boolean; readonly reconnects: number } | null;
    readonly multicast?: FleetMulticast | null;
    readonly groups?: FleetGroups | null;
  } | null;
}

/** The multicast group of a node. */
interface FleetMulticast {
  readonly isJoined: boolean;
  readonly why: string | null;
  readonly sent: number;
  readonly repeated: number;
  readonly fetched: number;
  readonly givenUp: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** The group of a node, and the others. */
export interface FleetGroups {
  readonly group: string;
  readonly leader: string | null;
  readonly epoch: number | null;
  readonly isLeader: boolean;
  readonly members: number;
  readonly ungrouped: number;
  readonly others: readonly {
    readonly group: string;
    readonly leader: string | null;
    readonly epoch: number | null;
    readonly members: number;
    readonly up: number;
    readonly isOwner: boolean;
  }[];
  readonly questions: number;
  readonly hits: number;
  readonly refused: number;
  readonly failed: number;
  readonly objectBytes: number;
  readonly fetched: number;
}

/** One tier of the store of a node. */
interface FleetStoreStatus {
  readonly responses: number;
  readonly bytes: number;
  readonly capacityBytes: number;
  readonly evictions: number;
  readonly refused: number;
  readonly copies: number;
  readonly copyBytes: number;
}

export interface FleetPeer {
  readonly address: string;
  readonly source: string;
  readonly id: string | null;
  readonly state: string;
  readonly masked: string | null;
  readonly objects: number;
  readonly generation: string | null;
  readonly keys: readonly {
    readonly id: string;
    readonly isUsed: boolean;
    readonly isShared: boolean;
    readonly objects: number | null;
  }[];
  readonly trueHits: number;
  readonly falseHits: number;
  readonly trueMisses: number;
  readonly falseMisses: number;
  readonly failures: number;
  readonly summaryBytes: number;
  readonly objectBytes: number;
}

export interface FleetNodeOptions {
  readonly index: number;
  readonly name: string;
  readonly port: number;
  readonly peerPort: number;
  readonly accessLog: string;
  readonly args: readonly string[];
  /** Words before its command that run it elsewhere, such as in a namespace. */
  readonly prefix?: readonly string[];
  /** An agent whose connections lead to the port for clients. Default: it is on loopback. */
  readonly agent?: Agent;
}

const STATUS_MS = 60_000;
const HEARD_MS = 30_000;

export class FleetNode {
  readonly index: number;
  readonly name: string;
  /** Port for clients. */
  readonly port: number;
  /** Port for neighbours. */
  readonly peerPort: number;
  readonly #options: FleetNodeOptions;
  #process: NodeProcess | null = null;
  #isServing = false;
  #kills = 0;

  constructor(options: FleetNodeOptions) {
    this.#options = options;
    this.index = options.index;
    this.name = options.name;
    this.port = options.port;
    this.peerPort = options.peerPort;
  }

  /** Starts the process, and waits until it listens. */
  async start(): Promise<void> {
    this.#process = new NodeProcess(this.#options.args, {}, this.#options.prefix);
    await this.#process.event('listening');
    this.#isServing = true;
  }

  /** The agent for its clients, if it is not on loopback. */
  get agent(): Agent | undefined {
    return this.#options.agent;
  }

  get isRunning(): boolean {
    return this.#process?.isRunning ?? false;
  }

  /** Whether it listens, and was not told to end. */
  get isServing(): boolean {
    return this.#isServing;
  }

  /** How often it was killed. A request that saw one may end in any way. */
  get kills(): number {
    return this.#kills;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** The log of the last start. */
  get log(): readonly LogLine[] {
    return this.#process?.log ?? [];
  }

  /** Output of the last start that is not its log: a stack, when it crashed. */
  get said(): readonly string[] {
    return this.#process?.said ?? [];
  }

  /** With workers, a node on a busy machine may say "ask again". Then it is asked again. */
  async status(): Promise<FleetStatus> {
    const ask = async () => {
      const { code, text } = await this.#admin('GET', '/.bloomery/status');
      return code < 500 && (JSON.parse(text) as FleetStatus);
    };
    return eventually(ask, STATUS_MS, `the status of ${this.name}`);
  }

  /** The neighbour with this name, as this node sees it. */
  async peer(name: string): Promise<FleetPeer | undefined> {
    return (await this.status()).cooperation?.peers.find(({ id }) => id === name);
  }

  /**
   * Waits until this node has heard of all objects that a neighbour offers: this number, if it is
   * given. It is for less than a few hundred objects, because a summary counts two that share a
   * position once.
   */
  async untilHeard(neighbour: FleetNode, objects?: number): Promise<void> {
    await until(
      `${this.name} to know of ${objects ?? 'all'} objects of ${neighbour.name}`,
      async () => {
        const own = (await neighbour.status()).cooperation?.own.objects;
        return (objects ?? own) === own && (await this.peer(neighbour.name))?.objects === own;
      },
      HEARD_MS,
    );
  }

  /** Removes the object with this path from this node. Returns how many responses there were. */
  async purge(path: string): Promise<number> {
    const target = `/.bloomery/purge?url=${encodeURIComponent(path)}`;
    const { text } = await this.#admin('POST', target);
    return (JSON.parse(text) as { purged: number }).purged;
  }

  /** Lines of the access log of all starts. A running node writes them once a second. */
  accessLog(): Record<string, unknown>[] {
    return readFileSync(this.#options.accessLog, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Sends SIGHUP, so that the node reads its settings and its secrets again. */
  reload(): void {
    process.kill(this.pid, 'SIGHUP');
  }

  /** Sends SIGKILL, and waits until the process is gone. */
  async kill(): Promise<void> {
    this.#isServing = false;
    this.#kills++;
    await this.#process?.kill();
  }

  /** Sends SIGTERM, and returns the exit code. */
  async stop(): Promise<number | string | undefined> {
    this.#isServing = false;
    return this.#process?.stop();
  }

  /** Asks an admin endpoint, on a connection of its own if the node is on loopback. */
  #admin(method: string, path: string): Promise<{ readonly code: number; readonly text: string }> {
    return new Promise((resolve, reject) => {
      const asked = request({
        host: '127.0.0.1',
        port: this.port,
        method,
        path,
        agent: this.agent ?? false,
        headers: { 'Bloomery-Admin': '1' },
        signal: AbortSignal.timeout(STATUS_MS),
      });
      asked.on('error', reject);
      asked.on('response', async (answer) => {
        const pieces: Buffer[] = [];
        try {
          for await (const piece of answer) pieces.push(piece);
          resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString() });
        } catch (error) {
          reject(error);
        }
      });
      asked.end();
    });
  }
}
