/**
 * The place where the nodes of a fleet leave their full states: a KV bucket of JetStream, with one
 * key per node and topic. A node that joins reads all of them at once, and then asks each neighbour
 * only for the changes since. With 64 neighbours that hold 100,000 objects each this saves 64 full
 * states, which their nodes would build at the same time.
 *
 * A state found here may be old, or put back by another user of the server: its signature only
 * proves that the node made it once. So it counts only if its life is the one whose presence is
 * heard, and it is never taken for current: the subscriber asks after it (`Subscription.state`).
 *
 * Where the server has no JetStream, or does not let this node use it, there is no shelf. Joining
 * nodes then get full states by requests, which works and costs more. States that do not fit into
 * `max_payload` are left out and are also asked for.
 */

import type { KV } from '@nats-io/kv';
import type { Cancel, Clock } from '../clock.ts';
import { type Envelope, envelopeOverhead } from '../presence/envelope.ts';
import type { Life } from '../presence/presence-link.ts';
import type { SealedEnvelopes } from '../presence/sealed-envelopes.ts';
import type { NatsClient, Wire } from './nats-client.ts';
import type { NatsEvent } from './nats-status.ts';
import type { FleetSubjects } from './subjects.ts';

export interface StateShelfOptions {
  readonly client: NatsClient;
  readonly clock: Clock;
  readonly node: string;
  readonly seals: SealedEnvelopes;
  readonly subjects: FleetSubjects;
  /** The topics whose states this node reads, or null for all. */
  readonly topics: readonly string[] | null;
  readonly event: NatsEvent;
}

/** The states of one topic of this node. */
interface OwnState {
  /** The state that waits to be put. */
  latest: { readonly number: number; readonly state: Uint8Array } | null;
  isBusy: boolean;
}

/** States of nodes that ended without a goodbye go after a day. */
const TTL_MS = 24 * 3600 * 1000;
const MOST_STATES = 4096;
const MOST_HELD_BYTES = 256 * 1024 * 1024;
/** Headers and subject of a put. */
const KV_OVERHEAD = 1024;

export class StateShelf {
  readonly #options: StateShelfOptions;
  #kv: KV | null = null;
  #maxPayload = 0;
  /** The states found at the join, by node and topic. */
  #found = new Map<string, Envelope>();
  readonly #own = new Map<string, OwnState>();
  #isLargeTold = false;

  constructor(options: StateShelfOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#kv !== null;
  }

  /** Opens the bucket on a new connection, and makes it if there is none. */
  async open(wire: Wire): Promise<void> {
    const { client, subjects, event } = this.#options;
    this.#kv = null;
    this.#maxPayload = wire.maxPayload;
    if (!wire.hasJetStream) {
      event('info', 'nats-no-jetstream', { effect: 'nodes that join ask for full states by requests' });
      return;
    }
    try {
      this.#kv = await new client.kv.Kvm(wire.connection).create(subjects.bucket, {
        history: 1,
        ttl: TTL_MS,
      });
    } catch (error) {
      event('warn', 'nats-no-states', { bucket: subjects.bucket, problem: (error as Error).message });
    }
  }

  /** The connection is lost. */
  lost(): void {
    this.#kv = null;
  }

  /** Reads all states of other nodes. Resolves when all are there, or after this time. */
  async readAll(ms: number): Promise<void> {
    const { clock, event } = this.#options;
    const kv = this.#kv;
    if (kv === null) return;
    let stopTimer: Cancel = () => {};
    const late = new Promise<void>((resolve) => {
      stopTimer = clock.after(ms, resolve);
    });
    const read = this.#read(kv, late).catch((error) => {
      event('warn', 'nats-no-states', { problem: (error as Error).message });
    });
    await Promise.race([read, late]);
    stopTimer();
  }

  /** Drops the states that no link has used. */
  forgetFound(): void {
    this.#found.clear();
  }

  /** The state that a life of a node left on a topic. It is given out once. */
  take({ node, life }: Life, topic: string, lastNumber: number): Uint8Array | null {
    const key = this.#options.subjects.stateKey(node, topic);
    const found = this.#found.get(key);
    if (found === undefined) return null;
    this.#found.delete(key);
    const isOfLife = found.node === node && found.life === life && found.number <= lastNumber;
    return isOfLife ? found.payload : null;
  }

  /** Leaves the state of a topic after the message with this number. The latest one wins. */
  leave(topic: string, number: number, state: Uint8Array): void {
    const own = this.#own.get(topic) ?? { latest: null, isBusy: false };
    this.#own.set(topic, own);
    own.latest = { number, state };
    if (!own.isBusy) void this.#put(topic);
  }

  /** Removes what this node left, because it leaves itself. */
  async removeOwn(): Promise<void> {
    const kv = this.#kv;
    const { node, subjects } = this.#options;
    this.#kv = null;
    if (kv === null) return;
    const keys = [...this.#own.keys()].map((topic) => subjects.stateKey(node, topic));
    await Promise.all(keys.map((key) => kv.purge(key).catch(() => {})));
  }

  async #put(topic: string): Promise<void> {
    const { node, seals, subjects, event } = this.#options;
    const own = this.#own.get(topic)!;
    own.isBusy = true;
    while (own.latest !== null && this.#kv !== null) {
      const { number, state } = own.latest;
      own.latest = null;
      if (!this.#fits(state)) continue;
      const key = subjects.stateKey(node, topic);
      const sealed = seals.seal(key, { kind: 'state', number, payload: state });
      try {
        await this.#kv.put(key, sealed);
      } catch (error) {
        // The next state is put again; until then the older one is there.
        event('warn', 'nats-state-not-left', { topic, problem: (error as Error).message });
      }
    }
    own.isBusy = false;
  }

  #fits(state: Uint8Array): boolean {
    const most = this.#maxPayload - envelopeOverhead(this.#options.node) - KV_OVERHEAD;
    if (state.length <= most) return true;
    if (!this.#isLargeTold)
      this.#options.event('warn', 'nats-state-too-large', {
        bytes: state.length,
        maxPayload: this.#maxPayload,
        effect: 'nodes that join ask for it by a request; a larger max_payload at the server ends that',
      });
    this.#isLargeTold = true;
    return false;
  }

  async #read(kv: KV, late: Promise<void>): Promise<void> {
    const { seals, node, subjects, topics } = this.#options;
    this.#found = new Map();
    let held = 0;
    // The watch of an empty bucket brings no entry that would say that it is over.
    if ((await kv.status()).values === 0) return;
    const filter = topics?.map((topic) => subjects.statesOf(topic));
    // Neither does a watch of keys that are not there.
    if (filter !== undefined && !(await hasKeys(kv, filter))) return;
    const watch = await kv.watch(filter === undefined ? {} : { key: filter });
    void late.then(() => watch.stop());
    for await (const { key, value, operation, delta } of watch) {
      const opened = operation === 'PUT' ? seals.openState(key, value) : null;
      if (opened !== null && !('refused' in opened) && isStateOfOther(opened.envelope, node)) {
        this.#found.set(key, opened.envelope);
        held += value.length;
      }
      if (delta === 0 || this.#found.size >= MOST_STATES || held > MOST_HELD_BYTES) break;
    }
    watch.stop();
  }
}

async function hasKeys(kv: KV, filter: string[]): Promise<boolean> {
  for await (const _ of await kv.keys(filter)) return true;
  return false;
}

function isStateOfOther({ kind, node }: Envelope, self: string): boolean {
  return kind === 'state' && node !== self;
}
