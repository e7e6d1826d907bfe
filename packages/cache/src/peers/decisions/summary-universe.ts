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
 * outgrown by a few more responses. It does not shrink when the set does: one that is 16 times too
 * large costs 4 bits for each addition, while a new one costs every neighbour a full state.
 *
 * A full state must fit into one message of the transport, 8 MiB: these are 4.1 million objects in
 * a fleet of 256, and 6.5 million in one of 4. Above that the universe is as wide as the message
 * allows, with room for growth, and the rate rises: 16 million objects have 21 %. A neighbour asks
 * in vain more often then, and still finds everything. We refused full states in several messages:
 * receivers would have to keep parts of states that may never be complete, for nodes that few
 * operators have.
 */

/** False candidates at a miss of an object that no neighbour holds, on average. */
const FALSE_CANDIDATES = 0.02;
const LEAST_UNIVERSE = 2 ** 20;
const MOST_UNIVERSE = 2 ** 48;
/** Room for growth in a new universe. */
const HEADROOM = 1.25;

/** The share of keys for which one summary may wrongly say "maybe", by the number of neighbours. */
export function summaryRate(neighbours: number, falseCandidates = FALSE_CANDIDATES): number {
  return falseCandidates / 2 ** Math.ceil(Math.log2(Math.max(1, neighbours)));
}

/** The universe for a new summary that begins with this many positions. */
export function universeFor(positions: number, neighbours: number, falseCandidates?: number): number {
  const least = (HEADROOM * positions) / summaryRate(neighbours, falseCandidates);
  const power = 2 ** Math.ceil(Math.log2(Math.max(LEAST_UNIVERSE, least)));
  return Math.min(MOST_UNIVERSE, power);
}

/** The facts by which a universe is chosen. */
interface SummaryFacts {
  readonly universe: number;
  /** Positions in that universe, of which two keys may share one. */
  readonly positions: number;
  readonly keys: number;
  readonly neighbours: number;
  /** The most bytes of a full state. */
  readonly mostBytes: number;
  readonly falseCandidates?: number | undefined;
}

/**
 * The universe that should replace the present one, or null if that is right. It is wider if the
 * rate is exceeded, and narrower if the full state would be too long.
 */
export function nextUniverse(facts: SummaryFacts): number | null {
  const { universe, positions, keys, neighbours, mostBytes, falseCandidates } = facts;
  const isTooLong = summaryBytes(keys, universe) > mostBytes;
  const isTooNarrow = positions > universe * summaryRate(neighbours, falseCandidates);
  if (!isTooLong && !isTooNarrow) return null;
  let next = isTooNarrow ? universeFor(positions, neighbours, falseCandidates) : universe;
  while (next > 1 && summaryBytes(HEADROOM * keys, next) > mostBytes) next /= 2;
  return isTooLong || next > universe ? next : null;
}

/**
 * The bytes of a full state, at most. Golomb codes lose less than 5 % of the entropy of a sparse
 * set. Where more than 38 % of the positions are filled, their parameter is 1, and they take one
 * bit for each position of the universe.
 */
export function summaryBytes(keys: number, universe: number): number {
  const filled = 1 - Math.exp(-keys / universe);
  if (filled === 0) return HEAD_BYTES;
  const entropy = -filled * Math.log2(filled) - (1 - filled) * Math.log2(1 - filled);
  const bits = filled > 0.38 ? universe : 1.05 * entropy * universe;
  return HEAD_BYTES + bits / 8;
}

/** Bytes of a message besides its positions. */
const HEAD_BYTES = 128;
