/**
 * The claim of a node to lead a group, and the order of claims by which all nodes resolve two of
 * them: the later epoch, then the more stable leader, then the smaller name. The order is total, so
 * nodes that have heard the same claims believe the same one, in whichever order they came.
 *
 * The epoch names the term of a leader. It rises with each change, and the name of the group stays,
 * so a receiver of the group's messages sees an old leader by its epoch.
 */

export interface LeaderClaim {
  readonly epoch: number;
  readonly leader: string;
  /** The stability of the leader when it claimed. */
  readonly stability: number;
}

/** Epochs above this bound are refused: a forged one could otherwise never be exceeded. */
export const MOST_EPOCH = 2 ** 48;

/** Whether a claim takes the place of another one. */
export function isStronger(claim: LeaderClaim, other: LeaderClaim | null): boolean {
  if (other === null) return true;
  if (claim.epoch !== other.epoch) return claim.epoch > other.epoch;
  if (claim.stability !== other.stability) return claim.stability > other.stability;
  return claim.leader < other.leader;
}

/** Whether the numbers of a claim that came from another node can be used. */
export function isClaim({ epoch, stability }: LeaderClaim): boolean {
  return Number.isInteger(epoch) && epoch >= 0 && epoch <= MOST_EPOCH && isStability(stability);
}

const DAY_S = 86_400;

/**
 * The stability of a node: its uptime in seconds, up to a day, times the share of its links that
 * are up. Nodes that ran for a day are alike; their links tell them apart.
 */
export function stabilityOf({
  uptimeMs,
  linksUp,
}: {
  readonly uptimeMs: number;
  readonly linksUp: number;
}): number {
  return Math.floor(Math.min(DAY_S, uptimeMs / 1000) * linksUp);
}

function isStability(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= DAY_S;
}
