/**
 * Purges between nodes: sends those of this node to each neighbour until it confirms them, and
 * carries out those of neighbours. It uses requests of the transport alone, whose answer is the
 * confirmation, so every adapter carries it. The decisions are in `decisions/purge-journal.ts` and
 * `purge-positions.ts`.
 *
 * A neighbour is told at once, again when its link comes up, and after a failure in 1 s, then after
 * twice as long each time, up to 30 s. While no purge was ever ordered, nothing is sent.
 *
 * A purge is confirmed when no crash of the neighbour can undo it: the key is removed from its
 * disk, and its position is saved. The journal is saved before the first neighbour is told.
 */

import type { Cancel, Clock, Peer, Transport } from '@bloomery/transport';
import {
  PurgeJournal,
  type PurgeJournalState,
  type PurgeMessage,
  type PurgePosition,
} from '../decisions/purge-journal.ts';
import { decodePosition, decodePurges, encodePosition, encodePurges } from '../decisions/purge-message.ts';
import { PurgePositions } from '../decisions/purge-positions.ts';

const PURGE_TOPIC = 'purge';
const TIMEOUT_MS = 10_000;
const SHORTEST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/** Everything that must survive a restart. */
export interface PurgeState {
  readonly journal: PurgeJournalState;
  readonly positions: Readonly<Record<string, PurgePosition>>;
  /** Responses that were stored before this time must be validated; by `Clock.now`. */
  readonly validAfter: number;
}

/** The place that keeps the state. `save` resolves when no crash can undo it. */
export interface PurgeMemory {
  readonly initial: PurgeState | null;
  save(state: PurgeState): Promise<void> | void;
}

export interface PurgeExchangeOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly memory: PurgeMemory;
  /** Removes the responses of a key here. Resolves when no crash can undo it. */
  readonly remove: (key: string) => Promise<unknown> | unknown;
  /** Called with `validAfter` at the start and whenever it changes. */
  readonly validateAll: (validAfter: number) => void;
  readonly event: (level: 'info' | 'warn' | 'error', name: string, fields: Record<string, unknown>) => void;
  /** Purges that are kept; by default 1,024. */
  readonly kept?: number;
}

/** The neighbours that confirmed a purge, and those that have not yet, by name or address. */
export interface PurgeReach {
  readonly confirmed: readonly string[];
  readonly waiting: readonly string[];
}

export class PurgeExchange {
  readonly #options: PurgeExchangeOptions;
  readonly #journal: PurgeJournal;
  readonly #positions: PurgePositions;
  readonly #pushers = new Map<string, PurgePusher>();
  readonly #cancels: Cancel[];
  readonly #waiters = new Set<() => void>();
  #validAfter: number;
  /** Messages of neighbours are carried out one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: PurgeExchangeOptions) {
    const { transport, clock, memory, kept, validateAll } = options;
    const { initial } = memory;
    this.#options = options;
    const epoch = () => Math.floor(clock.random() * 2 ** 52).toString(16);
    this.#journal = new PurgeJournal(initial?.journal ?? { epoch: epoch(), dropped: 0, keys: [] }, kept);
    this.#positions = new PurgePositions(initial?.positions);
    this.#validAfter = initial?.validAfter ?? 0;
    validateAll(this.#validAfter);
    for (const peer of transport.peers()) this.#pusher(peer);
    this.#cancels = [
      transport.watchPeers((peer) => {
        if (peer.state === 'gone') this.#forget(peer);
        else this.#pusher(peer).changed(peer);
      }),
      transport.serve(PURGE_TOPIC, (body, from) => this.#receive(body, from)),
    ];
  }

  /** Responses that were stored before this time must be validated. */
  get validAfter(): number {
    return this.#validAfter;
  }

  /** Orders a purge of all neighbours. Resolves with its number, when no crash can undo it. */
  async order(key: string): Promise<number> {
    const sequence = this.#journal.add(key);
    await this.#save();
    for (const pusher of this.#pushers.values()) pusher.push();
    return sequence;
  }

  /** The neighbours that have confirmed all purges up to a number. */
  reachOf(sequence: number): PurgeReach {
    const confirmed: string[] = [];
    const waiting: string[] = [];
    for (const pusher of this.#pushers.values()) {
      if (pusher.isSelf) continue;
      (pusher.hasConfirmed(sequence) ? confirmed : waiting).push(pusher.name);
    }
    return { confirmed, waiting };
  }

  /** Waits until all neighbours have confirmed a purge, at most for a time. It never rejects. */
  async settled(sequence: number, timeoutMs: number): Promise<PurgeReach> {
    let isLate = false;
    const cancel = this.#options.clock.after(timeoutMs, () => {
      isLate = true;
      for (const waiter of this.#waiters) waiter();
    });
    while (!isLate && this.reachOf(sequence).waiting.length > 0)
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    cancel();
    return this.reachOf(sequence);
  }

  close(): void {
    for (const cancel of this.#cancels) cancel();
    for (const pusher of this.#pushers.values()) pusher.close();
    for (const waiter of this.#waiters) waiter();
  }

  #pusher(peer: Peer): PurgePusher {
    let pusher = this.#pushers.get(peer.address);
    if (pusher === undefined) {
      const { transport, clock } = this.#options;
      pusher = new PurgePusher(peer, {
        transport,
        clock,
        journal: this.#journal,
        told: () => this.#wake(),
      });
      this.#pushers.set(peer.address, pusher);
    }
    return pusher;
  }

  /** A neighbour that left the fleet is not waited for. */
  #forget({ address }: Peer): void {
    this.#pushers.get(address)?.close();
    this.#pushers.delete(address);
    this.#wake();
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }

  #receive(body: Uint8Array, from: string): Promise<Uint8Array> {
    const answer = this.#turn.then(async () => {
      const message = decodePurges(body);
      const none: PurgeMessage = { epoch: '', after: 0, keys: [], isReset: false };
      return encodePosition(await this.#carryOut(message ?? none, from));
    });
    this.#turn = answer.catch(() => {});
    return answer;
  }

  async #carryOut(message: PurgeMessage, from: string): Promise<PurgePosition> {
    const { remove, validateAll, clock, event } = this.#options;
    const { keys, mustValidateAll, position } = this.#positions.effectOf(from, message);
    for (const key of keys) {
      await remove(key);
      event('info', 'purged', { url: key, from });
    }
    if (mustValidateAll) {
      this.#validAfter = clock.now();
      validateAll(this.#validAfter);
      event('warn', 'purges-missed', { from, missed: message.after });
    }
    if (position.epoch === message.epoch) {
      this.#positions.moveTo(from, position);
      await this.#save();
    }
    return position;
  }

  #save(): Promise<void> | void {
    const positions = this.#positions.state;
    return this.#options.memory.save({
      journal: this.#journal.state,
      positions,
      validAfter: this.#validAfter,
    });
  }
}

interface PusherParts {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly journal: PurgeJournal;
  readonly told: () => void;
}

/** Tells one neighbour. */
class PurgePusher {
  readonly #parts: PusherParts;
  #peer: Peer;
  /** Position of the neighbour, or null while it is not known. */
  #position: PurgePosition | null = null;
  #isPushing = false;
  #retryMs = SHORTEST_RETRY_MS;
  #cancelRetry: Cancel = nothing;
  #isClosed = false;

  constructor(peer: Peer, parts: PusherParts) {
    this.#peer = peer;
    this.#parts = parts;
    this.push();
  }

  get name(): string {
    return this.#peer.id ?? this.#peer.address;
  }

  get isSelf(): boolean {
    return this.#peer.state === 'self';
  }

  hasConfirmed(sequence: number): boolean {
    const position = this.#position;
    return position !== null && position.epoch === this.#parts.journal.epoch && position.sequence >= sequence;
  }

  changed(peer: Peer): void {
    const isNew = peer.state !== this.#peer.state || peer.id !== this.#peer.id;
    this.#peer = peer;
    if (!isNew || peer.state !== 'up') return;
    // It may have lost its disk meanwhile, or be another node.
    this.#position = null;
    this.#retryMs = SHORTEST_RETRY_MS;
    this.push();
  }

  /** Sends what the neighbour lacks. */
  push(): void {
    const { journal } = this.#parts;
    if (this.#isClosed || this.#isPushing || this.#peer.state !== 'up') return;
    if (journal.isCurrent(this.#position)) return;
    this.#cancelRetry();
    this.#isPushing = true;
    void this.#send().finally(() => {
      this.#isPushing = false;
      this.push();
    });
  }

  async #send(): Promise<void> {
    const { transport, journal, clock, told } = this.#parts;
    const peer = this.#peer;
    const message = journal.messageFor(this.#position);
    let position: PurgePosition | null = null;
    try {
      const options = { timeoutMs: TIMEOUT_MS };
      position = decodePosition(
        await transport.request(peer.address, PURGE_TOPIC, encodePurges(message), options),
      );
    } catch {
      // It is told again below.
    }
    if (peer !== this.#peer && peer.id !== this.#peer.id) return;
    const isProgress = position !== null && (message.keys.length === 0 || hasTaken(position, message));
    this.#position = position;
    if (isProgress) {
      this.#retryMs = SHORTEST_RETRY_MS;
      told();
      return;
    }
    const retryMs = this.#retryMs * (0.75 + 0.5 * clock.random());
    this.#retryMs = Math.min(LONGEST_RETRY_MS, 2 * this.#retryMs);
    await new Promise<void>((resolve) => {
      const cancel = clock.after(retryMs, resolve);
      this.#cancelRetry = () => {
        cancel();
        resolve();
      };
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry();
  }
}

function hasTaken(position: PurgePosition, { epoch, after, keys }: PurgeMessage): boolean {
  return position.epoch === epoch && position.sequence >= after + keys.length;
}

function nothing(): void {}
