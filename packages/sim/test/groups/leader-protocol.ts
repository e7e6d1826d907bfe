/**
 * Nodes of one group that elect their leader by `LeaderElection`, over the simulated network: each
 * publishes its stability and the strongest claim it knows once a second.
 */

import { type LeaderClaim, LeaderElection, stabilityOf } from '@bloomery/transport/membership';
import type { FaultKind, HostContext, Scenario, World } from '../../src/index.ts';

const BEAT_MS = 1000;
/** A node that was not heard for three beats and a half is not seen. */
const SEEN_MS = 3500;
const TOPIC = 'group';

interface Beat {
  readonly id: string;
  readonly stability: number;
  readonly claim: LeaderClaim | null;
}

export interface LeaderNode {
  readonly election: LeaderElection;
}

function leaderProgram({ clock, transport }: HostContext, claimed: (claim: LeaderClaim) => void): LeaderNode {
  const selfId = transport.self.id;
  const election = new LeaderElection({ selfId, patienceMs: 5000, holdMs: 60_000 });
  const seen = new Map<string, { readonly stability: number; readonly atMs: number }>();
  const startedMs = clock.monotonic();
  const beat = () => {
    const nowMs = clock.monotonic();
    const peers = transport.peers();
    const up = peers.filter(({ state }) => state === 'up').length;
    const stability = stabilityOf({ uptimeMs: nowMs - startedMs, linksUp: up / Math.max(1, peers.length) });
    const others = [...seen]
      .filter(([, { atMs }]) => nowMs - atMs <= SEEN_MS)
      .map(([id, each]) => ({ id, stability: each.stability }));
    const made = election.look({ nowMs, wallMs: clock.now(), stability, others });
    if (made !== null) claimed(made);
    const message: Beat = { id: selfId, stability, claim: election.claim };
    transport.publish(TOPIC, new TextEncoder().encode(JSON.stringify(message)));
    clock.after(BEAT_MS * (0.9 + 0.2 * clock.random()), beat);
  };
  for (const { address } of transport.peers())
    transport.subscribe(address, TOPIC, {
      message: (bytes) => {
        const said = read(bytes);
        if (said === null) return;
        seen.set(said.id, { stability: said.stability, atMs: clock.monotonic() });
        if (said.claim !== null) election.hear(said.claim);
      },
      open: () => {},
      closed: () => {},
    });
  clock.after(BEAT_MS * clock.random(), beat);
  return { election };
}

/** A beat, or null if it was damaged on its way. */
function read(bytes: Uint8Array): Beat | null {
  try {
    const value = JSON.parse(new TextDecoder().decode(bytes)) as Beat;
    return typeof value.id === 'string' && /^n\d+$/.test(value.id) && isWhole(value) ? value : null;
  } catch {
    return null;
  }
}

function isWhole({ stability, claim }: Beat): boolean {
  return Number.isInteger(stability) && (claim === null || /^n\d+$/.test(claim.leader));
}

export interface LeaderScenarioOptions {
  readonly faults: number;
  readonly faultyMs?: number;
  readonly faultKinds?: readonly FaultKind[];
  /** Called with each claim that a node makes for itself. */
  readonly claimed?: (claim: LeaderClaim) => void;
}

/** Eight nodes of one group, with faults and a quiet time after them. */
export function leaderScenario(options: LeaderScenarioOptions): Scenario<LeaderNode> {
  const { faults, faultyMs = 180_000, claimed = () => {} } = options;
  return {
    nodes: Array.from({ length: 8 }, (_, i) => `n${i}`),
    program: (context) => leaderProgram(context, claimed),
    faultyMs,
    quietMs: 90_000,
    faults,
    // Damaged bytes would need the signatures that the HTTP adapter has.
    faultKinds: options.faultKinds ?? ['crash', 'cut', 'slow', 'skew'],
    converged: disagreement,
  };
}

/** Says which node does not believe in the one leader, or null. */
function disagreement({ hosts }: World<LeaderNode>): string | null {
  const running = hosts.filter(({ program }) => program !== null);
  const texts = running.map(({ id, program }) => `${id}: ${JSON.stringify(program!.election.claim)}`);
  const beliefs = new Set(running.map(({ program }) => JSON.stringify(program!.election.claim)));
  if (beliefs.size !== 1) return `expected one claim, got ${texts.join(', ')}`;
  const leaders = running.filter(({ program }) => program!.election.isLeader);
  return leaders.length === 1 ? null : `expected one leader that runs, got ${leaders.length}: ${texts[0]}`;
}
