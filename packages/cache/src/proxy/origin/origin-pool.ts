/**
 * The connections to one origin. Each is an undici `Client` of its own with one request at a time.
 * For a failed request, the proxy must know which connection it was on, whether that connection had
 * served before (then the request may have crossed the closing of the connection and may be sent
 * again), and whether the connection ended by an error. undici's `Pool` hides all three, so we do
 * not use it.
 *
 * Idle connections are used last in, first out, so that surplus ones reach their keep-alive timeout
 * and close. Above `CONNECTIONS_PER_ORIGIN`, requests wait in a queue, first come, first served.
 * There is no pipelining: a slow response would delay those behind it.
 */

import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Client } from 'undici';
import { ContinueFilter } from './continue-filter.ts';
import { type ConnectorOptions, originConnector } from './origin-connector.ts';

/**
 * Far above the 6 of a browser, because a stream to a slow client holds its connection until it
 * ends.
 */
export const CONNECTIONS_PER_ORIGIN = 256;
/**
 * Less than the 5 s after which Node's own http server closes, so that requests rarely cross that
 * close.
 */
const KEEP_ALIVE_MS = 4000;

export interface OriginPoolOptions extends Omit<ConnectorOptions, 'opened'> {
  readonly responseHeadBytes: number;
  readonly responseBodyBytes: number;
  readonly connections?: number;
  /** Reports an error that belongs to no request. */
  readonly problem: (error: unknown) => void;
}

/** One connection, or the place for one. */
export interface Slot {
  readonly client: Client;
  /** Requests sent on the currently open connection. */
  sent: number;
  /** The error that ended the connection, if any. */
  socketError: Error | null;
  /** Told of each request, so that it knows where a response begins. */
  readonly continues: ContinueFilter;
  /**
   * Called before the HTTP client learns that the connection ends, because the client must not be
   * paused at that moment.
   */
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

  /** Whether no request uses this pool or waits for it. */
  get unused(): boolean {
    return this.#waiting.size === 0 && this.#idle.length === this.#slots.size;
  }

  get connections(): number {
    return this.#slots.size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Calls `ready` with a connection, at once or later. Returns a function that leaves the queue.
   */
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

  /** Called when the request on this slot has ended, with or without an error. */
  release(slot: Slot): void {
    if (this.#destroyed || !this.#slots.has(slot)) return;
    for (const ready of this.#waiting) {
      this.#waiting.delete(ready);
      ready(slot);
      return;
    }
    this.#idle.push(slot);
    // A failed request has already lost its connection, so no `disconnect` event will follow.
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
        readThrough(socket, slot.continues);
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
      // `origin-fetch.ts` keeps the timers, because it knows whether a request body is still being
      // sent.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const slot: Slot = {
      client,
      sent: 0,
      socketError: null,
      continues: new ContinueFilter(),
      ending: null,
    };
    client.on('disconnect', () => this.#drop(slot));
    // undici emits it, and an error without a listener ends the process, but its types omit it.
    EventEmitter.prototype.on.call(client, 'error', options.problem);
    this.#slots.add(slot);
    return slot;
  }

  /** Removes an idle slot that has no connection. */
  #drop(slot: Slot): void {
    const index = this.#idle.indexOf(slot);
    if (index < 0 || slot.client.stats.connected) return;
    this.#idle.splice(index, 1);
    this.#slots.delete(slot);
    void slot.client.destroy().catch(nothing);
  }
}

/** Makes undici, which calls `read` without a size, get the bytes that the filter passes. */
function readThrough(socket: Socket, filter: ContinueFilter): void {
  const read = socket.read.bind(socket);
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      const passed = chunk && filter.pass(chunk);
      if (passed === null || passed.length > 0) return passed;
    }
  };
}

function nothing(): void {}
