/**
 * The queue in front of a link, as all disciplines of this room have it: a packet arrives and is
 * taken, marked or refused, and the link takes the next packet when it is free. A queue has no
 * clock and no timer. Times are passed in, so the same code runs in a simulation and behind a
 * router of real packets.
 *
 * A discipline marks a packet only if its sender understands marks (ECN, RFC 3168). RFC 3168,
 * section 5: "Active queue management […] should set the CE codepoint in the packet instead of
 * dropping the packet". All others are dropped in its place.
 */

import type { Key } from 'bloomery';

/** A packet as a queue sees it. */
export interface QueueItem {
  /** The same for all packets of a flow, and for no other flow. */
  readonly flow: Key;
  readonly byteLength: number;
  /** Tells that the sender of the flow reacts to marks. */
  readonly isEcnCapable: boolean;
  /** Sets the mark in the packet. Called at most once, and only if `isEcnCapable`. */
  mark(): void;
}

export interface PacketQueue<Item extends QueueItem> {
  /** Takes a packet. Returns the packets that are dropped: none, itself, or earlier ones. */
  enqueue(item: Item, nowMs: number): readonly Item[];
  /** Removes the packet that is sent next, or returns null if none waits. */
  dequeue(nowMs: number): Item | null;
  /** Packets that wait. */
  readonly length: number;
  /** Their bytes. */
  readonly bytes: number;
}

/** The most that a queue holds. */
export interface QueueLimits {
  /** Default: no limit. */
  readonly limitPackets?: number;
  /** Default: no limit. */
  readonly limitBytes?: number;
}

/** The result of `enqueue` for a packet that is queued and costs no other its place. */
export const NO_DROPS: readonly never[] = [];

/** A number in [0, 1). */
export type Draw = () => number;
