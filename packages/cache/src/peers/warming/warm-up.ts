/**
 * A warm-up: fills this node from a neighbour, by the objects that the neighbour has and this node
 * lacks (compare-objects.ts). There is one at a time. It can be stopped, and repeated at any time:
 * what was fetched is here, so the next comparison leaves it out.
 *
 * Objects come from that neighbour alone, over the same questions as at a miss. The origin is never
 * asked: an object that the neighbour does not give any more is counted as refused. Four of them
 * are fetched at a time, and a rate bounds the bytes per second.
 */

import { type Clock, type Peer, type Transport, TransportError } from '@bloomery/transport';
import type { SecretKey } from 'bloomery';
import type { Neighbour } from '../neighbour-port.ts';
import { compareObjects } from './compare-objects.ts';
import type { WarmObject } from './decisions/warm-message.ts';
import { planWarmUp } from './decisions/warm-plan.ts';
import { WarmError } from './warm-error.ts';
import { WARM_TOPIC } from './warm-service.ts';

/** How the fetch of one object ended. */
export type WarmFetchEnd = 'stored' | 'present' | 'refused' | 'skipped';

export interface WarmUpOptions {
  readonly transport: Pick<Transport, 'peers' | 'request'>;
  readonly clock: Clock;
  /** The summary key of a secret, and its id. */
  readonly keyOf: (keyId: number | null) => { readonly id: number; readonly summary: SecretKey };
  /** The objects of this node, with copies. */
  readonly read: (signal: AbortSignal) => Promise<readonly WarmObject[]>;
  /** Bytes that can be stored without evicting anything. */
  readonly roomBytes: () => number;
  /** Fetches an object from the neighbour into the store. It never rejects. */
  readonly fetch: (object: WarmObject, from: Neighbour) => Promise<WarmFetchEnd>;
  readonly pause: () => Promise<void>;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
}

export interface WarmOrder {
  /** The id or the address of the neighbour. */
  readonly from: string;
  /** Compares, and fetches nothing. */
  readonly isDryRun?: boolean;
  /** Bytes to fetch at most. */
  readonly maxBytes?: number | undefined;
  /** Bytes per second at most. */
  readonly bytesPerSecond?: number | undefined;
}

export interface WarmStatus {
  readonly state: 'idle' | 'comparing' | 'fetching' | 'done' | 'stopped' | 'failed';
  /** The neighbour. */
  readonly from: string | null;
  readonly isDryRun: boolean;
  /** Objects that the neighbour offers, and those that are missing here. */
  readonly offered: number;
  readonly lacking: number;
  readonly lackingBytes: number;
  /** Objects to fetch, and their bytes. The others become stale too soon, or find no room. */
  readonly wanted: number;
  readonly wantedBytes: number;
  readonly stale: number;
  readonly tooMany: number;
  readonly stored: number;
  readonly storedBytes: number;
  /** Objects that came by other ways meanwhile. */
  readonly present: number;
  /** Objects that the neighbour refused, or that the store did not keep. */
  readonly refused: number;
  /** Objects that have no route here, or that this node may not fetch from a neighbour. */
  readonly skipped: number;
  /** Bytes and requests of the comparison. */
  readonly compareBytes: number;
  readonly compareRequests: number;
  readonly problem: { readonly code: string; readonly message: string } | null;
}

const AT_ONCE = 4;
const REQUEST_MS = 60_000;

const IDLE: WarmStatus = {
  state: 'idle',
  from: null,
  isDryRun: false,
  offered: 0,
  lacking: 0,
  lackingBytes: 0,
  wanted: 0,
  wantedBytes: 0,
  stale: 0,
  tooMany: 0,
  stored: 0,
  storedBytes: 0,
  present: 0,
  refused: 0,
  skipped: 0,
  compareBytes: 0,
  compareRequests: 0,
  problem: null,
};

export class WarmUp {
  readonly #options: WarmUpOptions;
  #status: WarmStatus = IDLE;
  #controller: AbortController | null = null;

  constructor(options: WarmUpOptions) {
    this.#options = options;
  }

  get status(): WarmStatus {
    return this.#status;
  }

  /** Begins. Throws a `WarmError` if it cannot; later failures are in the status. */
  start(order: WarmOrder): void {
    if (this.#controller !== null)
      throw new WarmError('running', `expected no other warm-up, got one from ${this.#status.from}`);
    const peer = this.#find(order.from);
    const controller = new AbortController();
    this.#controller = controller;
    this.#status = {
      ...IDLE,
      state: 'comparing',
      from: peer.id ?? peer.address,
      isDryRun: order.isDryRun === true,
    };
    this.#run(peer, order, controller.signal)
      .then(
        () => this.#change({ state: 'done' }),
        (error: unknown) => this.#failed(error, controller.signal.aborted),
      )
      .finally(() => {
        this.#controller = null;
        const { state, from, stored, storedBytes, problem } = this.#status;
        this.#options.event(state === 'failed' ? 'warn' : 'info', 'warm-up', {
          state,
          peer: from,
          stored,
          storedBytes,
          ...(problem === null ? {} : { problem: problem.message }),
        });
      });
  }

  /** Ends a running warm-up. What was fetched stays. */
  stop(): void {
    this.#controller?.abort();
  }

  async #run(peer: Peer, order: WarmOrder, signal: AbortSignal): Promise<void> {
    const { transport, keyOf, read, pause, roomBytes } = this.#options;
    const { id: keyId, summary } = keyOf(peer.keys[0] ?? null);
    const own = await read(signal);
    const { offered, lacking, bytesSent, bytesReceived, requests } = await compareObjects({
      own,
      keyId,
      key: summary,
      ask: (body) =>
        transport
          .request(peer.address, WARM_TOPIC, body, { timeoutMs: REQUEST_MS, signal })
          .catch((error: unknown) => {
            throw signal.aborted ? error : requestError(error);
          }),
      random: () => crypto.getRandomValues(new Uint8Array(8)),
      pause,
      signal,
    });
    const room = Math.min(roomBytes(), order.maxBytes ?? Number.POSITIVE_INFINITY);
    const plan = planWarmUp(lacking, room);
    this.#change({
      offered,
      lacking: lacking.length,
      lackingBytes: lacking.reduce((sum, { bytes }) => sum + bytes, 0),
      wanted: plan.wanted.length,
      wantedBytes: plan.wanted.reduce((sum, { bytes }) => sum + bytes, 0),
      stale: plan.stale,
      tooMany: plan.tooMany,
      compareBytes: bytesSent + bytesReceived,
      compareRequests: requests,
    });
    if (order.isDryRun) return;
    this.#change({ state: 'fetching' });
    const neighbour = { id: peer.id, address: peer.address, keyId };
    const pace = new Pace(this.#options.clock, order.bytesPerSecond);
    const left = plan.wanted[Symbol.iterator]();
    const worker = async () => {
      for (const object of left) {
        await pace.take(object.bytes, signal);
        if (signal.aborted) return;
        await this.#fetch(object, neighbour);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    signal.throwIfAborted();
  }

  async #fetch(object: WarmObject, neighbour: Neighbour): Promise<void> {
    const end = await this.#options.fetch(object, neighbour);
    this.#change({ [end]: this.#status[end] + 1 });
    if (end === 'stored') this.#change({ storedBytes: this.#status.storedBytes + object.bytes });
  }

  #find(from: string): Peer {
    const wanted = URL.canParse(from) ? new URL(from).origin : from;
    const peers = this.#options.transport.peers();
    const peer = peers.find(({ id, address }) => id === from || new URL(address).origin === wanted);
    if (peer === undefined) {
      const known = peers.map(({ id, address }) => (id === null ? address : `${id} (${address})`));
      throw new WarmError(
        'neighbour',
        `expected a neighbour of this node (${known.join(', ') || 'it has none'}), got ${from}`,
      );
    }
    if (peer.state !== 'up')
      throw new WarmError(
        'neighbour',
        `expected a neighbour that is up, got ${peer.why ?? peer.state} (${from})`,
      );
    return peer;
  }

  #change(change: Partial<WarmStatus>): void {
    this.#status = { ...this.#status, ...change };
  }

  #failed(error: unknown, isStopped: boolean): void {
    if (isStopped) {
      this.#change({ state: 'stopped' });
      return;
    }
    const { code, message } = error as { readonly code?: string; readonly message: string };
    this.#change({ state: 'failed', problem: { code: code ?? 'failed', message } });
  }
}

/** Lets bytes pass at a rate: each object waits until those before it have had their time. */
class Pace {
  readonly #clock: Clock;
  readonly #bytesPerSecond: number | undefined;
  #freeAt: number;

  constructor(clock: Clock, bytesPerSecond: number | undefined) {
    this.#clock = clock;
    this.#bytesPerSecond = bytesPerSecond;
    this.#freeAt = clock.monotonic();
  }

  /** Resolves when these bytes may be fetched, or at once when the signal comes. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.#bytesPerSecond === undefined) return;
    const now = this.#clock.monotonic();
    const waitMs = Math.max(0, this.#freeAt - now);
    this.#freeAt = Math.max(now, this.#freeAt) + (1000 * bytes) / this.#bytesPerSecond;
    if (waitMs === 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(waitMs, resolve);
      signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }
}

function requestError(error: unknown): unknown {
  if (!(error instanceof TransportError)) return error;
  if (error.code === 'topic')
    return new WarmError(
      'unsupported',
      'expected a neighbour that offers its objects, got one with workers, or of an older version',
    );
  return new WarmError('unreachable', `expected an answer, got none (${error.message})`, { cause: error });
}
