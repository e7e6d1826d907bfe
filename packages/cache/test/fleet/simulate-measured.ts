/**
 * The simulation of a fleet that was measured: the same trace, nodes, policy, capacity and costs,
 * and an origin of the same distance. Nothing is fitted. The capacity and the bytes that an object
 * takes beyond its body are those that the real nodes report; neighbours are as far as a simulation
 * has them by default, because a millisecond more or less changes no decision.
 *
 * Two differences are left, and both belong to the machine of the real nodes. A neighbour that
 * misses its deadline on a busy machine costs a fetch from the origin; the real nodes count these
 * as failures. And requests are sent some milliseconds late.
 */

import type { MeasuredTrace } from '@bloomery/testkit/fleet/measure-trace';
import {
  type FleetResult,
  type NodeChange,
  type PolicyChoice,
  simulateFleet,
  type TraceRequest,
} from '../../src/simulation/index.ts';

export interface SimulatedSetting {
  readonly policy: PolicyChoice;
  readonly nodes: number;
  readonly trace: readonly TraceRequest[];
  /** Time that the origin takes for a head. */
  readonly originMs: number;
  /** Nodes that end and begin again. */
  readonly changes?: readonly NodeChange[];
}

export function simulateMeasured(
  { capacityBytes, overhead }: MeasuredTrace,
  { policy, nodes, trace, originMs, changes = [] }: SimulatedSetting,
): Promise<FleetResult> {
  const { ownBytes, copyBytes } = overhead;
  return simulateFleet({
    policy,
    nodes,
    trace,
    changes,
    seed: 1,
    times: { originMs },
    capacity: {
      bytes: capacityBytes,
      costOf: (_object, bytes, from) =>
        Math.round(bytes + (from === 'neighbour' ? (copyBytes ?? ownBytes) : ownBytes)),
    },
  });
}

export interface ComparedCount {
  readonly name: string;
  readonly real: number;
  readonly simulated: number;
  /** Whether the simulator stands or falls by it: fetches from the origin, and bytes. */
  readonly isDecisive: boolean;
}

export function comparedCounts(
  { counts, originFetches, originBytes }: MeasuredTrace,
  simulated: FleetResult,
  nodes: number,
): ComparedCount[] {
  const { messages, messageBytes, bytesBySource } = simulated;
  const rows: [name: string, real: number, simulated: number, isDecisive?: true][] = [
    ['fetches from the origin', originFetches, simulated.originFetches, true],
    ['bytes from the origin', originBytes, bytesBySource.origin, true],
    ['bytes of objects between nodes', counts.objectBytes, simulated.objectBytes, true],
    ['answers from the own store', counts.localHits + counts.collapsed, simulated.localHits],
    ['answers from a neighbour', counts.neighbourHits, simulated.neighbourHits],
    ['messages with updates of summaries', counts.updates * (nodes - 1), messages.update],
    ['bytes of these', counts.updateBytes * (nodes - 1), messageBytes.update],
    ['questions to owners', counts.ownerQuestions, messages['owner-question']],
    ['false hits', counts.falseHits, simulated.falseHits],
  ];
  return rows.map(([name, real, model, isDecisive = false]) => ({
    name,
    real,
    simulated: model,
    isDecisive,
  }));
}
