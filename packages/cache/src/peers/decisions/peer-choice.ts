/**
 * The choice of neighbours at a miss: takes the miss and the scores of the neighbours, and returns
 * a plan. It is pure, so that a simulation runs this file and a log line can be explained by its
 * inputs.
 *
 * Candidates are the neighbours whose summary says "maybe". The two with the shortest expected wait
 * are asked, one after the other. A third is never asked: at the rate that the fleet plans (0.02
 * false candidates per miss) three false hits in a row are a sign of a bad summary, and the origin
 * is a better bet. Each has a deadline for its head: three times its median latency, at least 20
 * ms, because a turn of a busy event loop takes as long, and at most 250 ms. If the 95th percentile
 * passes without a head, the second is asked at the same time, while the budget for hedges lasts.
 *
 * All deadlines together stay within the budget of the miss (`--peer-budget`), with a reserve for
 * the question to the owner of the key. So a client waits at most the budget longer than without
 * neighbours. The owner is the last step whenever the response can be shared, after false hits as
 * well: the object of a false hit was often removed a moment ago, and then the whole fleet misses
 * it at once.
 *
 * We refused to ask both neighbours at once at every miss: it halves the tail, and doubles the
 * bytes between nodes.
 */

import type { PeerScore } from './peer-score.ts';

/** A neighbour whose summary says "maybe". */
export interface Candidate {
  /** The name of the neighbour; the plan uses the same. */
  readonly peer: string;
  readonly score: Pick<
    PeerScore,
    | 'isOverloaded'
    | 'isDoubted'
    | 'isDoubtedAsLate'
    | 'isResting'
    | 'distrustedMs'
    | 'expectedMs'
    | 'latencies'
  >;
  /** The reason why the neighbour is not believed at all (down, no word for 15 s), or null. */
  readonly masked: string | null;
}

export interface Miss {
  readonly candidates: readonly Candidate[];
  /** The response may go to other clients, so the owner of the key may be asked. */
  readonly shareable: boolean;
  /** An owner is known, and it is up. */
  readonly hasOwner: boolean;
  /** Milliseconds that are left for all neighbours and the owner together. */
  readonly budgetMs: number;
  /** The most neighbours that are asked; two by default. */
  readonly mostAsks?: number;
  /** The shortest deadline of a neighbour; 20 ms by default. */
  readonly leastDeadlineMs?: number;
  /** The budget for hedges allows one. */
  readonly mayHedge: boolean;
  /** The time, in milliseconds of a clock that does not jump. */
  readonly now: number;
  /** A random number from 0 to below 1: it decides whether a doubted neighbour is tried. */
  readonly draw: number;
}

interface PlannedAsk {
  readonly peer: string;
  readonly headDeadlineMs: number;
  /** The time after which the next ask of the plan begins as well, or null if it waits. */
  readonly hedgeAfterMs: number | null;
}

/**
 * The reasons why a candidate is in the plan, or is not. The access log has them, and
 * docs/guide/fleet.md has this table; a test compares them.
 */
export const CHOICE_REASONS = {
  asked: 'in the plan, which has two neighbours at most; the second is asked if the first gave nothing',
  trial: 'in the plan, although it was wrong, late or failing too often: it is tried again at one miss in 32',
  masked: 'its summary is not used: see the column `state`',
  distrusted: 'it sent an object with a wrong digest',
  resting: 'it failed several times in a row',
  overloaded: '16 questions to it are under way',
  'not believed': 'it was wrong too often',
  'late before': 'it was late or failed too often',
  'others are nearer': 'two others are expected to answer sooner',
  'no time left': 'the deadlines of those before it use up the budget',
} as const;

type ChoiceReason = keyof typeof CHOICE_REASONS;

export interface PeerPlan {
  readonly asks: readonly PlannedAsk[];
  /** The step after all asks. The origin follows the owner in any case. */
  readonly afterwards: 'owner' | 'origin';
  /** One entry for each candidate; empty if no neighbour holds the object. */
  readonly why: readonly { readonly peer: string; readonly reason: ChoiceReason }[];
}

/**
 * Time for the question to the owner of a key and its answer: 100 ms of the usual budget of 250 ms,
 * and in proportion for other budgets. If the owner does not answer, the next node in the order of
 * owners is asked, for half as long. An answer takes 0.7 ms on a quiet machine. We tried 20 ms: a
 * herd of six nodes on two busy cores then caused six fetches from the origin, because all of them
 * ask at the same moment, when the owner is busiest. A longer deadline costs time only while the
 * owner is dead and not yet known to be. If neighbours were asked before and gave nothing, the
 * owner has the rest of the budget, which is at least 20 ms. The owners in another group of nodes
 * have the same deadlines. `place` counts the nodes in the order of owners from 0.
 */
export function ownerDeadlineMs(budgetMs: number, place = 0): number {
  return Math.max(SHORTEST_DEADLINE_MS, OWNER_SHARE * budgetMs) / (place + 1);
}

const OWNER_SHARE = 0.4;

const MOST_ASKS = 2;
const SHORTEST_DEADLINE_MS = 20;
const LONGEST_DEADLINE_MS = 250;
const MEDIANS_PER_DEADLINE = 3;
/** Deadline for a neighbour without any measurement. */
const UNKNOWN_DEADLINE_MS = 100;
/** The fewest measurements from which a 95th percentile is taken. */
const LEAST_TO_HEDGE = 20;
const DOUBTED_ASK_ONE_IN = 32;

export function choosePeers(miss: Miss): PeerPlan {
  const mayAskOwner = miss.shareable && miss.hasOwner && miss.budgetMs >= SHORTEST_DEADLINE_MS;
  const reasons = new Map<Candidate, ChoiceReason>();
  const usable: Candidate[] = [];
  for (const candidate of miss.candidates) {
    const refusal = refusalOf(candidate, miss);
    if (refusal === null) usable.push(candidate);
    else reasons.set(candidate, refusal);
  }
  const byWait = usable
    .map((candidate) => ({ candidate, expectedMs: candidate.score.expectedMs(miss.now) }))
    .sort((a, b) => a.expectedMs - b.expectedMs);
  const asks: PlannedAsk[] = [];
  const { mostAsks = MOST_ASKS, leastDeadlineMs = SHORTEST_DEADLINE_MS } = miss;
  let leftMs = miss.budgetMs - (mayAskOwner ? SHORTEST_DEADLINE_MS : 0);
  for (const [place, { candidate }] of byWait.entries()) {
    if (asks.length >= mostAsks) reasons.set(candidate, 'others are nearer');
    else if (leftMs < SHORTEST_DEADLINE_MS) reasons.set(candidate, 'no time left');
    else {
      const headDeadlineMs = Math.min(headDeadline(candidate, leastDeadlineMs), leftMs);
      leftMs -= headDeadlineMs;
      const hasNext = place + 1 < byWait.length && asks.length + 1 < mostAsks;
      const mayHedge = hasNext && miss.mayHedge && leftMs >= SHORTEST_DEADLINE_MS;
      const hedgeAfterMs = mayHedge ? hedgeAfter(candidate, headDeadlineMs) : null;
      asks.push({ peer: candidate.peer, headDeadlineMs, hedgeAfterMs });
      reasons.set(candidate, candidate.score.isDoubted ? 'trial' : 'asked');
    }
  }
  return {
    asks,
    afterwards: mayAskOwner ? 'owner' : 'origin',
    why: miss.candidates.map((candidate) => ({ peer: candidate.peer, reason: reasons.get(candidate)! })),
  };
}

/** The plan in one line, for the access log. `beyond`: the owners in another group of nodes. */
export function describePlan({ why, afterwards }: PeerPlan, beyond: readonly string[] = []): string {
  const parts = why.map(({ peer, reason }) => `${peer}: ${reason}`);
  const then = beyond.length > 0 ? `another group: ${beyond.join(', ')}` : afterwards;
  return `${parts.length > 0 ? parts.join(', ') : 'no candidate'}; then ${then}`;
}

function refusalOf({ masked, score }: Candidate, { now, draw }: Miss): ChoiceReason | null {
  if (masked !== null) return 'masked';
  if (score.distrustedMs(now) > 0) return 'distrusted';
  if (score.isResting(now)) return 'resting';
  if (score.isOverloaded) return 'overloaded';
  if (score.isDoubted && draw * DOUBTED_ASK_ONE_IN >= 1)
    return score.isDoubtedAsLate ? 'late before' : 'not believed';
  return null;
}

function headDeadline({ score: { latencies } }: Candidate, leastMs: number): number {
  if (latencies.count === 0) return UNKNOWN_DEADLINE_MS;
  const deadline = MEDIANS_PER_DEADLINE * latencies.quantileMs(0.5);
  return Math.min(LONGEST_DEADLINE_MS, Math.max(leastMs, deadline));
}

function hedgeAfter({ score: { latencies } }: Candidate, headDeadlineMs: number): number | null {
  if (latencies.count < LEAST_TO_HEDGE) return null;
  const afterMs = latencies.quantileMs(0.95);
  return afterMs < headDeadlineMs ? afterMs : null;
}
