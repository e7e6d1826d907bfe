/**
 * The connections to one origin. Each is an undici `Client` of its own with one request at a time: the proxy must know of a
 * failed request on which connection it was, whether that connection had served before (then a close is a race lost, and the request
 * may be sent again), and whether it ended by an error. undici's `Pool` hides all three, so it is not used.
 *
 * Idle connections are used last in, first out, so that those not needed reach their keep-alive timeout and close. Above
 * `CONNECTIONS_PER_ORIGIN` requests wait in line, first come, first served. There is no pipelining: a slow response would hold
 * up those behind it.
 */

import type { Socket } from 'node:net';
import { Client } from 'undici';
import { type ConnectorOptions, originConnector } from './origin-connector.ts';

/** Streams to slow clients hold a connection as long as they last, so it is far above the 6 of a browser. */
export const CONNECTIONS_PER_ORIGIN = 256;
/** Less than the 5 s after which Node's own http server closes, so that the race with its close is rare. */
const KEEP_ALIVE_MS = 4000;

export interface OriginPoolOptions extends Omit<ConnectorOptions, 'opened'> {
  readonly responseHeadBytes: number;
  readonly responseBodyBytes: number;
  readonly connections?: number;
  /** Something went wrong that no request can be told of. */
  readonly problem: (error: unknown) => void;
}

/** One connection, or the place for one. */
export interface Slot {
  readonly client: Client;
  /** Requests sent on the connection that is open now. */
  sent: number;
  /** How the connection ended, if by an error. */
  socketError: Error | null;
  /** Told before the HTTP client hears that the connection ends: it must not be paused then. */
  ending: (() => void) | null;
}

export class OriginPool {
  readonly origin: string;
  readonly #options: OriginPoolOptions;
  readonly #slots = new Set<Slot>();
  readonly #idle: Slot[] = [];
  readonly #waiting = new Set<(slot: Slot) => void>();
  #destroyed = false;

  constructor(origin: string, options: OriginPoolOptions) {
    this.origin = origin;
    this.#options = options;
  }

  /** Whether nobody uses it or waits for it. */
  get unused(): boolean {
    return this.#waiting.size === 0 && this.#idle.length === this.#slots.size;
  }

  get connections(): number {
    return this.#slots.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Calls `ready` with a connection, at once or later. Returns how to give up the place in the line. */
  acquire(ready: (slot: Slot) => void): () => void {
    const idle = this.#idle.pop();
    if (idle !== undefined) {
      ready(idle);
      return nothing;
    }
    if (this.#slots.size < (this.#options.connections ?? CONNECTIONS_PER_ORIGIN)) {
      ready(this.#open());
      return nothing;
    }
    this.#waiting.add(ready);
    return () => this.#waiting.delete(ready);
  }

  /** The request on it has ended, well or not. */
  release(slot: Slot): void {
    if (this.#destroyed || !this.#slots.has(slot)) return;
    for (const ready of this.#waiting) {
      this.#waiting.delete(ready);
      ready(slot);
      return;
    }
    this.#idle.push(slot);
    // A request that failed has already lost its connection: no `disconnect` will come for it.
    if (!slot.client.stats.connected) queueMicrotask(() => this.#drop(slot));
  }

  destroy(error: Error): void {
    this.#destroyed = true;
    for (const slot of this.#slots) void slot.client.destroy(error).catch(nothing);
    this.#slots.clear();
    this.#idle.length = 0;
    this.#waiting.clear();
  }

  #open(): Slot {
    const options = this.#options;
    const connect = originConnector({
      ...options,
      opened(socket: Socket) {
        slot.sent = 0;
        slot.socketError = null;
        const ending = () => slot.ending?.();
        socket.on('error', (error) => {
          slot.socketError = error;
          ending();
        });
        socket.on('end', ending);
        socket.on('close', ending);
      },
    });
    const client = new Client(this.origin, {
      connect,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: options.responseHeadBytes,
      maxResponseSize: options.responseBodyBytes,
      // Time is kept by `origin-client.ts`, which knows whether a request body is still being sent.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const slot: Slot = { client, sent: 0, socketError: null, ending: null };
    client.on('disconnect', () => this.#drop(slot));
    (client as unknown as NodeJS.EventEmitter).on('error', options.problem);
    this.#slots.add(slot);
    return slot;
  }

  /** Forgets a slot without a connection, if it is idle. */
  #drop(slot: Slot): void {
    const index = this.#idle.indexOf(slot);
    if (index < 0 || slot.client.stats.connected) return;
    this.#idle.splice(index, 1);
    this.#slots.delete(slot);
    void slot.client.destroy().catch(nothing);
  }
}

function nothing(): void {}
