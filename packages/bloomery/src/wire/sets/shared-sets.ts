/**
 * Decoded sets that several subscribers of one process share. They are found by their content, so
 * the messages of a publisher are decoded once, however many nodes receive them. Simulations need
 * it. With 100 nodes that all follow each other, each set would be held and each delta applied 99
 * times.
 *
 * How. A shared set never changes. A full state is found by its sum and compared byte by byte, so a
 * message that only claims the sum of another is decoded as usual. A delta leads from the very set
 * that it starts from to a new one, which the old one remembers. A table with weak keys would do
 * the same, and made the garbage collector slower. The price is a copy of the set for each
 * generation, where a subscriber of its own changes its set in place. So this is for processes with
 * many subscribers, and the default is without it.
 *
 * The oldest full states are forgotten first. Forgetting costs a repeated decoding, and no answer.
 */

import { sameBytes } from '../coding/byte-stream.ts';
import type { PositionChanges } from './positions.ts';
import type { PositionState } from './set-code.ts';

/** A delta that was read: the set that it leads to, and the changes. */
export interface SharedStep {
  readonly next: PositionState;
  readonly changes: PositionChanges;
  /** The sum of that set, so that it is computed once. */
  readonly sum: bigint;
}

/** A value, and the bytes that it was decoded from. */
export interface Coded<T> {
  readonly code: Uint8Array;
  readonly value: T;
}

const MOST_STATES = 65_536;

/** Messages that are remembered by their bytes: those under way to many receivers. */
const MOST_MESSAGES = 4096;

export class SharedSets {
  readonly #messages = new Map<number, Coded<object>>();
  /** Held weakly: a set that no subscriber holds would keep all that were built from it alive. */
  readonly #states = new Map<bigint, Coded<WeakRef<PositionState>>>();

  /** @internal The contents of a message, if its very bytes were read before. */
  message<T extends object>(bytes: Uint8Array): T | undefined {
    const found = this.#messages.get(lastWord(bytes));
    return found !== undefined && sameBytes(found.code, bytes) ? (found.value as T) : undefined;
  }

  /** @internal Remembers the contents of a message, which may have views of these bytes. */
  keepMessage(bytes: Uint8Array, value: object): void {
    this.#messages.set(lastWord(bytes), { code: bytes, value });
    if (this.#messages.size <= MOST_MESSAGES) return;
    const [oldest] = this.#messages.keys();
    this.#messages.delete(oldest);
  }

  /** @internal The set of a full state, if its very bytes were decoded before. */
  state(sum: bigint, code: Uint8Array): PositionState | undefined {
    const found = this.#states.get(sum);
    return found !== undefined && sameBytes(found.code, code) ? found.value.deref() : undefined;
  }

  /** @internal Remembers the set of a full state, whose bytes must not change. */
  keepState(code: Uint8Array, value: PositionState): void {
    this.#states.set(value.sum.value, { code, value: new WeakRef(value) });
    if (this.#states.size <= MOST_STATES) return;
    const [oldest] = this.#states.keys();
    this.#states.delete(oldest);
  }

  /** @internal The result of a delta, if it was applied to this very set before. */
  step(from: PositionState, code: Uint8Array): SharedStep | undefined {
    if (from.steps !== undefined)
      for (const step of from.steps) if (sameBytes(step.code, code)) return step.value;
    return undefined;
  }

  /** @internal Remembers the result of a delta, whose bytes must not change. */
  keepStep(from: PositionState, code: Uint8Array, value: SharedStep): void {
    const step = { code, value };
    if (from.steps === undefined) from.steps = [step];
    else from.steps.push(step);
  }
}

/** The end of a message, which is its checksum. */
function lastWord(bytes: Uint8Array): number {
  const end = bytes.length;
  return end < 4
    ? end
    : bytes[end - 4] | (bytes[end - 3] << 8) | (bytes[end - 2] << 16) | (bytes[end - 1] << 24);
}
