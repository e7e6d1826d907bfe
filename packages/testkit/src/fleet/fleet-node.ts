/** One node of a fleet (fleet.ts). Its ports and files stay the same when it is started again. */

import { readFileSync } from 'node:fs';
import { until } from '../eventually.ts';
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
      readonly updates: number;
      readonly bytesPublished: number;
      readonly ownerQuestions: number;
      readonly objectsServed: number;
      readonly bytesServed: number;
    };
    readonly peers: readonly FleetPeer[];
  } | null;
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
}

const STATUS_MS = 10_000;
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

  constructor(options: FleetNodeOptions) {
    this.#options = options;
    this.index = options.index;
    this.name = options.name;
    this.port = options.port;
    this.peerPort = options.peerPort;
  }

  /** Starts the process, and waits until it listens. */
  async start(): Promise<void> {
    this.#process = new NodeProcess(this.#options.args);
    await this.#process.event('listening');
  }

  get isRunning(): boolean {
    return this.#process?.isRunning ?? false;
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

  async status(): Promise<FleetStatus> {
    const response = await fetch(`http://127.0.0.1:${this.port}/.bloomery/status`, {
      headers: { connection: 'close' },
      signal: AbortSignal.timeout(STATUS_MS),
    });
    return (await response.json()) as FleetStatus;
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
    const place = `http://127.0.0.1:${this.port}/.bloomery/purge?url=${encodeURIComponent(path)}`;
    const answer = await fetch(place, {
      method: 'POST',
      headers: { 'Bloomery-Admin': '1', connection: 'close' },
    });
    const { purged } = (await answer.json()) as { purged: number };
    return purged;
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
    await this.#process?.kill();
  }

  /** Sends SIGTERM, and returns the exit code. */
  async stop(): Promise<number | string | undefined> {
    return this.#process?.stop();
  }
}
