/**
 * The summary that this node publishes, and the timer that drives it. Which keys are in it, when it
 * is sent and when its universe grows are decisions of `decisions/summary-keeper.ts` and of the
 * library's `shouldSend`. This file runs them: it takes the steps in slices, hands messages to the
 * transport, and answers neighbours that ask for what they missed.
 *
 * A heartbeat names the last state, so that a neighbour that missed a message notices. Two follow
 * each update, after 5 s and 10 s; without updates there is one every 30 s. At first we sent one
 * every 5 s. In an idle fleet of 64 they were half of all messages, although the transport sends
 * signs of life of its own, and a node took 9 to 12 ms of CPU per second instead of 5.
 *
 * The incarnation is the time of the start in seconds. If a node is started twice within a second,
 * or its clock was set back, neighbours notice by the sum of the state and ask for it again.
 */

import { type Cancel, type Clock, MAX_MESSAGE_BYTES, type Transport } from '@bloomery/transport';
import type { HashScheme, KeyHash } from 'bloomery';
import {
  AT_REST,
  afterSending,
  readSyncMessage,
  SEND_LIMITS,
  type SendLimits,
  SetPublisher,
  shouldSend,
} from 'bloomery/wire';
import {
  type Instant,
  type KeeperStep,
  SummaryKeeper,
  type SummaryKeeperOptions,
  type SummaryPublisher,
  WHEEL_TICK_MS,
} from './decisions/summary-keeper.ts';
import { LeftState } from './left-state.ts';
import type { KeyedHash } from './neighbour-port.ts';
import type { SummaryVersion } from './objects/object-response.ts';
import type { SlicedWork } from './sliced-work.ts';
import { SUMMARY_TOPIC } from './summary-follower.ts';

export interface OwnSummaryOptions {
  readonly transport: Pick<Transport, 'publish' | 'serve' | 'leaveState' | 'datagramBytes'>;
  readonly clock: Clock;
  readonly work: SlicedWork;
  readonly keyId: number;
  /** The scheme of the fleet's hashes. */
  readonly scheme: HashScheme;
  readonly neighbours: number;
  /** Bytes per second for each neighbour. */
  readonly bandwidth: number;
  /** Limits of the pace, apart from the bandwidth. Default SEND_LIMITS. */
  readonly limits?: Partial<SendLimits> | undefined;
  /** False candidates at a miss; see `SummaryKeeperOptions`. */
  readonly falseCandidates?: number | undefined;
  readonly event: (level: 'info' | 'warn', name: string, fields: Record<string, unknown>) => void;
  /** Called when a new version was published. */
  readonly published?: () => void;
  /** Told of each key that comes into the summary or leaves it. */
  readonly held?: ((hash: KeyedHash, isHeld: boolean) => void) | undefined;
}

/**
 * Generations that a delta can start from. A busy node publishes four per second, so these are 68
 * minutes: a neighbour that was away for that time gets what it missed, 1 to 3 bytes per change,
 * where the full state takes 1.2 for each object and a session of reconciliation 12 to 24 per
 * change (bench/results/catch-up.md). With 256 generations, the library's default, it was a minute.
 * The library bounds the bytes of all of them as well, by 1 MiB.
 */
const HISTORY = 16_384;
/** The universe of an empty node; it grows with the set. */
const FIRST_UNIVERSE = 2 ** 20;
const HEARTBEAT_MS = 5000;
/** Heartbeats after an update, in case that both the update and the first of them are lost. */
const HEARTBEATS_AFTER_UPDATE = 2;
/** Without updates, one heartbeat in this many is sent. */
const RESTING_HEARTBEATS = 6;
/** Changes that come within this time are looked at together. */
const GATHER_MS = 10;

export class OwnSummary {
  readonly #options: OwnSummaryOptions;
  readonly #publisher: SetPublisher;
  readonly #keeper: SummaryKeeper;
  readonly #stopServing: Cancel;
  readonly #limits: SendLimits;
  /** The state for nodes that join, or null if the transport has no place for it. */
  readonly #left: LeftState | null;
  #pace = AT_REST;
  /** The timer of the next step: when it ends, and how to end it before. Null while work runs. */
  #timer: { readonly at: number; readonly cancel: Cancel } | null = null;
  #cancelHeartbeat: Cancel = () => {};
  /** Heartbeats that were due since the last update. */
  #heartbeatsDue = 0;
  #isRunning = false;
  #isClosed = false;
  #updates = 0;
  #bytes = 0;
  #fullBytes: number | null = null;
  #deltaBytes: number | null = null;

  constructor(options: OwnSummaryOptions) {
    const { transport, clock, keyId, scheme, neighbours, limits, falseCandidates } = options;
    this.#options = options;
    this.#publisher = new SetPublisher({
      incarnation: Math.floor(clock.now() / 1000),
      publisherId: keyId,
      universe: FIRST_UNIVERSE,
      keyId,
      scheme,
      historyGenerations: HISTORY,
    });
    this.#limits = { ...SEND_LIMITS, ...limits, bytesPerSecond: options.bandwidth };
    this.#keeper = new SummaryKeeper({
      publisher: options.held === undefined ? this.#publisher : this.#told(options.held),
      scheme,
      neighbours,
      falseCandidates,
      mostBytes: MAX_MESSAGE_BYTES,
      pieces: this.#newPieces(),
      now: this.#now(),
      pace: (pending, steadyMs) =>
        shouldSend(
          {
            size: pending.size,
            additions: pending.additions,
            deletions: pending.removals,
            additionsSince: pending.oldestAdditionMs ?? 0,
            deletionsSince: pending.oldestRemovalMs ?? 0,
          },
          this.#pace,
          steadyMs,
          this.#limits,
        ),
    });
    this.#left = transport.leaveState === undefined ? null : this.#newLeftState();
    this.#stopServing = transport.serve(SUMMARY_TOPIC, (body) => this.#answer(body));
    this.#wakeAfter(0);
    this.#beat();
  }

  /** `part` names the process that holds the key, 0 to 255. */
  keep(hash: KeyHash, until: number, part = 0): void {
    // A key that was there may have to leave sooner than the timer of the next step.
    const isNew = this.#keeper.keep(hash, until, this.#now(), part);
    this.#wakeAfter(isNew ? GATHER_MS : WHEEL_TICK_MS);
  }

  drop(hash: KeyHash): void {
    if (this.#keeper.drop(hash, this.#now())) this.#wakeAfter(GATHER_MS);
  }

  /** Drops everything that an ended process told. Calls `done` when nothing of it is left. */
  dropPart(part: number, done: () => void): void {
    const { work, event } = this.#options;
    const finish = () => {
      this.#wakeAfter(GATHER_MS);
      done();
    };
    work.run(
      this.#keeper.dropPart(part, () => this.#now()),
      finish,
      (error) => {
        event('warn', 'summary-part-not-dropped', { problem: error });
        finish();
      },
    );
  }

  /** Sets the number of neighbours. The universe is adapted to it at the next step. */
  set neighbours(count: number) {
    this.#keeper.neighbours = count;
    this.#wakeAfter(GATHER_MS);
  }

  /** Objects in the summary. */
  get objects(): number {
    return this.#keeper.size;
  }

  /** Share of the keys that are not here for which the summary says "maybe". */
  get falsePositiveRate(): number {
    return this.#publisher.size / this.#publisher.universe;
  }

  get universe(): number {
    return this.#publisher.universe;
  }

  /** Bytes of the whole summary as it was last sent, or an estimate if it was never sent. */
  get fullBytes(): number {
    return this.#fullBytes ?? estimatedFullBytes(this.#publisher.size, this.#publisher.universe);
  }

  /** Bytes of the last delta, or null before the first. */
  get deltaBytes(): number | null {
    return this.#deltaBytes;
  }

  get version(): SummaryVersion {
    const { epoch, sequence } = this.#publisher.generation;
    return { epoch: Number(epoch), sequence };
  }

  /** Messages that were published. */
  get updates(): number {
    return this.#updates;
  }

  /** Bytes of those messages, counted once for all neighbours. */
  get bytes(): number {
    return this.#bytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#cancelHeartbeat();
    this.#stopServing();
  }

  /** The publisher, whose changes are told to a listener as well. */
  #told(held: (hash: KeyedHash, isHeld: boolean) => void): SummaryPublisher {
    const publisher = this.#publisher;
    const { keyId } = this.#options;
    const tell = ({ low, high }: KeyHash, isHeld: boolean) => held({ keyId, low, high }, isHeld);
    return {
      get universe() {
        return publisher.universe;
      },
      get size() {
        return publisher.size;
      },
      addHash(hash) {
        tell(hash, true);
        return publisher.addHash(hash);
      },
      deleteHash(hash) {
        tell(hash, false);
        return publisher.deleteHash(hash);
      },
      publishInSteps: (options) => publisher.publishInSteps(options),
      resizeInSteps: (universe, hashes) => publisher.resizeInSteps(universe, hashes),
    };
  }

  #now(): Instant {
    const { clock } = this.#options;
    return { wallMs: clock.now(), steadyMs: clock.monotonic() };
  }

  /** Takes the next step at the latest after this time. */
  #wakeAfter(ms: number): void {
    const { clock } = this.#options;
    if (this.#isClosed || this.#isRunning) return;
    const at = clock.monotonic() + ms;
    if (this.#timer !== null && this.#timer.at <= at) return;
    this.#timer?.cancel();
    this.#timer = {
      at,
      cancel: clock.after(ms, () => {
        this.#timer = null;
        this.#step();
      }),
    };
  }

  #step(): void {
    const step = this.#keeper.next(this.#now());
    if (step.kind === 'wait') this.#wakeAfter(step.waitMs);
    else this.#run(step);
  }

  #run({ kind, steps }: Exclude<KeeperStep, { kind: 'wait' }>): void {
    const { work, event } = this.#options;
    this.#isRunning = true;
    const finish = (message: Uint8Array | null) => {
      this.#isRunning = false;
      this.#keeper.finish(message, this.#now());
      if (message !== null) {
        if (isFullState(message)) this.#fullBytes = message.length;
        else this.#deltaBytes = message.length;
        this.#send(message);
      }
      this.#wakeAfter(0);
    };
    work.run(steps, finish, (error) => {
      event('warn', 'summary-not-published', { kind, problem: error });
      finish(null);
    });
  }

  #send(message: Uint8Array): void {
    const { transport, clock } = this.#options;
    if (this.#isClosed) return;
    if (message.length > MAX_MESSAGE_BYTES) {
      // The keeper chooses the universe so that this does not happen (summary-universe.ts).
      this.#options.event('warn', 'summary-too-large', { bytes: message.length });
      return;
    }
    transport.publish(SUMMARY_TOPIC, message);
    this.#left?.published(message.length);
    this.#heartbeatsDue = 0;
    this.#updates++;
    this.#bytes += message.length;
    this.#pace = afterSending(this.#pace, message.length, clock.monotonic(), this.#limits);
    this.#options.published?.();
  }

  /** Messages of one datagram each, if the transport has datagrams. */
  #newPieces(): SummaryKeeperOptions['pieces'] {
    const mostBytes = this.#options.transport.datagramBytes?.(SUMMARY_TOPIC);
    return mostBytes === undefined ? undefined : { mostBytes, send: (piece) => this.#send(piece) };
  }

  #newLeftState(): LeftState {
    const { transport, work, event } = this.#options;
    return new LeftState({
      work,
      full: () => this.#publisher.fullInSteps(),
      leave: (state) => {
        if (!this.#isClosed) transport.leaveState?.(SUMMARY_TOPIC, state);
      },
      failed: (error) => event('warn', 'summary-state-not-left', { problem: error }),
    });
  }

  #answer(request: Uint8Array): Promise<Uint8Array> {
    const { work } = this.#options;
    return new Promise((resolve, reject) => {
      work.run(
        this.#publisher.answerInSteps(request),
        (answer) => {
          if (answer !== null && isFullState(answer)) this.#fullBytes = answer.length;
          resolve(answer ?? new Uint8Array(0));
        },
        reject,
      );
    });
  }

  #beat(): void {
    const { transport, clock } = this.#options;
    this.#cancelHeartbeat = clock.after(HEARTBEAT_MS, () => {
      const due = ++this.#heartbeatsDue;
      if (due <= HEARTBEATS_AFTER_UPDATE || due % RESTING_HEARTBEATS === 0)
        transport.publish(SUMMARY_TOPIC, this.#publisher.heartbeat());
      this.#beat();
    });
  }
}

/** Whether a message of the session about the set (version 2) carries the whole set. */
function isFullState(message: Uint8Array): boolean {
  return readSyncMessage(message, 2).type === 'full';
}

/** Entropy of a random set, which the coder comes near to, and the head of the message. */
function estimatedFullBytes(size: number, universe: number): number {
  const share = size / universe;
  if (share <= 0 || share >= 1) return HEAD_BYTES;
  const bits = -share * Math.log2(share) - (1 - share) * Math.log2(1 - share);
  return HEAD_BYTES + Math.ceil((universe * bits) / 8);
}

const HEAD_BYTES = 64;
