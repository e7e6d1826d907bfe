/**
 * A real bottleneck: two network namespaces with TUN devices, our router between them, and the
 * queue under trial in front of the link to the second. `iperf3` sends real TCP of the kernel, and
 * UDP that does not respond. All figures are counted where the packets leave and enter the queue.
 */

import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { until } from '@bloomery/testkit/eventually';
import { type Space, VirtualNetwork, whyNoNetwork } from '@bloomery/testkit/network/virtual-network';
import { IpItem } from '../../src/queues/ip-queue.ts';
import type { PacketQueue } from '../../src/queues/packet-queue.ts';
import type { LinkQueue, Parcel } from '../../src/routers/queued-link.ts';
import { Router } from '../../src/routers/router.ts';
import { machineClock } from '../../src/routers/router-clock.ts';
import { TunDevice } from '../../src/routers/tun-device.ts';

const run = promisify(execFile);
const UDP = 17;
/** The data of a packet of UDP that fills the MTU of 1400. */
const UDP_DATA = 1372;
/** Bytes of a flow that sends data. */
const LEAST_DATA = 5000;
/**
 * Sends packets of UDP at a constant rate until it is killed. Its arguments are the bytes of a
 * packet and the milliseconds between two. The UDP of iperf3 waits for an answer to its first
 * packet, which a full queue may have dropped. After a pause of the machine the program does not
 * make up for more than ten packets.
 */
const UDP_PROGRAM = `
const [bytes, gapMs] = process.argv.slice(1).map(Number);
const socket = require('node:dgram').createSocket('udp4');
const data = Buffer.alloc(bytes);
let next = performance.now();
setInterval(() => {
  const now = performance.now();
  next = Math.max(next, now - 10 * gapMs);
  for (; next <= now; next += gapMs) socket.send(data, 5202, '10.91.1.1', () => {});
}, 1);
`;

export interface RealLinkOptions {
  readonly queue: PacketQueue<IpItem>;
  readonly bitsPerSecond: number;
  /** Delay of each direction. */
  readonly delayMs: number;
  /** Whether the kernel asks for ECN on its connections. */
  readonly ecn: boolean;
}

export interface RealLoad {
  readonly tcpFlows: number;
  /** Bits per second of the flow that does not respond; 0: none. */
  readonly udpBitsPerSecond: number;
  readonly seconds: number;
  /** Time at the start that is not counted. */
  readonly warmUpSeconds: number;
}

export interface RealResult {
  /** Bits per second of each connection with data, the fastest first. */
  readonly tcp: readonly number[];
  readonly udp: number;
  readonly fairShare: number;
  readonly tcpLoss: number;
  readonly udpLoss: number;
  /** Share of the packets of TCP that left with a mark. */
  readonly tcpMarked: number;
  readonly utilization: number;
  readonly delayMs: { readonly mean: number; readonly p99: number };
}

/** The reason why no TUN device can be opened here, or null. */
export function whyNoTun(): string | null {
  const noNetwork = whyNoNetwork();
  if (noNetwork !== null) return noNetwork;
  if (!existsSync('/dev/net/tun')) return 'there is no /dev/net/tun';
  for (const [program, flag] of [
    ['perl', '-v'],
    ['iperf3', '-v'],
  ] as const) {
    try {
      execFileSync(program, [flag], { stdio: 'ignore' });
    } catch {
      return `${program} is not installed`;
    }
  }
  return null;
}

export class RealBottleneck implements AsyncDisposable {
  readonly #network: VirtualNetwork;
  readonly #router = new Router({ clock: machineClock });
  readonly #spaces: Space[] = [];
  readonly #devices: TunDevice[] = [];
  readonly #counts: QueueCounts;
  readonly #options: RealLinkOptions;

  private constructor(network: VirtualNetwork, options: RealLinkOptions) {
    this.#network = network;
    this.#options = options;
    this.#counts = new QueueCounts(options.queue);
  }

  static async start(options: RealLinkOptions): Promise<RealBottleneck> {
    const line = new RealBottleneck(await VirtualNetwork.start(0), options);
    const { bitsPerSecond, delayMs, ecn } = options;
    for (const [i, id] of ['a', 'b'].entries()) {
      const space = await line.#network.plugIn(id, []);
      line.#spaces.push(space);
      await inside(space, 'sysctl', '-q', '-w', `net.ipv4.tcp_ecn=${ecn ? 1 : 0}`);
      const { prefix } = space;
      const device = await TunDevice.open({ name: 'tun0', addresses: [`10.91.${i}.1/16`], prefix });
      line.#devices.push(device);
      const port = line.#router.attach(
        device,
        i === 1 ? { delayMs, bitsPerSecond, queue: line.#counts } : { delayMs },
      );
      device.onPacket((packet) => line.#router.receive(port, packet));
      line.#router.route(`10.91.${i}.0/24`, port);
    }
    return line;
  }

  async load({ tcpFlows, udpBitsPerSecond, seconds, warmUpSeconds }: RealLoad): Promise<RealResult> {
    // The programs are ended, so this is only longer than anything that is measured.
    const ever = ['-t', '3600'];
    const programs = [await this.#iperf(5201, ['-P', `${tcpFlows}`, ...ever])];
    try {
      // The times count from the moment at which all flows send: programs start late on a busy
      // machine, and a flood would keep connections from opening.
      await until('data of all connections', () => this.#counts.flowsOf('tcp') >= tcpFlows);
      if (udpBitsPerSecond > 0) {
        programs.push(this.#flood(udpBitsPerSecond));
        await until('packets of UDP', () => this.#counts.flowsOf('udp') >= 1);
      }
      await wait(1000 * warmUpSeconds);
      this.#counts.reset();
      const fromMs = machineClock.monotonic();
      await wait(1000 * seconds);
      return this.#resultOf(machineClock.monotonic() - fromMs, tcpFlows + Number(udpBitsPerSecond > 0));
    } finally {
      for (const end of programs) await end();
    }
  }

  #resultOf(ms: number, flows: number): RealResult {
    const { bitsPerSecond } = this.#options;
    const { bytes, arrived, dropped, left, marked, delaysMs } = this.#counts;
    const rate = (count: number) => (8000 * count) / ms;
    const entries = [...bytes].sort(([, a], [, b]) => b - a);
    const isUdp = (flow: string) => flow.charCodeAt(0) === UDP;
    const delays = delaysMs.sort((a, b) => a - b);
    const sum = entries.reduce((total, [, count]) => total + count, 0);
    return {
      tcp: entries.filter(([flow]) => !isUdp(flow)).map(([, count]) => rate(count)),
      udp: rate(entries.find(([flow]) => isUdp(flow))?.[1] ?? 0),
      fairShare: bitsPerSecond / flows,
      tcpLoss: dropped.tcp / Math.max(1, arrived.tcp),
      udpLoss: dropped.udp / Math.max(1, arrived.udp),
      tcpMarked: marked / Math.max(1, left.tcp),
      utilization: rate(sum) / bitsPerSecond,
      delayMs: {
        mean: delays.reduce((total, one) => total + one, 0) / Math.max(1, delays.length),
        p99: delays[Math.floor(0.99 * delays.length)] ?? 0,
      },
    };
  }

  /** Starts the flow that does not respond. Returns a function that ends it. */
  #flood(bitsPerSecond: number): () => Promise<void> {
    // With its headers, as the queue counts them.
    const gapMs = (8000 * (UDP_DATA + 28)) / bitsPerSecond;
    const [program, ...words] = [...this.#spaces[0]!.prefix, process.execPath, '-e', UDP_PROGRAM];
    const child = spawn(program!, [...words, `${UDP_DATA}`, `${gapMs}`], { stdio: 'ignore' });
    const ended = once(child, 'exit');
    return async () => {
      child.kill('SIGKILL');
      await ended;
    };
  }

  /** Starts a server and its client. Returns a function that ends both. */
  async #iperf(port: number, words: readonly string[]): Promise<() => Promise<void>> {
    const [a, b] = this.#spaces;
    const start = (space: Space, ...command: string[]) => {
      const [program, ...rest] = [...space.prefix, 'iperf3', '-p', `${port}`, ...command];
      const child = spawn(program!, rest, { stdio: ['ignore', 'pipe', 'ignore'] });
      return { child, ended: once(child, 'exit') };
    };
    const server = start(b!, '-s', '-1', '--forceflush');
    await once(server.child.stdout, 'data'); // it listens
    server.child.stdout.resume();
    const client = start(a!, '-c', '10.91.1.1', ...words);
    client.child.stdout.resume();
    return async () => {
      for (const { child, ended } of [client, server]) {
        child.kill('SIGKILL');
        await ended;
      }
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#router.close();
    for (const device of this.#devices) await device[Symbol.asyncDispose]();
    await this.#network[Symbol.asyncDispose]();
  }
}

/** The queue with its counts, from the last `reset` on. */
class QueueCounts implements LinkQueue {
  /** Bytes that left, by flow. */
  bytes = new Map<string, number>();
  arrived = { tcp: 0, udp: 0 };
  dropped = { tcp: 0, udp: 0 };
  left = { tcp: 0, udp: 0 };
  marked = 0;
  delaysMs: number[] = [];
  readonly #queue: PacketQueue<IpItem>;
  readonly #sinceMs = new WeakMap<IpItem, number>();

  constructor(queue: PacketQueue<IpItem>) {
    this.#queue = queue;
  }

  reset(): void {
    this.bytes = new Map();
    this.arrived = { tcp: 0, udp: 0 };
    this.dropped = { tcp: 0, udp: 0 };
    this.left = { tcp: 0, udp: 0 };
    this.marked = 0;
    this.delaysMs = [];
  }

  /** Flows that have sent data, and not only messages of iperf3 about it. */
  flowsOf(kind: 'tcp' | 'udp'): number {
    const isOf = ([flow, count]: [string, number]) =>
      (flow.charCodeAt(0) === UDP) === (kind === 'udp') && count > LEAST_DATA;
    return [...this.bytes].filter(isOf).length;
  }

  offer(parcel: Parcel, nowMs: number): number {
    const item = new IpItem(parcel);
    this.#sinceMs.set(item, nowMs);
    const dropped = this.#queue.enqueue(item, nowMs);
    this.arrived[kindOf(item)]++;
    for (const one of dropped) this.dropped[kindOf(one)]++;
    return dropped.length;
  }

  take(nowMs: number): Parcel | null {
    const item = this.#queue.dequeue(nowMs);
    if (item === null) return null;
    const { parcel, flow, byteLength } = item;
    this.bytes.set(flow, (this.bytes.get(flow) ?? 0) + byteLength);
    this.left[kindOf(item)]++;
    if (kindOf(item) === 'tcp' && (parcel.packet[1]! & 3) === 3) this.marked++;
    this.delaysMs.push(nowMs - this.#sinceMs.get(item)!);
    return parcel;
  }
}

function kindOf({ flow }: IpItem): 'tcp' | 'udp' {
  return flow.charCodeAt(0) === UDP ? 'udp' : 'tcp';
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => machineClock.after(ms, resolve));
}

function inside(space: Space, ...command: string[]): Promise<{ stdout: string; stderr: string }> {
  const [program, ...words] = [...space.prefix, ...command];
  return run(program!, words, { timeout: 120_000 });
}
