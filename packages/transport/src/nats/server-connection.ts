/**
 * The connection to the NATS server, which keeps itself up: after each loss it connects again, with
 * pauses of 250 ms to 5 s between the attempts. The client could do this as well; we refused that,
 * because it keeps subscriptions and half-written messages across a restart without a word, and the
 * links of a node must be down from the first moment.
 *
 * A connection that says nothing is noticed by the client's pings after two of them, 10 to 15 s. It
 * is given up at that moment. The client would first wait until its last bytes are sent. In a
 * partition that takes until the kernel has sent them again: 29 s in a partition of 20 s.
 */

import type { Cancel, Clock } from '../clock.ts';
import { Backoff } from '../link/backoff.ts';
import { connectOnce, type NatsClient, type Wire } from './nats-client.ts';
import type { NatsLimits } from './nats-limits.ts';
import type { NatsServerOptions } from './nats-server-options.ts';

export interface ServerConnectionOptions {
  readonly client: NatsClient;
  readonly server: NatsServerOptions;
  readonly clock: Clock;
  readonly limits: NatsLimits;
  /** The name under which the server lists this connection. */
  readonly name: string;
  /** A connection is there. Its subscriptions end with it. */
  readonly opened: (wire: Wire) => void;
  /** The connection is lost, or an attempt failed. */
  readonly lost: (why: string) => void;
  /** The server refused a subject, or told another error on a connection that stays. */
  readonly told: (problem: Error) => void;
}

/** Long messages are cut into pieces of at most `max_payload`, at most 65,535 of them. */
const LEAST_PAYLOAD = 4096;
/** Time for the messages that wait, at the end. */
const DRAIN_MS = 2000;

export class ServerConnection {
  readonly #options: ServerConnectionOptions;
  readonly #backoff: Backoff;
  #wire: Wire | null = null;
  #isClosed = false;
  #stopTimer: Cancel;

  constructor(options: ServerConnectionOptions) {
    const { clock, limits } = options;
    this.#options = options;
    this.#backoff = new Backoff(clock, { firstMs: limits.firstPauseMs, mostMs: limits.longestPauseMs });
    this.#stopTimer = clock.after(0, () => void this.#connect());
  }

  /** Sends the messages that wait, and ends the connection for good. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    const wire = this.#wire;
    this.#wire = null;
    if (wire === null) return;
    let stopWaiting: Cancel = () => {};
    const waited = new Promise<void>((resolve) => {
      stopWaiting = this.#options.clock.after(DRAIN_MS, resolve);
    });
    await Promise.race([wire.connection.drain().catch(() => {}), waited]);
    stopWaiting();
    await wire.connection.close().catch(() => {});
  }

  async #connect(): Promise<void> {
    const { client, server, name, limits, opened } = this.#options;
    let wire: Wire;
    try {
      wire = await connectOnce(client, server, { name, limits });
    } catch (error) {
      this.#failed(wordsOf(error));
      return;
    }
    if (this.#isClosed || wire.maxPayload < LEAST_PAYLOAD) {
      await wire.connection.close().catch(() => {});
      this.#failed(
        `the max_payload of the server is ${wire.maxPayload}; expected at least ${LEAST_PAYLOAD} bytes`,
      );
      return;
    }
    this.#wire = wire;
    this.#backoff.reset();
    void this.#listen(wire);
    void wire.connection
      .closed()
      .then((error) =>
        this.#lost(wire, error === undefined ? 'the server closed the connection' : wordsOf(error)),
      );
    opened(wire);
  }

  #lost(wire: Wire, why: string): void {
    if (this.#wire !== wire) return;
    this.#wire = null;
    this.#failed(why);
  }

  /** Reads what the server tells about the connection. */
  async #listen(wire: Wire): Promise<void> {
    for await (const status of wire.connection.status())
      if (status.type === 'error') this.#options.told(status.error);
      else if (status.type === 'staleConnection') this.#lost(wire, 'the server is silent');
  }

  #failed(why: string): void {
    if (this.#isClosed) return;
    this.#options.lost(why);
    this.#stopTimer = this.#options.clock.after(this.#backoff.nextMs(), () => void this.#connect());
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : 'no connection';
}
