/**
 * Multicast with the kernel's own packets: hosts in network namespaces join groups on TUN devices
 * and receive UDP that our router forwards by filters. Copies are counted by the kernel of the
 * receiving host (`ip -s link`), so surplus does not rest on our own counters.
 */

import { execFile } from 'node:child_process';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { until } from '@bloomery/testkit/eventually';
import { SpaceSockets } from '@bloomery/testkit/network/space-sockets';
import { type Space, VirtualNetwork } from '@bloomery/testkit/network/virtual-network';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { SecretKey } from 'bloomery';
import { describe, expect, test } from 'vitest';
import { PathShim } from '../../src/loops/path-shim.ts';
import { GroupTable } from '../../src/multicast/group-table.ts';
import { Router } from '../../src/routers/router.ts';
import { machineClock } from '../../src/routers/router-clock.ts';
import { TunDevice } from '../../src/routers/tun-device.ts';
import { UdpPorts } from '../../src/routers/udp-ports.ts';
import { whyNoTun } from '../queues/real-bottleneck.ts';

const run = promisify(execFile);
const why = whyNoTun();
const PORT = 5007;
const BETWEEN = 4792;
const key = new SecretKey(Uint8Array.from({ length: 16 }, (_, i) => 7 * i));

const addressOf = (group: number) => `239.5.${group >> 8}.${group & 255}`;
const bytesOf = (group: number) => Uint8Array.from(addressOf(group).split('.'), Number);

describe.skipIf(why !== null)(`real multicast${why === null ? '' : ` (skipped: ${why})`}`, () => {
  test('every member gets every packet, surplus is as predicted, and a leave ends it', async () => {
    await using star = await Star.start(5);
    const { table } = star;
    const random = new Random(1);
    // Each host joins ten of twenty groups; host 0 sends. Forty memberships more, of hosts that are
    // not there, fill the filters until each lets a few percent of other groups pass.
    const members = Array.from({ length: 20 }, () => new Set<number>());
    for (let host = 1; host < 5; host++) {
      while (members.filter((set) => set.has(host)).length < 10) members[random.below(20)]!.add(host);
      table.joinMany(
        host,
        Array.from({ length: 40 }, (_, i) => bytesOf(1000 * host + i)),
      );
    }
    for (const [group, hosts] of members.entries()) for (const host of hosts) star.join(host, group);
    for (let round = 0; round < 5; round++)
      for (let group = 0; group < 20; group++) await star.send(group, `${group} ${round}`);
    const expected = [1, 2, 3, 4].map((host) =>
      Array.from({ length: 5 }, (_, round) =>
        [...members.entries()].filter(([, hosts]) => hosts.has(host)).map(([group]) => `${group} ${round}`),
      )
        .flat()
        .sort(),
    );
    await until('all packets', () => star.received.flat().length >= expected.flat().length);
    expect(star.received.slice(1).map((texts) => [...texts].sort())).toEqual(expected);

    // Groups without members: all copies are surplus, and no socket takes them.
    const strangers = 1500;
    // Surplus copies of the packets before reach no socket, and must be counted before these.
    await until('all copies', async () => (await star.copiesByKernel()) >= star.router.counts.sent);
    const before = await star.copiesByKernel();
    for (let i = 0; i < strangers; i++) {
      await star.send(10_000 + i, 'nothing');
      // The queue of a TUN device holds 500 packets.
      if (i % 100 === 99) await until('packets at the router', () => star.router.counts.received > 100 + i);
    }
    const predicted = table.estimatedSurplus([], 0);
    const rates = [1, 2, 3, 4].map((host) =>
      table.estimatedSurplus(
        [1, 2, 3, 4].filter((other) => other !== host),
        0,
      ),
    );
    const variance = rates.reduce((sum, rate) => sum + rate * (1 - rate), 0);
    const sent = star.router.counts.sent;
    await until('all copies', async () => (await star.copiesByKernel()) >= sent);
    const surplus = (await star.copiesByKernel()) - before;
    expect(predicted).toBeGreaterThan(0.04);
    expectNormal(surplus, strangers * predicted, Math.sqrt(strangers * variance), 'surplus copies');

    // A host leaves a group that its filter does not hold by accident afterwards.
    const group = [...members.keys()].find((one) => members[one]!.has(1) && star.leave(1, one))!;
    const copies = await star.copiesByKernel();
    const others = table.portsFor(bytesOf(group), 0);
    expect(others).not.toContain(1);
    await star.send(group, 'after the leave');
    await until('the copies', async () => (await star.copiesByKernel()) >= copies + others.length);
    expect(star.received[1]).not.toContain('after the leave');
  });

  test('a ring of three routers does not multiply a packet', async () => {
    await using ring = await Ring.start();
    const packets = 10;
    for (let i = 0; i < packets; i++) await ring.send(`packet ${i}`);
    // Both ways around: each of three links is crossed twice, and both copies end at the sender's.
    await until('all packets to end', () => ring.loopDrops() >= 2 * packets);
    await until('all datagrams', async () => (await ring.datagramsByKernel()) >= 6 * packets);
    expect(await ring.datagramsByKernel()).toBe(6 * packets);
    // The routers are done, and the kernels of the hosts deliver.
    for (const texts of ring.received.slice(1)) {
      await until('all packets at a host', () => new Set(texts).size >= packets);
      expect(new Set(texts).size).toBe(packets);
    }
  });
});

/** A host in a namespace of its own: a TUN device, and a socket for all groups. */
class Host implements AsyncDisposable {
  readonly texts: string[] = [];
  readonly device: TunDevice;
  readonly socket: Socket;
  readonly #address: string;
  readonly #sockets: SpaceSockets;

  private constructor(device: TunDevice, socket: Socket, address: string, sockets: SpaceSockets) {
    this.device = device;
    this.socket = socket;
    this.#address = address;
    this.#sockets = sockets;
    socket.on('message', (bytes) => this.texts.push(String(bytes)));
  }

  static async start(space: Space, number: number): Promise<Host> {
    const address = `10.91.${number}.1`;
    const device = await TunDevice.open({ name: 'tun0', addresses: [`${address}/16`], prefix: space.prefix });
    const sockets = new SpaceSockets(space);
    const socket = await sockets.datagrams({ host: '0.0.0.0', port: PORT });
    return new Host(device, socket, address, sockets);
  }

  join(group: number): void {
    this.socket.addMembership(addressOf(group), this.#address);
  }

  leave(group: number): void {
    this.socket.dropMembership(addressOf(group), this.#address);
  }

  async send(group: number, text: string): Promise<void> {
    this.socket.setMulticastInterface(this.#address);
    this.socket.setMulticastTTL(32);
    this.socket.setMulticastLoopback(false);
    await new Promise<void>((resolve, reject) =>
      this.socket.send(text, PORT, addressOf(group), (error) => (error ? reject(error) : resolve())),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.socket, 'close');
    this.socket.close();
    await closed;
    await this.#sockets[Symbol.asyncDispose]();
    await this.device[Symbol.asyncDispose]();
  }
}

/** One router, and hosts on its ports. */
class Star implements AsyncDisposable {
  readonly table: GroupTable;
  readonly router: Router;
  readonly #network: VirtualNetwork;
  readonly #spaces: Space[] = [];
  readonly #hosts: Host[] = [];

  private constructor(network: VirtualNetwork, hosts: number) {
    this.#network = network;
    this.table = new GroupTable({ interfaces: hosts, capacity: 50, falsePositiveRate: 0.05, key });
    this.router = new Router({ clock: machineClock, groups: this.table });
  }

  static async start(hosts: number): Promise<Star> {
    const star = new Star(await VirtualNetwork.start(0), hosts);
    for (let i = 0; i < hosts; i++) {
      const space = await star.#network.plugIn(`h${i}`, []);
      const host = await Host.start(space, i);
      star.#spaces.push(space);
      star.#hosts.push(host);
      const port = star.router.attach(host.device);
      // The kernel's own reports of membership (IGMP, protocol 2) are not forwarded.
      host.device.onPacket((packet) => {
        if (packet[9] !== 2 && packet[0]! >> 4 === 4) star.router.receive(port, packet);
      });
    }
    return star;
  }

  get received(): readonly (readonly string[])[] {
    return this.#hosts.map(({ texts }) => texts);
  }

  join(host: number, group: number): void {
    this.#hosts[host]!.join(group);
    this.table.join(host, bytesOf(group));
  }

  /** Leaves a group. Returns whether the filter of the host is without it then. */
  leave(host: number, group: number): boolean {
    this.#hosts[host]!.leave(group);
    expect(this.table.leave(host, bytesOf(group))).toBe(true);
    return !this.table.mayHave(host, bytesOf(group));
  }

  send(group: number, text: string): Promise<void> {
    return this.#hosts[0]!.send(group, text);
  }

  /** Packets that the kernels of all hosts have received. */
  async copiesByKernel(): Promise<number> {
    let copies = 0;
    for (const { prefix } of this.#spaces) {
      const [program, ...words] = [...prefix, 'ip', '-s', '-j', 'link', 'show', 'tun0'];
      const { stdout } = await run(program!, words);
      copies += JSON.parse(stdout)[0].stats64.rx.packets;
    }
    return copies;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.router.close();
    for (const host of this.#hosts) await host[Symbol.asyncDispose]();
    await this.#network[Symbol.asyncDispose]();
  }
}

/** Three routers, each with a host, that forward a group to each other in both directions. */
class Ring implements AsyncDisposable {
  readonly #network: VirtualNetwork;
  readonly #spaces: Space[] = [];
  readonly #hosts: Host[] = [];
  readonly #routers: Router[] = [];
  readonly #closing: (() => unknown)[] = [];

  private constructor(network: VirtualNetwork) {
    this.#network = network;
  }

  static async start(): Promise<Ring> {
    const ring = new Ring(await VirtualNetwork.start());
    for (let i = 0; i < 3; i++) ring.#spaces.push(await ring.#network.plugIn(`r${i}`));
    for (let i = 0; i < 3; i++) await ring.#addRouter(i);
    return ring;
  }

  async #addRouter(i: number): Promise<void> {
    const space = this.#spaces[i]!;
    await inside(
      space,
      'nft',
      'add table inet count; add chain inet count in { type filter hook input priority -10; }',
    );
    await inside(space, 'nft', `add rule inet count in udp dport ${BETWEEN} counter`);
    const host = await Host.start(space, i);
    if (i > 0) host.join(1);
    const groups = new GroupTable({ interfaces: 3, capacity: 10, falsePositiveRate: 0.001, key });
    for (let port = 0; port < 3; port++) groups.join(port, bytesOf(1));
    const shim = new PathShim({ node: `r${i}`, bits: 256, hashes: 8, random: machineClock.random });
    const router = new Router({ clock: machineClock, groups, shim });
    router.attach(host.device);
    host.device.onPacket((packet) => {
      if (packet[9] !== 2 && packet[0]! >> 4 === 4) router.receive(0, packet);
    });
    const sockets = new SpaceSockets(space);
    const socket = await sockets.datagrams({ host: space.addresses[0]!, port: BETWEEN });
    const ports = new UdpPorts(socket);
    for (const step of [1, 2]) {
      const place = { host: this.#spaces[(i + step) % 3]!.addresses[0]!, port: BETWEEN };
      const port: number = router.attach(
        ports.to(place, (bytes) => router.receive(port, bytes)),
        { isRouter: true },
      );
    }
    this.#hosts.push(host);
    this.#routers.push(router);
    this.#closing.push(
      () => socket.close(),
      () => sockets[Symbol.asyncDispose](),
      () => router.close(),
      () => host[Symbol.asyncDispose](),
    );
  }

  get received(): readonly (readonly string[])[] {
    return this.#hosts.map(({ texts }) => texts);
  }

  send(text: string): Promise<void> {
    return this.#hosts[0]!.send(1, text);
  }

  loopDrops(): number {
    return this.#routers.reduce((sum, { counts }) => sum + counts.dropped.loop, 0);
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

function inside(space: Space, ...command: string[]): Promise<{ stdout: string; stderr: string }> {
  const [program, ...words] = [...space.prefix, ...command];
  return run(program!, words, { timeout: 60_000 });
}
