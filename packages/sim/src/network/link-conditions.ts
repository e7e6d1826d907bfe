/**
 * The conditions of one direction of a link, and their effect on one message: how long it takes,
 * and whether it is lost, doubled, reordered or damaged. It is pure: randomness is passed in.
 *
 * Jitter has two shapes. 'uniform' is bounded, as within a data centre. 'exponential' has a tail:
 * of a thousand messages, one takes seven times the mean. A fixed delay and these two have been
 * enough so far; a table of measured delays would be a third shape.
 */

import type { RandomStream } from '../engine/random-stream.ts';

/** Probabilities are per message. */
export interface LinkConditions {
  readonly loss: number;
  readonly duplication: number;
  /** The message may be overtaken by later ones, by up to ten times the delay. */
  readonly reordering: number;
  /** One bit of the message is flipped. */
  readonly damage: number;
  /** The least time that a message takes. */
  readonly delayMs: number;
  /** Random time on top: at most this if it is uniform, this on average if it is exponential. */
  readonly jitterMs: number;
  readonly jitter: 'uniform' | 'exponential';
  /** Messages leave one after the other at this rate, and wait for each other. */
  readonly bytesPerSecond: number;
}

export const IDEAL_LINK: LinkConditions = {
  loss: 0,
  duplication: 0,
  reordering: 0,
  damage: 0,
  delayMs: 0,
  jitterMs: 0,
  jitter: 'uniform',
  bytesPerSecond: Infinity,
};

/** Conditions with some of the fields; the others are those of an ideal link. */
export function linkConditions(some: Partial<LinkConditions>): LinkConditions {
  const all = { ...IDEAL_LINK, ...some };
  for (const name of ['loss', 'duplication', 'reordering', 'damage'] as const)
    if (!(all[name] >= 0 && all[name] <= 1))
      throw new RangeError(
        `Cannot set up a link: expected a probability from 0 to 1, got ${all[name]} (${name})`,
      );
  for (const name of ['delayMs', 'jitterMs'] as const)
    if (!(all[name] >= 0 && all[name] < Infinity))
      throw new RangeError(`Cannot set up a link: expected a finite time, got ${all[name]} (${name})`);
  if (!(all.bytesPerSecond > 0))
    throw new RangeError(
      `Cannot set up a link: expected more than 0 bytes per second, got ${all.bytesPerSecond}`,
    );
  return all;
}

/** True if every message takes the same time and arrives once: no randomness and no queue. */
export function isPlain(conditions: LinkConditions): boolean {
  const { loss, duplication, reordering, damage, jitterMs, bytesPerSecond } = conditions;
  return loss + duplication + reordering + damage + jitterMs === 0 && bytesPerSecond === Infinity;
}

/** One arrival of a message. */
export interface Arrival {
  readonly bytes: Uint8Array;
  /** Time on the way, after the message has left its queue. */
  readonly delayMs: number;
  /** True if the message does not wait for those before it. */
  readonly isReordered: boolean;
}

/** The arrivals of a message: none if it is lost, two if it is duplicated. */
export function arrivals(bytes: Uint8Array, conditions: LinkConditions, random: RandomStream): Arrival[] {
  const happens = (probability: number) => probability > 0 && random() < probability;
  if (happens(conditions.loss)) return [];
  const count = happens(conditions.duplication) ? 2 : 1;
  return Array.from({ length: count }, () => {
    const delayMs = conditions.delayMs + jitterOf(conditions, random);
    const isReordered = happens(conditions.reordering);
    const extraMs = isReordered ? 10 * Math.max(conditions.delayMs, 1) * random() : 0;
    const arrived = happens(conditions.damage) ? damaged(bytes, random) : bytes;
    return { bytes: arrived, delayMs: delayMs + extraMs, isReordered };
  });
}

function jitterOf({ jitterMs, jitter }: LinkConditions, random: RandomStream): number {
  if (jitterMs === 0) return 0;
  return jitter === 'uniform' ? jitterMs * random() : -jitterMs * Math.log(1 - random());
}

function damaged(bytes: Uint8Array, random: RandomStream): Uint8Array {
  const copy = new Uint8Array(bytes);
  const bit = Math.floor(random() * 8 * bytes.length);
  if (copy.length > 0) copy[bit >> 3] ^= 1 << (bit & 7);
  return copy;
}
