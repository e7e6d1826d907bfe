/**
 * The faults of one direction of a link, and what they do to one message. The randomness is that of
 * the clock, so the same seed gives the same faults.
 */

import type { Clock } from '@bloomery/transport';

/** Probabilities are per message. */
export interface LinkFaults {
  readonly loss: number;
  readonly duplication: number;
  /** The message may be overtaken by later ones, by up to ten times the delay. */
  readonly reordering: number;
  /** One bit of the message is flipped. */
  readonly damage: number;
  readonly delayMs: number;
  /** Added to the delay of each message: a random share of it. */
  readonly jitterMs: number;
}

export const NO_FAULTS: LinkFaults = {
  loss: 0,
  duplication: 0,
  reordering: 0,
  damage: 0,
  delayMs: 0,
  jitterMs: 0,
};

/** One arrival of a message. */
export interface Arrival {
  readonly bytes: Uint8Array;
  readonly delayMs: number;
  /** True if the message does not wait for those before it. */
  readonly isReordered: boolean;
}

/** The arrivals of a message: none if it is lost, two if it is duplicated. */
export function arrivals(bytes: Uint8Array, faults: LinkFaults, clock: Clock): Arrival[] {
  const happens = (probability: number) => probability > 0 && clock.random() < probability;
  if (happens(faults.loss)) return [];
  const count = happens(faults.duplication) ? 2 : 1;
  return Array.from({ length: count }, () => {
    const delayMs = faults.delayMs + (faults.jitterMs > 0 ? faults.jitterMs * clock.random() : 0);
    const isReordered = happens(faults.reordering);
    const extraMs = isReordered ? 10 * Math.max(faults.delayMs, 1) * clock.random() : 0;
    const arrived = happens(faults.damage) ? damaged(bytes, clock) : new Uint8Array(bytes);
    return { bytes: arrived, delayMs: delayMs + extraMs, isReordered };
  });
}

function damaged(bytes: Uint8Array, clock: Clock): Uint8Array {
  const copy = new Uint8Array(bytes);
  const bit = Math.floor(clock.random() * 8 * bytes.length);
  if (copy.length > 0) copy[bit >> 3] ^= 1 << (bit & 7);
  return copy;
}
