/**
 * The arrays of a node and its neighbours, over the transport: this node's array is published when
 * it has changed, as a coded delta, and those of the neighbours are followed. The messages are
 * those of the library's sync session (docs/spec/sync.md).
 *
 * A change is published after `intervalMs`, together with all others of that time. It travels one
 * hop per interval, and as many hops as there are levels; then no array changes any more.
 * Heartbeats let a neighbour notice that it missed a message.
 */

import type { Cancel, Clock, Transport } from '@bloomery/transport';
import { AttenuatedBloomFilter, type SecretKey } from 'bloomery';
import { SnapshotPublisher, Subscriber } from 'bloomery/wire';
import type { RouteTable } from './decisions/route-table.ts';

const ARRAY_TOPIC = 'route-array';
const SYNC_TOPIC = 'route-sync';
/** Intervals between two heartbeats. */
const HEARTBEAT_INTERVALS = 10;

export interface ArrayExchangeOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly table: RouteTable;
  readonly key?: SecretKey | undefined;
  readonly intervalMs: number;
  /** Told that the array of a neighbour has other parameters than this node's, and is not used. */
  readonly unlike?: ((neighbour: string) => void) | undefined;
}

interface Edge {
  readonly address: string;
  readonly subscriber: Subscriber<AttenuatedBloomFilter>;
  readonly cancel: Cancel;
}

export class ArrayExchange {
  readonly #options: ArrayExchangeOptions;
  readonly #publisher: SnapshotPublisher;
  readonly #edges = new Map<string, Edge>();
  readonly #cancelService: Cancel;
  #cancelTimer: Cancel;
  #isDirty = false;
  #quietIntervals = 0;
  /** Bytes that were published so far, once for all neighbours. */
  publishedBytes = 0;

  constructor(options: ArrayExchangeOptions) {
    this.#options = options;
    const { transport, clock, table, intervalMs } = options;
    const incarnation = Math.floor(clock.now());
    this.#publisher = new SnapshotPublisher({ frame: table.outgoing().encode(), incarnation });
    this.#cancelService = transport.serve(SYNC_TOPIC, (body) => {
      const answer = this.#publisher.answer(body);
      if (answer === null)
        throw new RangeError('Cannot answer: expected a request to this publisher, got another');
      return answer;
    });
    this.#cancelTimer = clock.after(intervalMs * clock.random(), () => this.#tick());
  }

  /** Notes that this node's keys have changed. */
  changed(): void {
    this.#isDirty = true;
  }

  /** Follows these neighbours, by id with their addresses, and no others. */
  follow(neighbours: ReadonlyMap<string, string>): void {
    for (const [id, edge] of this.#edges)
      if (neighbours.get(id) !== edge.address) {
        edge.cancel();
        this.#edges.delete(id);
        this.#set(id, null);
      }
    for (const [id, address] of neighbours)
      if (!this.#edges.has(id)) this.#edges.set(id, this.#open(id, address));
  }

  /** Address of a neighbour that is followed. */
  addressOf(neighbour: string): string | undefined {
    return this.#edges.get(neighbour)?.address;
  }

  close(): void {
    this.#cancelTimer();
    this.#cancelService();
    for (const edge of this.#edges.values()) edge.cancel();
    this.#edges.clear();
  }

  #open(id: string, address: string): Edge {
    const { transport, key } = this.#options;
    const subscriber = new Subscriber({
      structure: AttenuatedBloomFilter,
      // A frame above twice the size of this node's array is not one of this plan.
      maxBytes: 2 * this.#options.table.outgoing().encode().length,
      ...(key && { key }),
    });
    const cancel = transport.subscribe(address, ARRAY_TOPIC, {
      message: (bytes) => this.#receive(id, subscriber, bytes),
      open: () => this.#ask(id, address, subscriber, subscriber.request()),
      closed: () => this.#set(id, null),
    });
    return { address, subscriber, cancel };
  }

  #receive(id: string, subscriber: Subscriber<AttenuatedBloomFilter>, bytes: Uint8Array): void {
    const { reply, changed, verdict } = subscriber.receive(bytes);
    const isBack = verdict === 'confirmed' && !this.#knows(id);
    if (changed || isBack) this.#set(id, subscriber.summary ?? null);
    const address = this.addressOf(id);
    if (reply !== undefined && address !== undefined) this.#ask(id, address, subscriber, reply);
  }

  #ask(id: string, address: string, subscriber: Subscriber<AttenuatedBloomFilter>, body: Uint8Array): void {
    const { transport, intervalMs } = this.#options;
    const timeoutMs = Math.max(1000, 5 * intervalMs);
    transport.request(address, SYNC_TOPIC, body, { timeoutMs }).then(
      (answer) => {
        if (this.#edges.get(id)?.subscriber === subscriber) this.#receive(id, subscriber, answer);
      },
      // The next heartbeat, or the next opening of the link, asks again.
      () => {},
    );
  }

  #knows(id: string): boolean {
    return [...this.#options.table.neighbours()].includes(id);
  }

  #set(id: string, array: AttenuatedBloomFilter | null): void {
    if (!this.#options.table.setNeighbour(id, array)) this.#options.unlike?.(id);
    this.#isDirty = true;
  }

  #tick(): void {
    const { transport, clock, table, intervalMs } = this.#options;
    let message: Uint8Array | null = null;
    if (this.#isDirty) {
      this.#isDirty = false;
      message = this.#publisher.publish(table.outgoing().encode());
    }
    if (message === null && ++this.#quietIntervals >= HEARTBEAT_INTERVALS)
      message = this.#publisher.heartbeat();
    if (message !== null) {
      this.#quietIntervals = 0;
      this.publishedBytes += message.length;
      transport.publish(ARRAY_TOPIC, message);
    }
    this.#cancelTimer = clock.after(intervalMs, () => this.#tick());
  }
}
