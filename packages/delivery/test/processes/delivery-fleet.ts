/**
 * A fleet of node processes that fetch one file from one origin, over links that each process
 * limits itself: bytes per second sent, bytes per second fetched. Used by the test of this folder
 * and by bench/delivery. The origin counts what it sends.
 *
 * The limits are those of the processes and not of `tbf` in network namespaces: they need no root,
 * and the kernel's path through veth pairs would cost the CPU that 20 nodes on two cores lack.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { knownBody, knownPath } from '@bloomery/testkit/origins/known-body';
import { ThrottledOrigin } from '@bloomery/testkit/origins/throttled-origin';
import type { FetchLimits } from '../../src/index.ts';

const PROGRAM = fileURLToPath(new URL('deliver.mjs', import.meta.url));

export interface DeliveryFleetOptions {
  readonly nodes: number;
  readonly bytes: number;
  /** Bytes per second of the origin, and of each node in each direction. */
  readonly bytesPerSecond: number;
  readonly lingerMs?: number;
  /** Limits of the fetch that differ from the defaults. */
  readonly limits?: Partial<FetchLimits>;
}

/** A line of a node. */
export interface NodeEvent {
  readonly event: string;
  readonly ms: number;
  readonly [field: string]: unknown;
}

export class NodeOfFleet {
  readonly child: ChildProcess;
  readonly path: string;
  readonly events: NodeEvent[] = [];
  readonly gone: Promise<void>;
  /** The exit code or the signal, once the process has ended. */
  ending: string | null = null;
  readonly address: Promise<string>;

  constructor(options: { readonly path: string; readonly [option: string]: unknown }, heard: () => void) {
    this.path = options.path;
    this.child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.gone = new Promise((resolve) =>
      this.child.once('close', (code, signal) => {
        this.ending = signal ?? `code ${code}`;
        resolve();
        heard();
      }),
    );
    this.child.stdin!.on('error', () => {});
    this.address = new Promise((resolve, reject) => {
      createInterface({ input: this.child.stdout! }).on('line', (line) => {
        const event: NodeEvent = { ...(JSON.parse(line) as NodeEvent), ms: performance.now() };
        this.events.push(event);
        if (event.event === 'listening') resolve(event.address as string);
        heard();
      });
      this.child.once('close', () => reject(new Error('Cannot start a node: it ended before it listened')));
    });
  }

  event(name: string): NodeEvent | undefined {
    return this.events.findLast(({ event }) => event === name);
  }

  get isDone(): boolean {
    return this.event('done') !== undefined;
  }

  /** The reason why this node will not go on, or null. A process may end without any event. */
  get fault(): string | null {
    const failed = this.event('failed');
    if (failed !== undefined) return String(failed.message);
    if (this.ending === null || this.event('end') !== undefined) return null;
    const last = this.events.at(-1)?.event ?? 'no event';
    return `its process ended with ${this.ending} after ${last}`;
  }
}

/** The figures of a run. */
export interface FleetFigures {
  readonly survivors: number;
  /** Time of one download over one link, and until the last survivor was done. */
  readonly oneMs: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly originCopies: number;
  /** Bytes that came and were not needed, by bytes of all files. */
  readonly wasted: number;
  readonly cpuMsPerNode: number;
  readonly rightFiles: number;
}

export class DeliveryFleet implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'delivery-fleet-'));
  readonly digest: string;
  readonly body: Buffer;
  readonly nodes: NodeOfFleet[] = [];
  readonly #options: DeliveryFleetOptions;
  readonly #origin: ThrottledOrigin;
  readonly #path: string;
  readonly #killed = new Set<NodeOfFleet>();
  #watchers: (() => void)[] = [];
  #began = 0;

  private constructor(options: DeliveryFleetOptions, origin: ThrottledOrigin) {
    this.#options = options;
    this.#origin = origin;
    this.#path = knownPath('fleet', options.bytes);
    this.body = knownBody(this.#path);
    this.digest = createHash('sha256').update(this.body).digest('hex');
  }

  /** Starts the origin and the nodes, which wait until `begin`. */
  static async start(options: DeliveryFleetOptions): Promise<DeliveryFleet> {
    const origin = await ThrottledOrigin.start({ bytesPerSecond: options.bytesPerSecond });
    const fleet = new DeliveryFleet(options, origin);
    for (let i = 0; i < options.nodes; i++) fleet.add(i);
    try {
      await Promise.all(fleet.nodes.map(({ address }) => address));
    } catch (error) {
      await fleet[Symbol.asyncDispose]();
      throw error;
    }
    return fleet;
  }

  get originUrl(): string {
    return `${this.#origin.url}${this.#path}`;
  }

  get survivors(): NodeOfFleet[] {
    return this.nodes.filter((node) => !this.#killed.has(node));
  }

  add(number: number): NodeOfFleet {
    const { bytesPerSecond, lingerMs = 60_000, limits = {} } = this.#options;
    const { digest, originUrl: origin } = this;
    const path = join(this.folder, `node-${number}`);
    const link = { up: bytesPerSecond, down: bytesPerSecond };
    const node = new NodeOfFleet({ digest, path, origin, lingerMs, limits, ...link }, () => {
      for (const watcher of this.#watchers) watcher();
    });
    this.nodes.push(node);
    return node;
  }

  /** Tells all nodes of all others, and of further peers. */
  async begin(further: readonly string[] = []): Promise<void> {
    const addresses = [...(await Promise.all(this.nodes.map(({ address }) => address))), ...further];
    this.#began = performance.now();
    for (const { child } of this.nodes) child.stdin!.write(`${JSON.stringify(addresses)}\n`);
  }

  /** Waits until a condition holds that an event of a node may change. */
  async when(condition: () => boolean): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const watcher = () => {
        const fault = this.#fault;
        if (fault !== undefined) reject(fault);
        else if (condition()) resolve();
        else return;
        this.#watchers = this.#watchers.filter((other) => other !== watcher);
      };
      this.#watchers.push(watcher);
      watcher();
    });
  }

  get #fault(): Error | undefined {
    const [reason] = this.survivors.flatMap(({ fault }) => fault ?? []);
    return reason === undefined ? undefined : new Error(`Cannot fetch: a node failed: ${reason}`);
  }

  /** Ends nodes without a word. */
  async kill(nodes: readonly NodeOfFleet[]): Promise<void> {
    for (const node of nodes) {
      this.#killed.add(node);
      node.child.kill('SIGKILL');
    }
    await Promise.all(nodes.map(({ gone }) => gone));
  }

  /** Shares of the file over time, by node: milliseconds since `begin`, share. */
  get curves(): [number, number][][] {
    return this.nodes.map(({ events }) =>
      events
        .filter(({ event }) => event === 'progress')
        .map(({ ms, hasBlocks, blocks }) => [ms - this.#began, Number(hasBlocks) / Number(blocks)]),
    );
  }

  /** Waits until all survivors are done and have ended. */
  async finish(): Promise<FleetFigures> {
    await this.when(() => this.survivors.every(({ isDone }) => isDone));
    await Promise.all(this.survivors.map(({ gone }) => gone));
    if (this.#fault !== undefined) throw this.#fault;
    const { bytes, bytesPerSecond } = this.#options;
    const { survivors } = this;
    const times = survivors.map((node) => node.event('done')!.ms - this.#began);
    const sum = (field: string, event = 'done') =>
      survivors.reduce((total, node) => total + Number(node.event(event)?.[field] ?? 0), 0);
    return {
      survivors: survivors.length,
      oneMs: (1000 * bytes) / bytesPerSecond,
      firstMs: Math.min(...times),
      lastMs: Math.max(...times),
      originCopies: this.#origin.requests.reduce((total, request) => total + request.bytes, 0) / bytes,
      wasted: sum('wastedBytes') / (bytes * survivors.length),
      cpuMsPerNode: sum('cpuMs', 'end') / survivors.length,
      rightFiles: survivors.filter(({ path }) => existsSync(path) && readFileSync(path).equals(this.body))
        .length,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of this.nodes) child.kill('SIGKILL');
    await Promise.all(this.nodes.map(({ gone }) => gone));
    await this.#origin[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
