/**
 * The size of the universe of a summary: how finely the hashes of a node are rounded before they
 * are sent.
 *
 * A summary of n positions in a universe of U says "maybe" for a share n/U of the keys that the
 * node does not hold. With N neighbours, a key that no node holds has N·n/U false candidates on
 * average. We plan for 0.02: at a rate of 1 %, which suits one filter, 256 neighbours would give
 * 2.6 false candidates at every miss. Each doubling of the universe costs one bit for each position
 * that is added.
 *
 * Universes are powers of two, and so are the numbers of neighbours that count, rounded up: a fleet
 * that grows from 40 to 60 nodes changes nothing, and receivers can keep all summaries of one
 * universe in one table. A universe grows when it has become too small, to a size that is not
 * outgrown by a few more responses, and never shrinks: one that is 16 times too large costs 4 bits
 * for each addition, while a new one costs every neighbour a full state.
 */

/** False candidates at a miss of an object that no neighbour holds, on average. */
const FALSE_CANDIDATES = 0.02;
const LEAST_UNIVERSE = 2 ** 20;
const MOST_UNIVERSE = 2 ** 48;
/** Room for growth in a new universe. */
const HEADROOM = 1.25;

/** The share of keys for which one summary may wrongly say "maybe", with so many neighbours. */
export function summaryRate(neighbours: number, falseCandidates = FALSE_CANDIDATES): number {
  return falseCandidates / 2 ** Math.ceil(Math.log2(Math.max(1, neighbours)));
}

/** The universe for a summary that is begun with so many positions. */
export function universeFor(positions: number, neighbours: number, falseCandidates?: number): number {
  const least = (HEADROOM * positions) / summaryRate(neighbours, falseCandidates);
  const power = 2 ** Math.ceil(Math.log2(Math.max(LEAST_UNIVERSE, least)));
  return Math.min(MOST_UNIVERSE, power);
}

/** The universe that should replace the present one, or null if it is large enough. */
export function widerUniverse(
  universe: number,
  positions: number,
  neighbours: number,
  falseCandidates?: number,
): number | null {
  if (positions <= universe * summaryRate(neighbours, falseCandidates)) return null;
  const wider = universeFor(positions, neighbours, falseCandidates);
  return wider > universe ? wider : null;
}
