/**
 * The election of a group's leader, as one of its nodes sees it. The idea is of Ledlie et al.
 * (SIGOPS European Workshop, 2002; survey 5.1): nodes form groups, and a stable node speaks for
 * each. This is a state without I/O: the caller passes in the claims that it hears, and asks at
 * each beat whether this node should lead now.
 *
 * - Nodes repeat the strongest claim they know in their beats (leader-claim.ts has the order), so
 *   all nodes of a connected group come to believe the same one.
 * - A node claims the next epoch if it is the most stable node that it sees, and either the leader
 *   was not seen for `patienceMs`, or this node was twice as stable as the leader for `holdMs`.
 *   Leaders change late: one that is a little less stable, or silent for a moment, stays.
 * - Epochs are at least the time in seconds. So a group whose nodes were all restarted goes on with
 *   a later epoch than before, if its clocks are right.
 *
 * Two parts of a group that cannot see each other have a leader each, and may choose the same
 * epoch. When they meet, the order of claims leaves one. We refused a majority: a rack that is cut
 * in half would have no leader in the smaller half, and what a leader says is a hint.
 *
 * Under churn, 40 crashes of eight nodes in an hour changed the leader 5 times
 * (packages/sim/test/groups).
 */

import { isClaim, isStronger, type LeaderClaim, MOST_EPOCH } from './leader-claim.ts';

export interface Candidate {
  readonly id: string;
  readonly stability: number;
}

export interface LeaderElectionOptions {
  readonly selfId: string;
  /** How long the leader may be unseen. */
  readonly patienceMs?: number | undefined;
  /** How long another node must have been far more stable than the leader. */
  readonly holdMs?: number | undefined;
}

/** The group as this node sees it. */
export interface GroupView {
  /** Milliseconds of a clock that does not jump. */
  readonly nowMs: number;
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  /** Stability of this node. */
  readonly stability: number;
  /** The other nodes of the group that were seen lately. */
  readonly others: readonly Candidate[];
}

const PATIENCE_MS = 30_000;
const HOLD_MS = 600_000;
/** Stability of a challenger, as a multiple of the leader's. */
const FAR_MORE = 2;

export class LeaderElection {
  readonly #selfId: string;
  readonly #patienceMs: number;
  readonly #holdMs: number;
  #claim: LeaderClaim | null = null;
  /** The time since when the leader has not been seen, without a break; null while it is. */
  #vacantSinceMs: number | null = null;
  /** The time since when this node has been far more stable than the leader; null if it is not. */
  #betterSinceMs: number | null = null;

  constructor({ selfId, patienceMs = PATIENCE_MS, holdMs = HOLD_MS }: LeaderElectionOptions) {
    this.#selfId = selfId;
    this.#patienceMs = patienceMs;
    this.#holdMs = holdMs;
  }

  /** The strongest claim that this node knows. */
  get claim(): LeaderClaim | null {
    return this.#claim;
  }

  get isLeader(): boolean {
    return this.#claim?.leader === this.#selfId;
  }

  /** Takes a claim of another node. Returns true if this node believes it from now on. */
  hear(claim: LeaderClaim): boolean {
    if (!isClaim(claim) || !isStronger(claim, this.#claim)) return false;
    this.#believe(claim);
    return true;
  }

  /** Decides whether this node claims to lead. Returns its claim, or null if it makes none now. */
  look(view: GroupView): LeaderClaim | null {
    const { wallMs, stability } = view;
    if (this.isLeader || !this.#isDue(view)) return null;
    const next = Math.max((this.#claim?.epoch ?? 0) + 1, Math.floor(wallMs / 1000));
    // The other nodes refuse epochs above MOST_EPOCH. A clock that is thousands of years ahead
    // would give one, so this node then takes the next epoch instead.
    const epoch = next > MOST_EPOCH ? (this.#claim?.epoch ?? 0) + 1 : next;
    const claim = { epoch, leader: this.#selfId, stability };
    this.#believe(claim);
    return claim;
  }

  /**
   * Whether this node should claim now. The patience counts from the moment at which the leader was
   * seen last, whichever node is the most stable one meanwhile. At first it counted only while this
   * node was the most stable one. But nodes that started together overtake each other from beat to
   * beat, and a group of 16 had no leader for two minutes.
   */
  #isDue({ nowMs, stability, others }: GroupView): boolean {
    const self = { id: this.#selfId, stability };
    const isBest = !others.some((other) => isMoreStable(other, self));
    const leader = others.find(({ id }) => id === this.#claim?.leader);
    const isBetter = leader !== undefined && isBest && stability > FAR_MORE * leader.stability;
    this.#vacantSinceMs = leader === undefined ? (this.#vacantSinceMs ?? nowMs) : null;
    this.#betterSinceMs = isBetter ? (this.#betterSinceMs ?? nowMs) : null;
    const hasPassed = (sinceMs: number | null, ms: number) => sinceMs !== null && nowMs - sinceMs >= ms;
    return (
      isBest &&
      (hasPassed(this.#vacantSinceMs, this.#patienceMs) || hasPassed(this.#betterSinceMs, this.#holdMs))
    );
  }

  #believe(claim: LeaderClaim): void {
    this.#claim = claim;
    this.#vacantSinceMs = this.#betterSinceMs = null;
  }
}

function isMoreStable(a: Candidate, b: Candidate): boolean {
  return a.stability === b.stability ? a.id < b.id : a.stability > b.stability;
}
