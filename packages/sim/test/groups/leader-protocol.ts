/** Nodes of one group that elect their leader by `LeaderBeats`, over the simulated network. */

import { LeaderBeats, type LeaderClaim } from '@bloomery/transport/membership';
import type { FaultKind, Scenario, World } from '../../src/index.ts';

/** The times of a node, all shorter by a factor of five or ten than those of production. */
const TIMES = { beatMs: 1000, patienceMs: 5000, holdMs: 60_000 };

export interface LeaderScenarioOptions {
  readonly faults: number;
  readonly faultyMs?: number;
  readonly faultKinds?: readonly FaultKind[];
  /** Called with each claim that a node makes for itself. */
  readonly claimed?: (claim: LeaderClaim) => void;
}

/** Eight nodes of one group, with faults and a quiet time after them. */
export function leaderScenario(options: LeaderScenarioOptions): Scenario<LeaderBeats> {
  const { faults, faultyMs = 180_000, claimed = () => {} } = options;
  return {
    nodes: Array.from({ length: 8 }, (_, i) => `n${i}`),
    program: ({ clock, transport }) => new LeaderBeats({ clock, transport, claimed, ...TIMES }),
    faultyMs,
    quietMs: 90_000,
    faults,
    // Damaged bytes would need the signatures that the HTTP adapter has.
    faultKinds: options.faultKinds ?? ['crash', 'cut', 'slow', 'skew'],
    converged: disagreement,
  };
}

/** Says which node does not believe in the one leader, or null. */
function disagreement({ hosts }: World<LeaderBeats>): string | null {
  const running = hosts.filter(({ program }) => program !== null);
  const texts = running.map(({ id, program }) => `${id}: ${JSON.stringify(program!.claim)}`);
  const beliefs = new Set(running.map(({ program }) => JSON.stringify(program!.claim)));
  if (beliefs.size !== 1) return `expected one claim, got ${texts.join(', ')}`;
  const leaders = running.filter(({ program }) => program!.isLeader);
  return leaders.length === 1 ? null : `expected one leader that runs, got ${leaders.length}: ${texts[0]}`;
}
