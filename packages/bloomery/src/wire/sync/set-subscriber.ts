/**
 * The receiving end of a sync session about a set of positions (version 2 of docs/spec/sync.md).
 * The rules are those of every subscriber (follower.ts): 'current' means that exactly one closed
 * generation of the publisher is held and no later one has been heard of.
 *
 *     const subscriber = new SetSubscriber({ maxPositions: 1e6, onChange: updateMyTable });
 *     const { reply } = subscriber.receive(message);
 *     if (reply) send(reply);                               // to the publisher, which answers it
 *     if (subscriber.hasHash(hash)) askThePeer(url);        // maybe, or not known at present
 *
 * A caller may build a structure of its own from the positions: a filter with any size and number
 * of hash functions, or a column in a table of all its neighbours. `onChange` tells which positions
 * came and went, and `positions` gives all of them when the structure must be rebuilt. `hasHash`
 * looks in the positions themselves, so its rate is n/universe.
 *
 * Costs. A delta takes time for its changes, and is checked completely before the set changes. A
 * full state takes time for its positions; `receiveInSteps` gives way in between, and other
 * messages may be received meanwhile. In memory: 5 to 6 bytes per position.
 */

import { FrameError } from '../../frames/envelope.ts';
import { checkSameScheme, type HashScheme } from '../../hashing/hash-scheme.ts';
import type { KeyHash } from '../../kernel/batches/hash-key.ts';
import { checkOptions } from '../../keys/check-options.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkInteger } from '../../math/checks.ts';
import { PositionSet } from '../sets/position-set.ts';
import { type PositionChanges, type PositionSum, positionOf } from '../sets/positions.ts';
import { decodeChanges, decodeSet, type PositionState } from '../sets/set-code.ts';
import type { SharedSets } from '../sets/shared-sets.ts';
import { finishSteps, STEP, type Steps } from '../sets/steps.ts';
import { Follower, type Opened, type SyncOutcome, type SyncStatus, type Takers } from './follower.ts';
import {
  checkUnsigned64,
  type DeltaMessage,
  type FullMessage,
  type Generation,
  type PublisherMessage,
} from './sync-message.ts';

/** A change of the positions that a subscriber holds. */
export type PositionChange =
  /** Another set, or none: everything that was built from the positions must be built again. */
  | { readonly kind: 'reset' }
  /** Both lists rise, and have nothing in common. */
  | ({ readonly kind: 'changed' } & PositionChanges);

export interface SetSubscriberOptions {
  /** The `publisherId` whose messages are accepted. Default 0. */
  readonly publisherId?: number | bigint;
  /** Sets of more positions are refused. */
  readonly maxPositions: number;
  /** The scheme of the hashes that `hasHash` is given. Others are refused. Default: any. */
  readonly scheme?: HashScheme;
  /** Sets that subscribers of this process share (shared-sets.ts). Default: a set of its own. */
  readonly shared?: SharedSets;
  /** Called after each change, in the order of the changes. It must not throw. */
  readonly onChange?: (change: PositionChange) => void;
}

export class SetSubscriber {
  readonly maxPositions: number;
  readonly #scheme: HashScheme | undefined;
  readonly #onChange: (change: PositionChange) => void;
  readonly #shared: SharedSets | undefined;
  readonly #follower: Follower<PositionState>;
  /** The steps that apply a delta, while they run. */
  #applying: Steps<void> | undefined;

  constructor(options: SetSubscriberOptions) {
    checkOptions('SetSubscriber', options, ['publisherId', 'maxPositions', 'scheme', 'shared', 'onChange']);
    const { publisherId = 0, maxPositions, scheme, shared, onChange = ignore } = options;
    this.#follower = new Follower(checkUnsigned64('publisherId', publisherId), 2);
    this.maxPositions = checkInteger('maxPositions', maxPositions);
    this.#scheme = scheme;
    this.#shared = shared;
    this.#onChange = onChange;
  }

  get publisherId(): bigint {
    return this.#follower.publisherId;
  }

  get status(): SyncStatus {
    return this.#follower.status;
  }

  get current(): boolean {
    return this.status === 'current';
  }

  /** The generation that is held, in any status. */
  get generation(): Generation | undefined {
    return this.#follower.generation;
  }

  /** The universe of the held set, or 0 if there is none. */
  get universe(): number {
    return this.#follower.state?.universe ?? 0;
  }

  /** The key id of the held set, or 0 if there is none. */
  get keyId(): number {
    return this.#follower.state?.keyId ?? 0;
  }

  /** The number of positions of the held set. */
  get size(): number {
    return this.#follower.state?.positions.size ?? 0;
  }

  /** The bytes of memory that the held positions take. */
  get byteLength(): number {
    return this.#follower.state?.positions.byteLength ?? 0;
  }

  /**
   * True if the key may be in the set, or if this is not known at present. False if it is certainly
   * not in the held generation, which is the latest known.
   */
  hasHash(hash: KeyHash): boolean {
    if (this.#scheme !== undefined) checkSameScheme(hash.scheme, this.#scheme);
    const { state } = this.#follower;
    return state === undefined || !this.current || state.positions.has(positionOf(hash, state.universe));
  }

  /**
   * Whether the held set has a position, in any status. A caller that uses it while the set is not
   * current must know what a missing change costs.
   */
  hasPosition(position: number): boolean {
    return this.#follower.state?.positions.has(position) ?? false;
  }

  /**
   * All positions of the held set, rising, in any status. It may change meanwhile: positions that
   * come behind the iterator are left out, and `onChange` tells them. After a reset the iterator
   * still gives the old set.
   */
  positions(): Iterable<number> {
    return this.#follower.state?.positions ?? new PositionSet();
  }

  /**
   * The message to send to the publisher to become current: at the beginning, and at any later
   * time.
   */
  request(): Uint8Array {
    return this.#follower.request();
  }

  /** Processes a message of any content. Throws only if the argument is not bytes. */
  receive(message: Uint8Array): SyncOutcome {
    return this.#takeKnown(message) ?? finishSteps(this.#receiveNew(message));
  }

  /**
   * `receive` in steps. The message takes effect in the last one. Until then `hasHash` answers for
   * the positions of a delta by the old or by the new generation.
   */
  *receiveInSteps(message: Uint8Array): Steps<SyncOutcome> {
    return this.#takeKnown(message) ?? (yield* this.#receiveNew(message));
  }

  toString(): string {
    const { epoch, sequence } = this.generation ?? {};
    const held =
      epoch === undefined ? '' : `, generation ${epoch}/${sequence}, ${this.size} of ${this.universe}`;
    return `SetSubscriber(${this.publisherId}, ${this.status}${held})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  /** The contents of a message, if another subscriber has read the same bytes. */
  #knownMessage(message: Uint8Array): PublisherMessage | undefined {
    const known = this.#shared?.message<PublisherMessage>(message);
    return known?.publisherId === this.publisherId ? known : undefined;
  }

  /**
   * Takes a message that another subscriber has already decoded or applied to the same set. All
   * receivers but the first take their messages in this way, so it has no steps and allocates
   * nothing that outlives the call.
   */
  #takeKnown(message: Uint8Array): SyncOutcome | undefined {
    const told = this.#knownMessage(message);
    if (told === undefined || !this.#follower.wants(told)) return undefined;
    if (told.type === 'full') {
      const state = this.#shared?.state(told.generation.sum, told.frame);
      if (state === undefined || state.positions.size > this.maxPositions) return undefined;
      return this.#take(told, { takeFull: () => state, takeDelta: () => undefined });
    }
    if (told.type !== 'delta') return undefined;
    const step = this.#shared?.step(this.#follower.state!, told.code);
    if (step?.sum !== told.generation.sum || step.next.positions.size > this.maxPositions) return undefined;
    return this.#takeNext(told, step.next, step.changes);
  }

  *#receiveNew(message: Uint8Array): Steps<SyncOutcome> {
    const known = this.#knownMessage(message);
    const opened = known !== undefined ? { told: known } : this.#open(message);
    if (opened.told === undefined) return opened.outcome;
    const { told } = opened;
    this.#finishApplying();
    const isWanted = this.#follower.wants(told);
    const full = isWanted && told.type === 'full' ? yield* this.#readFull(told) : undefined;
    const delta = isWanted && told.type === 'delta' ? yield* this.#readDelta(told) : undefined;
    // Other messages may have come in between.
    this.#finishApplying();
    if (told.type === 'delta' && this.#follower.wants(told)) {
      const read = delta?.from === this.#follower.state ? delta : undefined;
      const { from, sum, changes, next } = read ?? finishSteps(this.#readDelta(told));
      if (changes !== undefined && next !== undefined) return this.#takeNext(told, next, changes);
      if (changes !== undefined) return yield* this.#applyDelta(told, { ...from, sum }, changes);
    }
    return this.#take(told, {
      takeFull: (message) => {
        const read = full ?? finishSteps(this.#readFull(message));
        if (read instanceof FrameError) throw read;
        return read;
      },
      takeDelta: () => undefined,
    });
  }

  /** Reads a message, and remembers it for the other subscribers that receive it. */
  #open(message: Uint8Array): Opened {
    if (this.#shared === undefined) return this.#follower.open(message);
    // A copy, because the caller may change its bytes later.
    const copy = new Uint8Array(message);
    const opened = this.#follower.open(copy);
    if (opened.told !== undefined) this.#shared.keepMessage(copy, opened.told);
    return opened;
  }

  /** The state of a message, or the reason why there is none. */
  *#readFull({ frame, generation }: FullMessage): Steps<PositionState | FrameError> {
    try {
      const state = yield* decodeSet(frame, this.maxPositions);
      if (state.sum.value === generation.sum) {
        this.#shared?.keepState(frame, state);
        return state;
      }
      return new FrameError('payload', 0, 'expected the set that was announced, got another one');
    } catch (error) {
      if (error instanceof FrameError) return error;
      throw error;
    }
  }

  /** The changes of a delta that starts from the held state. */
  *#readDelta({ code, generation }: DeltaMessage): Steps<ReadDelta> {
    const from = this.#follower.state!;
    const sum = from.sum.copy();
    try {
      const changes = yield* decodeChanges(code, from, this.maxPositions);
      yield* sum.change(changes);
      if (sum.value !== generation.sum) return { from, sum, changes: undefined };
      return { from, sum, changes, next: yield* this.#shareNext(code, from, sum, changes) };
    } catch (error) {
      if (error instanceof FrameError) return { from, sum, changes: undefined };
      throw error;
    }
  }

  /**
   * A new set with the changes, for all subscribers that share it; undefined if sets are not
   * shared. The old set does not change.
   */
  *#shareNext(
    code: Uint8Array,
    from: PositionState,
    sum: PositionSum,
    changes: PositionChanges,
  ): Steps<PositionState | undefined> {
    if (this.#shared === undefined) return undefined;
    const { universe, keyId } = from;
    const next = { universe, keyId, positions: from.positions.copy(), sum };
    yield* changePositions(next.positions, changes, ignore);
    this.#shared.keepStep(from, code, { next, changes, sum: sum.value });
    return next;
  }

  #takeNext(told: DeltaMessage, next: PositionState, changes: PositionChanges): SyncOutcome {
    return this.#take(told, { takeFull: () => next, takeDelta: () => next }, { kind: 'changed', ...changes });
  }

  /** Applies a delta. Another message that comes between the steps runs those that are left. */
  *#applyDelta(told: DeltaMessage, next: PositionState, changes: PositionChanges): Steps<SyncOutcome> {
    let outcome: SyncOutcome | undefined;
    const applying = changePositions(next.positions, changes, () => {
      this.#applying = undefined;
      outcome = this.#takeNext(told, next, changes);
    });
    this.#applying = applying;
    while (!applying.next().done) yield;
    return outcome!;
  }

  #finishApplying(): void {
    if (this.#applying !== undefined) finishSteps(this.#applying);
  }

  #take(
    told: PublisherMessage,
    takers: Takers<PositionState>,
    change: PositionChange = { kind: 'reset' },
  ): SyncOutcome {
    const outcome = this.#follower.apply(told, takers);
    if (outcome.changed) this.#onChange(change);
    return outcome;
  }
}

interface ReadDelta {
  /** The state that the changes were read for. */
  readonly from: PositionState;
  /** The changes, or undefined if they do not lead to the announced state. */
  readonly changes: PositionChanges | undefined;
  /** The sum after the changes. */
  readonly sum: PositionSum;
  /** The set after the changes, if it is shared. */
  readonly next?: PositionState | undefined;
}

function ignore(): void {}

/** Applies changes to positions, and calls `done` in the last step. */
function* changePositions(
  positions: PositionSet,
  { removed, added }: PositionChanges,
  done: () => void,
): Steps<void> {
  for (let i = 0; i < removed.length; i++) {
    positions.delete(removed[i]);
    if (i % STEP === STEP - 1) yield;
  }
  for (let i = 0; i < added.length; i++) {
    positions.insert(added[i]);
    if (i % STEP === STEP - 1) yield;
  }
  done();
}
