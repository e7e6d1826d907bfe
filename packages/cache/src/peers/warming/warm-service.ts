/**
 * Answers neighbours that warm up from this node (topic `warm`, docs/spec/peer-warm.md). Requests
 * are signed as all others between nodes. A neighbour has one comparison at a time, there are two
 * of them at most, and one that is not asked for a minute is forgotten. Its memory is the list of
 * the objects, about 300 bytes each.
 */

import type { Cancel, Clock, FleetKeyring, Transport } from '@bloomery/transport';
import { BUSY, decodeWarmRequest, GONE, type WarmObject } from './decisions/warm-message.ts';
import { bucketCount, intoBuckets } from './object-buckets.ts';
import { MOST_OBJECTS } from './offered-objects.ts';
import { WarmOffer } from './warm-offer.ts';

export const WARM_TOPIC = 'warm';
const MOST_OFFERS = 2;
const IDLE_MS = 60_000;

export interface WarmServiceOptions {
  readonly transport: Pick<Transport, 'serve'>;
  readonly clock: Clock;
  readonly keyring: FleetKeyring;
  /** Reads the objects that this node offers. */
  readonly read: (signal: AbortSignal) => Promise<readonly WarmObject[]>;
  readonly pause: () => Promise<void>;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

/** The comparison of one neighbour: null while the store is read for it. */
interface Held {
  offer: WarmOffer | null;
  readonly abort: AbortController;
  cancelIdle: Cancel;
}

export class WarmService {
  readonly #options: WarmServiceOptions;
  readonly #held = new Map<string, Held>();
  readonly #stopServing: Cancel;

  constructor(options: WarmServiceOptions) {
    this.#options = options;
    this.#stopServing = options.transport.serve(WARM_TOPIC, (body, from) => this.#answer(body, from));
  }

  /** Comparisons that are kept. */
  get offers(): number {
    return this.#held.size;
  }

  close(): void {
    this.#stopServing();
    for (const from of [...this.#held.keys()]) this.#forget(from);
  }

  async #answer(body: Uint8Array, from: string): Promise<Uint8Array> {
    const request = decodeWarmRequest(body);
    if (request === null) return GONE;
    if (request.kind === 'open') return this.#open(from, request.keyId, request.objects);
    const held = this.#held.get(from);
    if (held?.offer == null || held.offer.session !== request.session) return GONE;
    this.#renew(from, held);
    if (request.kind === 'list') return held.offer.list(request.from);
    try {
      return (await held.offer.compare(request.turn, request.buckets)) ?? this.#refuse(from, 'turn');
    } catch (problem) {
      return this.#refuse(from, problem);
    }
  }

  async #open(from: string, keyId: number, objects: number): Promise<Uint8Array> {
    const { keyring, read, pause, event } = this.#options;
    const keys = keyring.find(keyId);
    if (keys === undefined) return GONE;
    if (this.#held.size >= MOST_OFFERS && !this.#held.has(from)) return BUSY;
    this.#forget(from);
    const held: Held = { offer: null, abort: new AbortController(), cancelIdle: () => {} };
    this.#held.set(from, held);
    try {
      const own = await read(held.abort.signal);
      const count = bucketCount(Math.min(MOST_OBJECTS, Math.max(own.length, objects)));
      const split = await intoBuckets(own, count, keys.summary, pause);
      held.abort.signal.throwIfAborted();
      const session = hex(crypto.getRandomValues(new Uint8Array(8)));
      const random = () => crypto.getRandomValues(new Uint8Array(8));
      held.offer = new WarmOffer({ ...split, session, random, pause });
      this.#renew(from, held);
      event('info', 'warm-offer', { peer: from, objects: own.length });
      return held.offer.opening();
    } catch (problem) {
      if (this.#held.get(from) === held) this.#forget(from);
      if (held.abort.signal.aborted) return GONE;
      throw problem;
    }
  }

  #refuse(from: string, problem: unknown): Uint8Array {
    this.#options.event('warn', 'warm-refused', { peer: from, problem });
    this.#forget(from);
    return GONE;
  }

  #renew(from: string, held: Held): void {
    held.cancelIdle();
    held.cancelIdle = this.#options.clock.after(IDLE_MS, () => {
      if (this.#held.get(from) === held) this.#forget(from);
    });
  }

  #forget(from: string): void {
    const held = this.#held.get(from);
    held?.cancelIdle();
    held?.abort.abort();
    this.#held.delete(from);
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
