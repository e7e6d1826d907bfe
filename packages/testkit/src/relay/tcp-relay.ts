/**
 * A TCP relay between a client and a server on this machine. It records what passes, and it can
 * delay, throttle, stall, damage or cut each direction: the faults of a network that this kernel
 * cannot make (it has no netem), and with bytes counted exactly.
 *
 * Faults may be changed at any time and hold at once, also for open connections. Offsets count the
 * bytes of one direction of one connection. A stalled direction stays open and says nothing, like a
 * peer whose machine has stopped. What is recorded is what the sender sent, before any damage.
 *
 * Bytes in the relay are bounded: above 256 KiB in one direction it stops reading, so that a slow
 * reader still holds its sender back.
 */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { TokenBucket } from '../token-bucket.ts';

const MOST_WAITING = 256 * 1024;
const NEVER = Number.POSITIVE_INFINITY;

/** Changes the piece in place. `offset` is the place of its first byte. */
export type Damage = (piece: Buffer, offset: number) => void;

/** Faults of one direction. */
interface LaneFaults {
  /** Time by which each byte is late. */
  readonly delayMs?: number;
  /** Limit for all connections of the relay together. */
  readonly bytesPerSecond?: number;
  /** Number of bytes that pass before nothing passes any more. */
  readonly stallAfter?: number;
  /** Number of bytes that pass before the connection is reset, on both sides. */
  readonly cutAfter?: number;
  /** Number of bytes that pass, and arrive, before the connection is closed on both sides. */
  readonly closeAfter?: number;
  readonly damage?: Damage;
}

export interface RelayFaults {
  readonly toServer?: LaneFaults;
  readonly toClient?: LaneFaults;
  /** New connections are reset at once. */
  readonly refuse?: boolean;
}

export interface RelayedConnection {
  /** Bytes that came from the client and from the server. */
  readonly sent: { readonly toServer: number; readonly toClient: number };
  /** Bytes that were passed on. */
  readonly passed: { readonly toServer: number; readonly toClient: number };
  /** The same bytes, if the relay records. */
  recorded(): { readonly toServer: Buffer; readonly toClient: Buffer };
  readonly open: boolean;
}

export interface RelayOptions {
  /** Port of the server, on 127.0.0.1, or a function that connects to it. */
  readonly target: number | (() => Promise<Socket>);
  /** A server that listens, whose connections the relay takes. Default: any port on 127.0.0.1. */
  readonly listener?: Server;
  readonly record?: boolean;
  readonly faults?: RelayFaults;
}

export class TcpRelay implements AsyncDisposable {
  readonly #options: RelayOptions;
  readonly #server: Server;
  readonly #connections: Connection[] = [];
  #limits: Limits;

  private constructor(options: RelayOptions) {
    this.#options = options;
    this.#limits = limitsOf(options.faults ?? {});
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  static async start(options: RelayOptions): Promise<TcpRelay> {
    const relay = new TcpRelay(options);
    if (options.listener === undefined) relay.#server.listen(0, '127.0.0.1');
    else relay.#server.listen(options.listener);
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** All connections so far, in the order in which they were opened. */
  get connections(): readonly RelayedConnection[] {
    return this.#connections;
  }

  /** Replaces all faults; without an argument the relay passes everything again. */
  setFaults(faults: RelayFaults = {}): void {
    this.#limits = limitsOf(faults);
    for (const connection of this.#connections) connection.pump();
  }

  /** Resets all open connections. */
  cut(): void {
    for (const connection of this.#connections) connection.reset();
  }

  /** Everything that passed in both directions, connection after connection, if it was recorded. */
  recorded(): Buffer {
    return Buffer.concat(
      this.#connections.flatMap((connection) => {
        const { toServer, toClient } = connection.recorded();
        return [toServer, toClient];
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(client: Socket): void {
    if (this.#limits.refuse) {
      client.on('error', () => {});
      client.resetAndDestroy();
      return;
    }
    const { target } = this.#options;
    if (typeof target === 'number')
      this.#join(client, connect({ port: target, host: '127.0.0.1', allowHalfOpen: true }));
    else void this.#joinLater(client, target);
  }

  async #joinLater(client: Socket, reach: () => Promise<Socket>): Promise<void> {
    client.on('error', () => {});
    try {
      const server = await reach();
      server.allowHalfOpen = true;
      // The client may have left meanwhile, or the relay was closed.
      if (client.destroyed || !this.#server.listening) {
        client.destroy();
        server.destroy();
      } else this.#join(client, server);
    } catch {
      client.resetAndDestroy();
    }
  }

  #join(client: Socket, server: Socket): void {
    this.#connections.push(new Connection(client, server, this.#options.record === true, () => this.#limits));
  }
}

/** Damage that inverts the lowest bit of the bytes at these offsets. */
export function flipBitAt(...offsets: readonly number[]): Damage {
  return (piece, offset) => {
    for (const place of offsets) {
      const at = place - offset;
      if (at >= 0 && at < piece.length) piece[at] = piece[at]! ^ 1;
    }
  };
}

/** Damage that inverts one bit in some bytes, each with this probability, from an offset on. */
export function flipBits(random: () => number, perByte: number, from = 0): Damage {
  return (piece, offset) => {
    // The distances between damaged bytes are geometric, so most pieces take one draw.
    const gap = () => Math.floor(Math.log(1 - random()) / Math.log1p(-perByte));
    for (let at = Math.max(0, from - offset) + gap(); at < piece.length; at += 1 + gap())
      piece[at] = piece[at]! ^ (1 << Math.floor(8 * random()));
  };
}

interface Limits extends RelayFaults {
  readonly buckets: { readonly toServer: TokenBucket | null; readonly toClient: TokenBucket | null };
}

function limitsOf(faults: RelayFaults): Limits {
  const bucket = (lane: LaneFaults | undefined) =>
    lane?.bytesPerSecond === undefined ? null : new TokenBucket(lane.bytesPerSecond);
  return { ...faults, buckets: { toServer: bucket(faults.toServer), toClient: bucket(faults.toClient) } };
}

class Connection implements RelayedConnection {
  readonly #lanes: readonly [toServer: Lane, toClient: Lane];
  readonly #sockets: readonly Socket[];

  constructor(client: Socket, server: Socket, record: boolean, limits: () => Limits) {
    this.#sockets = [client, server];
    const lane = (from: Socket, to: Socket, direction: 'toServer' | 'toClient') =>
      new Lane({
        from,
        to,
        record,
        faults: () => limits()[direction] ?? {},
        bucket: () => limits().buckets[direction],
        reset: () => this.reset(),
        close: () => this.#close(),
      });
    this.#lanes = [lane(client, server, 'toServer'), lane(server, client, 'toClient')];
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      socket.on('error', () => this.reset());
      socket.on('close', (failed) => failed && this.reset());
    }
  }

  get open(): boolean {
    return this.#sockets.some((socket) => !socket.destroyed);
  }

  get sent() {
    return { toServer: this.#lanes[0].bytes, toClient: this.#lanes[1].bytes };
  }

  get passed() {
    return { toServer: this.#lanes[0].passed, toClient: this.#lanes[1].passed };
  }

  recorded() {
    return { toServer: this.#lanes[0].recorded(), toClient: this.#lanes[1].recorded() };
  }

  pump(): void {
    for (const lane of this.#lanes) lane.pump();
  }

  reset(): void {
    for (const lane of this.#lanes) lane.stop();
    for (const socket of this.#sockets) if (!socket.destroyed) socket.resetAndDestroy();
  }

  /** Closes both sides after the bytes that were passed on have been sent. */
  #close(): void {
    for (const lane of this.#lanes) lane.stop();
    for (const socket of this.#sockets) socket.destroySoon();
  }
}

interface LaneEnds {
  readonly from: Socket;
  readonly to: Socket;
  readonly record: boolean;
  readonly faults: () => LaneFaults;
  readonly bucket: () => TokenBucket | null;
  readonly reset: () => void;
  readonly close: () => void;
}

/** One direction of one connection. */
class Lane {
  bytes = 0;
  /** Bytes that were passed on. */
  passed = 0;
  readonly #ends: LaneEnds;
  readonly #pieces: Buffer[] = [];
  readonly #waiting: { bytes: Buffer; readonly due: number; isPaid: boolean }[] = [];
  #waitingBytes = 0;
  #ended = false;
  #stopped = false;
  #draining = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(ends: LaneEnds) {
    this.#ends = ends;
    const { from, to, record } = ends;
    from.on('data', (piece: Buffer) => {
      this.bytes += piece.length;
      if (record) this.#pieces.push(Buffer.from(piece));
      const due = performance.now() + (ends.faults().delayMs ?? 0);
      this.#waiting.push({ bytes: piece, due, isPaid: false });
      this.#waitingBytes += piece.length;
      if (this.#waitingBytes > MOST_WAITING) from.pause();
      this.pump();
    });
    from.on('end', () => {
      this.#ended = true;
      this.pump();
    });
    to.on('drain', () => {
      this.#draining = false;
      this.pump();
    });
  }

  recorded(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  stop(): void {
    this.#stopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  /** Passes on as much as the faults and the receiver allow now. */
  pump(): void {
    const { from, to, faults, bucket, reset, close } = this.#ends;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    while (!this.#stopped && !this.#draining && this.#waiting.length > 0) {
      const { stallAfter = NEVER, cutAfter = NEVER, closeAfter = NEVER, damage } = faults();
      const now = performance.now();
      const first = this.#waiting[0]!;
      if (this.passed >= stallAfter) return;
      if (this.passed >= cutAfter) {
        reset();
        return;
      }
      if (this.passed >= closeAfter) {
        close();
        return;
      }
      if (first.due > now) {
        this.#later(first.due - now);
        return;
      }
      const most = Math.min(stallAfter, cutAfter, closeAfter) - this.passed;
      const piece = first.bytes.subarray(0, Math.min(PIECE, most));
      const line = bucket();
      if (line !== null && !first.isPaid) {
        const wait = line.reserve(piece.length, now);
        first.isPaid = true;
        if (wait > 0) {
          this.#later(wait);
          return;
        }
      }
      first.isPaid = false;
      if (piece.length === first.bytes.length) this.#waiting.shift();
      else first.bytes = first.bytes.subarray(piece.length);
      this.#waitingBytes -= piece.length;
      const sent = damage === undefined ? piece : Buffer.from(piece);
      damage?.(sent, this.passed);
      this.passed += piece.length;
      if (!to.write(sent)) this.#draining = true;
      if (this.#waitingBytes <= MOST_WAITING / 2) from.resume();
    }
    if (this.#ended && this.#waiting.length === 0 && !this.#stopped) to.end();
  }

  #later(ms: number): void {
    this.#timer = setTimeout(() => this.pump(), Math.ceil(ms));
  }
}

/** Largest piece that is passed on at once, so that a throttled direction flows evenly. */
const PIECE = 16 * 1024;
