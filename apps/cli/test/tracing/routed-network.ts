/**
 * A network of namespaces in which the kernel forwards, with a collector (tcpdump into `bloomery
 * digestd`) at each router:
 *
 *     sender ── r1 ── r2 ── r3 ── r4 ── r5 ── r6 ── victim
 *                     NAT    └─ tunnel ─┘│
 *                     s1                 s2
 *
 * r2 translates addresses, a VXLAN tunnel goes from r3 through r4 to r5, and the link from r5 to r6
 * takes 1000 bytes, so that r5 fragments. s1 and s2 are routers beside the path.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Space, VirtualNetwork } from '@bloomery/testkit/network/virtual-network';
import { COMMAND } from '../run-command.ts';

const run = promisify(execFile);

/** The routers of each network, in the order of their cards. */
const ROUTERS: Record<string, readonly number[]> = {
  sender: [0],
  r1: [0, 1],
  r2: [1, 2, 7],
  r3: [2, 3],
  r4: [3, 4],
  r5: [4, 5, 8],
  r6: [5, 6],
  victim: [6],
  s1: [7],
  s2: [8],
};
export const COLLECTORS: readonly string[] = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 's1', 's2'];
const LINKS = [
  ['r1', 'r2'],
  ['r2', 'r3'],
  ['r3', 'r4'],
  ['r4', 'r5'],
  ['r5', 'r6'],
  ['r2', 's1'],
  ['r5', 's2'],
];

export class RoutedNetwork implements AsyncDisposable {
  readonly #network: VirtualNetwork;
  readonly #spaces = new Map<string, Space>();
  readonly #processes = new Map<string, ChildProcess[]>();
  readonly #urls = new Map<string, string>();
  readonly #folder: string;

  private constructor(network: VirtualNetwork, folder: string) {
    this.#network = network;
    this.#folder = folder;
  }

  static async start(folder: string): Promise<RoutedNetwork> {
    const net = new RoutedNetwork(await VirtualNetwork.start(9), folder);
    for (const [id, networks] of Object.entries(ROUTERS)) {
      const space = await net.#network.plugIn(id, networks);
      net.#spaces.set(id, space);
      await net.#inside(id, 'sysctl', '-qw', 'net.ipv4.ip_forward=1', 'net.ipv4.conf.all.rp_filter=0');
      await net.#inside(id, 'sysctl', '-qw', 'net.ipv4.conf.default.rp_filter=0');
    }
    await net.#route();
    return net;
  }

  /** The address of a router in one of the networks. */
  address(id: string, network: number): string {
    return this.#spaces.get(id)?.addresses[network] as string;
  }

  async #route(): Promise<void> {
    const victim = this.address('victim', 6);
    const via = (id: string, next: string) => this.#inside(id, 'ip', 'route', 'add', victim, 'via', next);
    await via('sender', this.address('r1', 0));
    await via('r1', this.address('r2', 1));
    await this.#inside(
      'r2',
      'nft',
      'add table ip nat; add chain ip nat post { type nat hook postrouting priority 100; }',
    );
    await this.#inside('r2', 'nft', 'add rule ip nat post masquerade');
    await via('r2', this.address('r3', 2));
    // The ends of the tunnel reach each other through r4.
    await this.#inside('r3', 'ip', 'route', 'add', this.address('r5', 4), 'via', this.address('r4', 3));
    await this.#inside('r5', 'ip', 'route', 'add', this.address('r3', 3), 'via', this.address('r4', 4));
    await this.#tunnel('r3', this.address('r3', 3), this.address('r5', 4), '10.200.0.1');
    await this.#tunnel('r5', this.address('r5', 4), this.address('r3', 3), '10.200.0.2');
    await via('r3', '10.200.0.2');
    await this.#inside('r5', 'ip', 'link', 'set', 'eth1', 'mtu', '1000');
    await this.#inside('r6', 'ip', 'link', 'set', 'eth0', 'mtu', '1000');
    await via('r5', this.address('r6', 5));
  }

  async #tunnel(id: string, local: string, remote: string, address: string): Promise<void> {
    const device = ['local', local, 'remote', remote, 'dstport', '4789'];
    await this.#inside(id, 'ip', 'link', 'add', 'vx0', 'type', 'vxlan', 'id', '5', ...device);
    await this.#inside(id, 'ip', 'addr', 'add', `${address}/24`, 'dev', 'vx0');
    await this.#inside(id, 'ip', 'link', 'set', 'vx0', 'up');
  }

  async #inside(id: string, ...words: string[]): Promise<string> {
    const [program, ...rest] = [...(this.#spaces.get(id) as Space).prefix, ...words];
    return (await run(program, rest)).stdout;
  }

  /** Starts tcpdump in the space of a router, and a collector behind it. */
  async collect(id: string): Promise<void> {
    const folder = join(this.#folder, id);
    const options = ['--dir', folder, '--listen', '127.0.0.1:0', '--tunnels', 'vxlan', '--changes'];
    const digestd = spawn(process.execPath, [COMMAND, 'digestd', ...options], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const tcpdump = this.#tcpdump(id, ['-i', 'any', '-s', '192', '-w', '-']);
    // The collector may be killed before tcpdump.
    digestd.stdin?.on('error', () => {});
    tcpdump.stdout?.pipe(digestd.stdin as NodeJS.WritableStream);
    this.#processes.set(id, [tcpdump, digestd]);
    const [line] = await once(digestd.stdout as NodeJS.ReadableStream, 'data');
    this.#urls.set(id, /http:\/\/[\d.:]+/.exec(String(line))?.[0] as string);
    await listening(tcpdump);
  }

  /** Captures at the victim into a file. */
  async capture(path: string): Promise<ChildProcess> {
    const tcpdump = this.#tcpdump('victim', ['-i', 'eth0', '-w', path, 'icmp']);
    this.#processes.set('victim', [tcpdump]);
    await listening(tcpdump);
    return tcpdump;
  }

  #tcpdump(id: string, words: readonly string[]): ChildProcess {
    const [program, ...rest] = [
      ...(this.#spaces.get(id) as Space).prefix,
      'tcpdump',
      '-Z',
      'root',
      '-U',
      '-n',
      ...words,
    ];
    return spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Sends echo requests of a size that r5 must fragment. Answers do not find their way back. */
  async ping(count: number): Promise<void> {
    const words = ['ping', '-n', '-c', `${count}`, '-i', '0.05', '-W', '1', '-M', 'dont', '-s', '1300'];
    await this.#inside('sender', ...words, this.address('victim', 6)).catch(() => {});
  }

  /** Writes the topology, with other addresses for some collectors. */
  topology(others: Record<string, string> = {}): string {
    const collectors = Object.fromEntries(
      COLLECTORS.map((id) => [id, { url: others[id] ?? this.#urls.get(id), tokenFile: `${id}/token` }]),
    );
    const path = join(this.#folder, `topology-${Object.keys(others).join('-')}.json`);
    writeFileSync(path, JSON.stringify({ start: 'r6', collectors, links: LINKS }));
    return path;
  }

  /** Ends the collector of a router at once, as a power cut does. */
  async kill(id: string): Promise<void> {
    const processes = this.#processes.get(id) ?? [];
    this.#processes.delete(id);
    for (const one of processes.reverse()) {
      const ended = one.exitCode === null && one.signalCode === null ? once(one, 'exit') : undefined;
      one.kill('SIGKILL');
      await ended;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of [...this.#processes.keys()]) await this.kill(id);
    await this.#network[Symbol.asyncDispose]();
  }
}

/**
 * Waits until tcpdump says that it listens. The pipe stays open and is read to its end: tcpdump
 * writes its line in several pieces, and a pipe that was closed after the first of them killed it
 * by SIGPIPE whenever the pieces came one by one.
 */
async function listening(tcpdump: ChildProcess): Promise<void> {
  const stderr = tcpdump.stderr as NodeJS.ReadableStream;
  let said = '';
  await new Promise<void>((resolve, reject) => {
    stderr.on('data', (text) => {
      said += text;
      if (/listening on .*\n/.test(said)) resolve();
    });
    tcpdump.once('close', (code, signal) =>
      reject(
        new Error(`Cannot capture: expected tcpdump to listen, got its end (${code ?? signal}): ${said}`),
      ),
    );
  });
}
