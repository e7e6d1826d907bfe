/**
 * Our routers with the kernel's own packets: real `ping` and `iperf3` in network namespaces, TUN
 * devices and UDP between routers. The kernel counts the datagrams as well (a rule of nft), so the
 * number of hops does not rest on our own counters.
 *
 * It needs root, /dev/net/tun, Perl, ping and iperf3. Without them the tests say what is missing;
 * the decisions are tested without a network in src/routers.
 */

import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { SpaceSockets } from '@bloomery/testkit/network/space-sockets';
import { type Space, VirtualNetwork, whyNoNetwork } from '@bloomery/testkit/network/virtual-network';
import { describe, expect, test } from 'vitest';
import { CaptureWriter } from '../../src/capture/index.ts';
import { LoopDetector } from '../../src/loops/loop-detector.ts';
import { PathShim } from '../../src/loops/path-shim.ts';
import { Router, type RouterOptions } from '../../src/routers/router.ts';
import { machineClock } from '../../src/routers/router-clock.ts';
import { TunDevice } from '../../src/routers/tun-device.ts';
import { UdpPorts } from '../../src/routers/udp-ports.ts';
import { eachBatch } from '../loops/build-capture.ts';

const run = promisify(execFile);
const PORT = 4791;
const why = whyNoTun();

describe.skipIf(why !== null)(`real networks${why === null ? '' : ` (skipped: ${why})`}`, () => {
  test('ping reaches another host through our router, with a lower TTL and the delay of the link', async () => {
    await using line = await LineOfTwo.start({ delayMs: 15 });
    const output = await line.ping(10, 0.05);
    expect(output).toContain('10 packets transmitted, 10 received, 0% packet loss');
    expect(output).toContain('ttl=63');
    // Two links of 15 ms there and back; there is no upper bound on a busy machine.
    expect(Number(/min\/avg\/max\/mdev = ([\d.]+)/.exec(output)?.[1])).toBeGreaterThanOrEqual(30);
    expect(line.router.counts).toMatchObject({ sent: 20, dropped: { lost: 0, ttl: 0, malformed: 0 } });
    expect(line.recorded).toBe(20);
  });

  test('ping misses as many answers as the router says that it lost', async () => {
    await using line = await LineOfTwo.start({ loss: 0.25 });
    const output = await line.ping(40, 0.02);
    const [, sent, received] = /(\d+) packets transmitted, (\d+) received/.exec(output) ?? [];
    const { lost } = line.router.counts.dropped;
    // 40 packets that all survive a loss of a quarter: once in 100,000 runs.
    expect(lost).toBeGreaterThan(0);
    expect([Number(sent), Number(received) + lost]).toEqual([40, 40]);
  });

  test('iperf3 sends TCP through the router, and each of its packets is recorded', async () => {
    await using line = await LineOfTwo.start({});
    const bytes = 2_000_000;
    const result = await line.iperf(bytes);
    const { sum_sent: out, sum_received: arrived } = result.end;
    expect(out.bytes).toBeGreaterThanOrEqual(bytes);
    // The sender stops when it has sent, and some bytes are then still under way.
    expect(arrived.bytes).toBeGreaterThan(bytes / 4);
    const { sent, dropped } = line.router.counts;
    expect(sent).toBeGreaterThan(arrived.bytes / 1400);
    expect(line.recorded).toBe(sent + dropped.lost + dropped.queue);
    expect(dropped.malformed).toBe(0);
  });

  test('a TUN device drops packets when too many wait, and takes them again afterwards', async () => {
    await using line = await LineOfTwo.start({});
    const packet = new Uint8Array(1400).fill(0x45, 0, 1);
    // All at once: its program cannot read before this function returns.
    for (let i = 0; i < 2000; i++) line.devices[1]!.send(packet);
    expect(line.devices[1]!.dropped).toBeGreaterThan(2000 - (2 * 2 ** 20) / 1400);
    expect(await line.ping(3, 0.05)).toContain('3 received');
  });

  test.each([
    ['TTL alone ends a packet after 63 datagrams', undefined, 63],
    ['the filter ends it when it comes back', 1, 3],
    ['the filter with two repetitions ends it one router later', 2, 4],
  ])('three routers that route in a circle: %s, in IPv4 and IPv6', async (_, repeats, hops) => {
    await using ring = await RingOfThree.start(repeats);
    const pings = 5;
    const reason = repeats === undefined ? 'ttl' : 'loop';
    for (const [i, destination] of ['10.92.0.9', 'fd92::9'].entries()) {
      const total = (i + 1) * pings;
      await ring.pingLoop(pings, destination);
      await ring.quiet(total);
      expect(await ring.datagramsByKernel()).toBe(total * hops);
      expect(ring.drops(reason)).toBe(total);
    }
    // A loop of 3 routers and r = 1 or 2: the packet ends in its second turn.
    if (repeats !== undefined) expect(hops).toBeLessThan(2 * 3);
  });

  test('LoopDetector finds real loops of IPv4 and IPv6 in the packets that one router saw', async () => {
    await using ring = await RingOfThree.start(undefined);
    for (const [i, destination] of ['10.92.0.9', 'fd92::9'].entries()) {
      await ring.pingLoop(3, destination);
      await ring.quiet(3 * (i + 1));
    }
    // Answered pings of the same routers are no loop.
    expect(await ring.pingFar(3, 'fd91:0:0:2::1')).toContain('3 received');
    const detector = new LoopDetector();
    eachBatch(ring.captured(), (batch, headers) => detector.take(batch, headers));
    // The router sends each packet 21 times, and the first two do not count.
    expect(detector.counts).toMatchObject({ looping: 2 * 3 * 19 });
    const loop = { packets: 3, sightings: 57, length: 3, highestTtl: 63, lowestTtl: 3 };
    expect(detector.loops().sort((a, b) => a.version - b.version)).toMatchObject([
      { version: 4, destination: [0x0a5c0009], prefixBits: 32, ...loop },
      { version: 6, destination: [0xfd920000, 0, 0, 9], prefixBits: 128, ...loop },
    ]);
  });

  test('the filter lets packets through that do not loop', async () => {
    await using ring = await RingOfThree.start(1);
    for (const address of ['10.91.2.1', 'fd91:0:0:2::1']) {
      const output = await ring.pingFar(20, address);
      expect(output).toContain('20 packets transmitted, 20 received, 0% packet loss');
      // Two routers forward, so 64 - 3 is left: the first, the second and the third one lower it.
      expect(output).toContain('ttl=61');
    }
    expect(ring.drops('loop')).toBe(0);
  });
});

/** Two hosts, each a namespace with a TUN device, and one router between them. */
class LineOfTwo implements AsyncDisposable {
  readonly router: Router;
  recorded = 0;
  readonly #network: VirtualNetwork;
  readonly #spaces: Space[] = [];
  readonly devices: TunDevice[] = [];

  private constructor(network: VirtualNetwork) {
    this.#network = network;
    this.router = new Router({
      clock: machineClock,
      record: (packet) => {
        if (packet[0]! >> 4 === 4) this.recorded++;
      },
    });
  }

  static async start(link: { delayMs?: number; loss?: number }): Promise<LineOfTwo> {
    const line = new LineOfTwo(await VirtualNetwork.start(0));
    for (const [i, id] of ['a', 'b'].entries()) {
      const space = await line.#network.plugIn(id, []);
      const { prefix } = space;
      const device = await TunDevice.open({ name: 'tun0', addresses: [`10.91.${i}.1/16`], prefix });
      // Only the way to b loses packets, so that each loss is one answer less.
      const port = line.router.attach(device, i === 1 ? link : { ...link, loss: 0 });
      device.onPacket((packet) => line.router.receive(port, packet));
      line.router.route(`10.91.${i}.0/24`, port);
      line.#spaces.push(space);
      line.devices.push(device);
    }
    return line;
  }

  ping(count: number, intervalS: number): Promise<string> {
    return ping(this.#spaces[0]!, '10.91.1.1', ['-c', `${count}`, '-i', `${intervalS}`, '-W', '5']);
  }

  async iperf(bytes: number): Promise<{ end: Record<'sum_sent' | 'sum_received', { bytes: number }> }> {
    const [a, b] = this.#spaces;
    const [program, ...words] = [...b!.prefix, 'iperf3', '-s', '-1', '--forceflush'];
    const server = spawn(program!, words, { stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = once(server, 'exit');
    await once(server.stdout, 'data'); // it listens
    const { stdout } = await inside(a!, 'iperf3', '-J', '-c', '10.91.1.1', '-n', `${bytes}`);
    await ended;
    return JSON.parse(stdout);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.router.close();
    for (const device of this.devices) await device[Symbol.asyncDispose]();
    await this.#network[Symbol.asyncDispose]();
  }
}

/**
 * Three routers, each in a namespace of its own with a TUN device and a UDP socket on a common
 * network. Packets to 10.92.0.0/16 and fd92::/16 go around in a circle; 10.91.N.0/24 and
 * fd91:0:0:N::/64 are behind router N.
 */
class RingOfThree implements AsyncDisposable {
  readonly #network: VirtualNetwork;
  readonly #spaces: Space[] = [];
  readonly #routers: Router[] = [];
  /** IP packets that router 0 sent, for `captured`. */
  readonly #record: Uint8Array[] = [];
  readonly #closing: (() => unknown)[] = [];

  private constructor(network: VirtualNetwork) {
    this.#network = network;
  }

  static async start(repeats: number | undefined): Promise<RingOfThree> {
    const ring = new RingOfThree(await VirtualNetwork.start());
    for (let i = 0; i < 3; i++) ring.#spaces.push(await ring.#network.plugIn(`r${i}`));
    for (let i = 0; i < 3; i++) await ring.#addRouter(i, repeats);
    return ring;
  }

  async #addRouter(i: number, repeats: number | undefined): Promise<void> {
    const space = this.#spaces[i]!;
    await inside(
      space,
      'nft',
      'add table inet count; add chain inet count in { type filter hook input priority -10; }',
    );
    await inside(space, 'nft', `add rule inet count in udp dport ${PORT} counter`);
    const shim =
      repeats === undefined
        ? undefined
        : new PathShim({ node: `r${i}`, bits: 64, hashes: 4, repeats, random: machineClock.random });
    const router = new Router({
      clock: machineClock,
      ...(shim && { shim }),
      ...(i === 0 && { record: (packet: Uint8Array) => this.#record.push(packet.slice()) }),
    } satisfies RouterOptions);
    const { prefix } = space;
    const addresses = [`10.91.${i}.1/24`, `fd91:0:0:${i}::1/64`];
    const device = await TunDevice.open({ name: 'tun0', addresses, prefix });
    for (const route of ['10.92.0.0/16', '10.91.0.0/16', 'fd92::/16', 'fd91::/48'])
      await inside(space, 'ip', 'route', 'add', route, 'dev', 'tun0');
    const host = router.attach(device);
    device.onPacket((packet) => router.receive(host, packet));
    const sockets = new SpaceSockets(space);
    const socket = await sockets.datagrams({ host: space.addresses[0]!, port: PORT });
    const ports = new UdpPorts(socket);
    const peer = (j: number) => {
      const address = { host: this.#spaces[j]!.addresses[0]!, port: PORT };
      const port: number = router.attach(
        ports.to(address, (bytes) => router.receive(port, bytes)),
        { isRouter: true },
      );
      return port;
    };
    const [next, last] = [peer((i + 1) % 3), peer((i + 2) % 3)];
    for (const prefix of ['10.92.0.0/16', 'fd92::/16']) router.route(prefix, next);
    // The way from router 0 to the hosts of router 2 leads over router 1, and back.
    for (const prefix of ['10.91.0.0/16', 'fd91::/48']) router.route(prefix, i === 2 ? last : next);
    if (i === 1) for (const prefix of ['10.91.0.0/24', 'fd91::/64']) router.route(prefix, last);
    for (const prefix of [`10.91.${i}.0/24`, `fd91:0:0:${i}::/64`]) router.route(prefix, host);
    this.#routers.push(router);
    this.#closing.push(
      () => socket.close(),
      () => sockets[Symbol.asyncDispose](),
      () => router.close(),
      () => device[Symbol.asyncDispose](),
    );
  }

  /** Sends pings that can never be answered. ping then ends with exit code 1. */
  async pingLoop(count: number, destination: string): Promise<void> {
    const words = ['-c', `${count}`, '-i', '0.05', '-W', '0.2', '-n', destination];
    await inside(this.#spaces[0]!, 'ping', ...words).catch(({ code }) => expect(code).toBe(1));
  }

  pingFar(count: number, address: string): Promise<string> {
    return ping(this.#spaces[0]!, address, ['-c', `${count}`, '-i', '0.05', '-W', '5']);
  }

  /** The packets that router 0 sent, as a capture of raw IP. */
  captured(): Uint8Array {
    const writer = new CaptureWriter({ format: 'pcap' });
    for (const [i, bytes] of this.#record.entries())
      writer.add({ seconds: 1, nanoseconds: i, bytes, linkType: 101 });
    return writer.take();
  }

  /** Waits until all packets have ended. */
  async quiet(packets: number): Promise<void> {
    const deadline = machineClock.monotonic() + 60_000;
    while (this.drops('ttl') + this.drops('loop') < packets && machineClock.monotonic() < deadline)
      await new Promise((resolve) => setImmediate(resolve));
  }

  drops(reason: 'ttl' | 'loop'): number {
    return this.#routers.reduce((sum, { counts }) => sum + counts.dropped[reason], 0);
  }

  async datagramsByKernel(): Promise<number> {
    let total = 0;
    for (const space of this.#spaces) {
      const { stdout } = await inside(space, 'nft', 'list', 'table', 'inet', 'count');
      total += Number(/counter packets (\d+)/.exec(stdout)?.[1]);
    }
    return total;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing) await close();
    await this.#network[Symbol.asyncDispose]();
  }
}

async function ping(space: Space, address: string, words: readonly string[]): Promise<string> {
  // With answers missing it ends with exit code 1, and prints its summary all the same.
  const { stdout } = await inside(space, 'ping', '-n', ...words, address).catch((error) => error);
  return stdout;
}

function inside(space: Space, ...command: string[]): Promise<{ stdout: string; stderr: string }> {
  const [program, ...words] = [...space.prefix, ...command];
  return run(program!, words, { timeout: 60_000 });
}

/** The reason why no TUN device can be opened here, or null. */
function whyNoTun(): string | null {
  const noNetwork = whyNoNetwork();
  if (noNetwork !== null) return noNetwork;
  if (!existsSync('/dev/net/tun')) return 'there is no /dev/net/tun';
  for (const [program, flag] of [
    ['perl', '-v'],
    ['ping', '-V'],
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
