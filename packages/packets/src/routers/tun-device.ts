/**
 * A TUN device: a network interface whose packets come to this process, and to which it sends its
 * own. Linux only.
 *
 * Node has no `ioctl`, which attaches a file to the device, so a small program does it and passes
 * the packets over its standard input and output, each with its length before it. We weighed five
 * ways:
 * - A native package (koffi worked in a trial): binaries for each platform in the lock file, and
 *   `fs.read` of the device holds a thread of Node's pool of four for each device.
 * - A program in C: the user needs a compiler.
 * - socat from the device to a UDP socket: packets are lost between the two when Node is busy.
 * - Python: not on a bare Debian.
 * - Perl: part of every Debian (perl-base is essential) and of nearly every other Linux. We took
 *   it. Only builtin functions are used.
 *
 * A separate program has two more advantages. Only it needs the privilege, as with tcpdump. And it
 * can run in another network namespace while this process stays outside (`prefix`), so one process
 * can hold devices in many.
 *
 * Pipes have back-pressure. When this process is busy, packets wait in the kernel's queue of the
 * device, and are dropped there as on any interface. In the other direction up to 1 MiB waits for
 * the program; packets beyond it are dropped and counted.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Port } from './router.ts';
import { TunError } from './tun-error.ts';
import { TUN_PROGRAM } from './tun-program.ts';

export interface TunOptions {
  /** The name of the device, at most 15 letters, digits or one of `-_.`. */
  readonly name: string;
  /** Addresses of this machine on the device, such as 10.91.1.1/24. */
  readonly addresses?: readonly string[];
  /** The longest packet. Default 1400, which leaves room for headers between routers. */
  readonly mtu?: number;
  /** Words before the program, such as those that enter a network namespace. */
  readonly prefix?: readonly string[];
  readonly signal?: AbortSignal;
}

const LENGTH_BYTES = 2;
const MOST_BYTES = 65_535;
/** Bytes that may wait for the program: some hundred of the longest packets. */
const MOST_WAITING = 2 ** 20;

export class TunDevice implements Port, AsyncDisposable {
  readonly name: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ended: Promise<void>;
  #waiting: Uint8Array = new Uint8Array(0);
  #take: ((packet: Uint8Array) => void) | null = null;
  #isReady: (() => void) | null = null;
  #dropped = 0;

  private constructor(name: string, child: ChildProcessByStdio<Writable, Readable, Readable>) {
    this.name = name;
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('close', () => resolve()));
    child.stdout.on('data', (chunk: Uint8Array) => this.#read(chunk));
    // The program may end before it has read everything.
    child.stdin.on('error', () => {});
  }

  /** Opens a device and sets it up. It exists until the result is disposed of. */
  static async open(options: TunOptions): Promise<TunDevice> {
    const { name, addresses = [], mtu = 1400, prefix = [], signal } = options;
    if (!/^[A-Za-z0-9_.-]{1,15}$/.test(name)) {
      throw new RangeError(`Cannot open a TUN device: expected a name of 1 to 15 letters, got ${name}`);
    }
    signal?.throwIfAborted();
    const [program, ...words] = [...prefix, 'perl', '-e', TUN_PROGRAM, name, String(mtu), ...addresses];
    const child = spawn(program!, words, { stdio: ['pipe', 'pipe', 'pipe'] });
    const device = new TunDevice(name, child);
    let problem = '';
    child.stderr.on('data', (text: Uint8Array) => {
      problem += new TextDecoder().decode(text);
    });
    const stop = () => child.kill('SIGKILL');
    signal?.addEventListener('abort', stop, { once: true });
    try {
      await new Promise<void>((resolve, reject) => {
        device.#isReady = resolve;
        child.once('error', (error) => reject(new TunError('program', name, error.message)));
        child.once('close', () =>
          reject(new TunError('device', name, problem.trim() || 'the end of its program')),
        );
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    return device;
  }

  /** Packets that were not sent, because too many waited or the device is gone. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Calls `take` for each packet that the kernel sends to the device. The bytes are its own. */
  onPacket(take: (packet: Uint8Array) => void): void {
    this.#take = take;
  }

  send(packet: Uint8Array): void {
    const { stdin } = this.#child;
    const isRefused = packet.length === 0 || packet.length > MOST_BYTES || !stdin.writable;
    if (isRefused || stdin.writableLength + packet.length > MOST_WAITING) {
      this.#dropped++;
      return;
    }
    const framed = new Uint8Array(LENGTH_BYTES + packet.length);
    framed[0] = packet.length >> 8;
    framed[1] = packet.length & 255;
    framed.set(packet, LENGTH_BYTES);
    stdin.write(framed);
  }

  /** Removes the device. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#take = null;
    this.#child.stdin.end();
    await this.#ended;
  }

  #read(chunk: Uint8Array): void {
    const bytes = this.#waiting.length === 0 ? chunk : joined(this.#waiting, chunk);
    let at = 0;
    while (at + LENGTH_BYTES <= bytes.length) {
      const end = at + LENGTH_BYTES + ((bytes[at] << 8) | bytes[at + 1]);
      if (end > bytes.length) break;
      // The program sends one empty packet when the device is up.
      if (end === at + LENGTH_BYTES) this.#isReady?.();
      else this.#take?.(bytes.slice(at + LENGTH_BYTES, end));
      at = end;
    }
    this.#waiting = bytes.subarray(at);
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
