/**
 * One fault of a fleet under load, from its beginning until all nodes are current again, and the
 * figures of it.
 */

import type { CheckedCrowd } from './checked-crowd.ts';
import type { FleetFault } from './fleet-fault.ts';
import type { NetworkFleet } from './network-fleet.ts';

export interface FaultFigures {
  readonly name: string;
  /** Time from the beginning of the fault to its end. */
  readonly heldMs: number;
  /** Answers in that time. */
  readonly answers: number;
  /** Time after its end until all nodes were current. */
  readonly currentMs: number;
}

/** Heartbeats are sent every 5 s, and everyone shall be current after two of them. */
export const WANTED_MS = 10_000;

/**
 * Plays a fault. `hold` lets the time pass in which it lasts. The fault is taken away in every
 * case, and then everyone must be current within ten times the time that is wanted.
 */
export async function playFault(
  fleet: NetworkFleet,
  crowd: CheckedCrowd,
  fault: FleetFault,
  hold: () => Promise<void>,
): Promise<FaultFigures> {
  const began = performance.now();
  const { answers } = crowd;
  try {
    await fault.begin(fleet);
    await hold();
  } finally {
    await fault.heal(fleet);
  }
  const heldMs = performance.now() - began;
  const held = crowd.answers - answers;
  return { name: fault.name, heldMs, answers: held, currentMs: await fleet.untilCurrent(10 * WANTED_MS) };
}
