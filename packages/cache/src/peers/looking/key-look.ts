/**
 * A look at one key in the summaries of all neighbours, for people (docs/spec/console.md, "Who has
 * this URL?"): the position of the key in each summary, the bits around it, and whether a request
 * would ask that neighbour. Nothing is asked, counted or changed by it.
 */

import { positionOf } from 'bloomery/wire';
import type { HashHalves } from '../decisions/owner-question.ts';

/** The positions of a summary, as far as they are looked at. */
interface SeenPositions {
  readonly universe: number;
  readonly size: number;
  hasPosition(position: number): boolean;
}

export interface LookedPosition {
  readonly position: number;
  readonly isSet: boolean;
  /** Bits around the position, as the characters 0 and 1. */
  readonly window: { readonly from: number; readonly bits: string };
}

/** One neighbour, and what its summary says about the key. */
export interface LookedPeer {
  readonly address: string;
  readonly id: string | null;
  /** `unknown`: there is no summary that is current. */
  readonly answer: 'maybe' | 'no' | 'unknown';
  /** The reason for `unknown`, or why the neighbour would not be asked; null if it would be. */
  readonly why: string | null;
  readonly universe: number | null;
  /** One for a summary, four for a Squid's digest; empty for `unknown`. */
  readonly positions: readonly LookedPosition[];
  readonly falsePositiveRate: number | null;
}

export interface KeyLook {
  /** The address of the node that coordinates fetches of the key, or null if there is none. */
  readonly owner: string | null;
  /** Whether that is this node. */
  readonly isOwner: boolean;
  /** All neighbours, in the order of the status. */
  readonly peers: readonly LookedPeer[];
  /** Addresses that a request would ask now, in turn. */
  readonly order: readonly string[];
}

const WINDOW = 64;

/** The position of a key in a set, and the bits around it. */
export function lookAtPosition(
  position: number,
  universe: number,
  hasPosition: (position: number) => boolean,
): LookedPosition {
  // The window lies on a multiple of its length, so that neighbours with the same universe show
  // the same bits one below the other.
  const from = Math.floor(position / WINDOW) * WINDOW;
  let bits = '';
  for (let at = from; at < Math.min(universe, from + WINDOW); at++) bits += hasPosition(at) ? '1' : '0';
  return { position, isSet: bits[position - from] === '1', window: { from, bits } };
}

/** The look at a summary: `masked` is the reason why the neighbour is not relied on. */
export function lookAtSummary(
  peer: Pick<LookedPeer, 'address' | 'id'>,
  positions: SeenPositions | null,
  hash: HashHalves,
  masked: string | null,
): LookedPeer {
  if (positions === null) return unknownPeer(peer, masked);
  const { universe, size } = positions;
  const looked = lookAtPosition(positionOf(hash, universe), universe, (at) => positions.hasPosition(at));
  return {
    ...peer,
    answer: looked.isSet ? 'maybe' : 'no',
    why: masked,
    universe,
    positions: [looked],
    falsePositiveRate: size / universe,
  };
}

export function unknownPeer(peer: Pick<LookedPeer, 'address' | 'id'>, why: string | null): LookedPeer {
  return {
    ...peer,
    answer: 'unknown',
    why: why ?? 'no summary yet',
    universe: null,
    positions: [],
    falsePositiveRate: null,
  };
}
