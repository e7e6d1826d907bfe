/**
 * A network on this machine for tests with real processes: each process has a network namespace of
 * its own, with a virtual card in one or more networks. A network is a bridge in a namespace that
 * holds nothing else, so two runs may use the same addresses, and the machine's own network is not
 * touched. Names carry the id of this process.
 *
 * Faults are those that the kernel makes: packets that are lost at random and networks that are
 * divided (rules of nft at the input of a space), a card with little bandwidth (tbf), a cable that
 * is out. This kernel has no netem; delays, stalls and cuts of a connection are made by TcpRelay.
 *
 * It needs root, `ip`, `tc` and `nft`. `whyNoNetwork` says what is missing, so that a test can be
 * skipped with a reason. Disposing of the network ends every process that is still in one of its
 * spaces. A run that was killed could not do that, so each start first removes the spaces of runs
 * that are gone.
 */

import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A command that hangs must not hang its test. */
const COMMAND_MS = 20_000;
const PREFIX = 'blm';

/** A namespace with its cards. */
export interface Space {
  readonly id: string;
  /** The name of the namespace. */
  readonly name: string;
  /** The address in each network that it is in, or undefined: 10.77.0.1, 10.78.0.1. */
  readonly addresses: readonly (string | undefined)[];
  /** Words before a command that run it in this space. */
  readonly prefix: readonly string[];
}

export interface LossOptions {
  /** Share of the packets that are lost, in percent. */
  readonly percent: number;
  /** Packets that are meant, as nft says it. Default: all that arrive on the first card. */
  readonly match?: string;
}

/** The reason why there can be no virtual network here, or null. */
export function whyNoNetwork(): string | null {
  if (process.getuid?.() !== 0) return 'namespaces need root';
  const probe = `${PREFIX}-${process.pid}-probe`;
  try {
    execFileSync('nft', ['--version'], { stdio: 'ignore' });
  } catch {
    return 'nft is not installed (Debian package nftables)';
  }
  try {
    execFileSync('ip', ['netns', 'add', probe], { stdio: 'ignore' });
    execFileSync('ip', ['netns', 'del', probe], { stdio: 'ignore' });
    return null;
  } catch {
    return 'this machine makes no namespaces';
  }
}

export class VirtualNetwork implements AsyncDisposable {
  static #count = 0;
  readonly #name = `${PREFIX}-${process.pid}-${VirtualNetwork.#count++}`;
  readonly #switch = `${this.#name}-switch`;
  readonly #spaces: Space[] = [];

  private constructor() {}

  /** Makes this many networks without anything in them. */
  static async start(networks = 1): Promise<VirtualNetwork> {
    await removeLeftovers();
    const network = new VirtualNetwork();
    await ip('netns', 'add', network.#switch);
    for (let index = 0; index < networks; index++)
      await network.#onSwitch('link', 'add', `br${index}`, 'type', 'bridge', 'mcast_snooping', '0');
    for (let index = 0; index < networks; index++) await network.#onSwitch('link', 'set', `br${index}`, 'up');
    return network;
  }

  /** Makes a space with a card in each of these networks: eth0 in the first one, and so on. */
  async plugIn(id: string, networks: readonly number[] = [0]): Promise<Space> {
    const name = `${this.#name}-${id}`;
    const host = this.#spaces.length + 1;
    const addresses: string[] = [];
    await ip('netns', 'add', name);
    const space = { id, name, addresses, prefix: ['ip', 'netns', 'exec', name] };
    this.#spaces.push(space);
    for (const [card, network] of networks.entries()) {
      addresses[network] = `10.${77 + network}.0.${host}`;
      await this.#addCard(space, card, network);
    }
    await ip('-n', name, 'link', 'set', 'lo', 'up');
    return space;
  }

  /** Puts another card with the same address in the place of a space's first one. */
  async replaceCard(space: Space): Promise<void> {
    await this.#onSwitch('link', 'del', portOf(space.id, 0));
    await this.#addCard(space, 0, 0);
  }

  /** Lets a share of the packets that arrive at a space vanish. */
  async lose(space: Space, { percent, match = 'iifname eth0' }: LossOptions): Promise<void> {
    // nft refuses a comparison that always holds.
    const share = percent < 100 ? `numgen random mod 100 < ${percent} ` : '';
    await rules(space, 'loss', percent === 0 ? [] : [`${match} ${share}drop`]);
  }

  /** Divides the spaces into two sides that do not reach each other in the first network. */
  async divide(one: readonly Space[], other: readonly Space[]): Promise<void> {
    const wall = (side: readonly Space[], beyond: readonly Space[]) =>
      side.map((space) =>
        rules(
          space,
          'wall',
          beyond.map(({ addresses }) => `ip saddr ${addresses[0]} drop`),
        ),
      );
    await Promise.all([...wall(one, other), ...wall(other, one)]);
  }

  /** Ends a division. */
  async unite(): Promise<void> {
    await Promise.all(this.#spaces.map((space) => rules(space, 'wall', [])));
  }

  /**
   * Limits the bytes that leave a space by its first card. Packets that waited 200 ms are dropped.
   * Null takes the limit away.
   */
  async throttle(space: Space, bitsPerSecond: number | null): Promise<void> {
    const qdisc = (...words: string[]) =>
      inside(space, 'tc', 'qdisc', words[0]!, 'dev', 'eth0', 'root', ...words.slice(1));
    if (bitsPerSecond !== null)
      await qdisc('replace', 'tbf', 'rate', `${bitsPerSecond}bit`, 'burst', '32k', 'latency', '200ms');
    // It has none if it was never throttled.
    else await qdisc('del').catch(() => {});
  }

  /** Takes the cable of a space's first card out, or puts it back. */
  async plug({ id }: Space, isIn: boolean): Promise<void> {
    await this.#onSwitch('link', 'set', portOf(id, 0), isIn ? 'up' : 'down');
  }

  /** Ends all processes in the spaces, and removes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const { name } of this.#spaces) await removeSpace(name);
    await removeSpace(this.#switch);
  }

  async #addCard({ id, name, addresses }: Space, card: number, network: number): Promise<void> {
    const peer = ['peer', 'name', `eth${card}`, 'netns', name];
    await this.#onSwitch('link', 'add', portOf(id, network), 'type', 'veth', ...peer);
    await this.#onSwitch('link', 'set', portOf(id, network), 'master', `br${network}`, 'up');
    await ip('-n', name, 'addr', 'add', `${addresses[network]}/24`, 'dev', `eth${card}`);
    await ip('-n', name, 'link', 'set', `eth${card}`, 'up');
  }

  async #onSwitch(...words: string[]): Promise<void> {
    await ip('-n', this.#switch, ...words);
  }
}

/** The bridge's side of a card. The kernel takes at most 15 characters. */
function portOf(id: string, network: number): string {
  return `p${network}-${id}`;
}

/** Replaces the rules of one table at the input of a space. */
async function rules(space: Space, table: string, lines: readonly string[]): Promise<void> {
  const script = [
    // It is added first, because a table that is not there cannot be deleted.
    `add table inet ${table}`,
    `delete table inet ${table}`,
    `add table inet ${table}`,
    `add chain inet ${table} arrival { type filter hook input priority 0; }`,
    ...lines.map((line) => `add rule inet ${table} arrival ${line}`),
  ];
  await inside(space, 'nft', script.slice(0, lines.length === 0 ? 2 : undefined).join('\n'));
}

/** Removes what runs left that could not end properly. */
async function removeLeftovers(): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'list'], { timeout: COMMAND_MS });
  for (const line of stdout.split('\n')) {
    const [name = ''] = line.split(' ');
    const pid = new RegExp(`^${PREFIX}-(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await removeSpace(name);
  }
}

/** Removes a namespace with the processes in it. It may be gone already. */
async function removeSpace(name: string): Promise<void> {
  const inside = await run('ip', ['netns', 'pids', name], { timeout: COMMAND_MS }).catch(() => null);
  for (const pid of inside?.stdout.split('\n').filter((text) => text !== '') ?? []) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It has just ended.
    }
  }
  if (inside !== null) await ip('netns', 'del', name).catch(() => {});
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function ip(...words: string[]): Promise<void> {
  await command('ip', ...words);
}

async function inside({ name }: Space, ...words: string[]): Promise<void> {
  await command('ip', 'netns', 'exec', name, ...words);
}

async function command(program: string, ...words: string[]): Promise<void> {
  try {
    await run(program, words, { timeout: COMMAND_MS });
  } catch (cause) {
    const { stderr = '' } = cause as { stderr?: string };
    throw new Error(
      `Cannot change a virtual network: expected ${[program, ...words].join(' ')} to work, got ${stderr.trim() || cause}`,
      { cause },
    );
  }
}
