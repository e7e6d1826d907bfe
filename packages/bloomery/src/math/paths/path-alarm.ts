/**
 * The exact probability of a false alarm on a path without a loop, for a filter that travels in the
 * packet (Whitaker and Wetherall, Forwarding without loops in Icarus, OPENARCH 2002; survey 7.1).
 *
 * The model. The filter has m bits. Each node sets k distinct bits of it, chosen uniformly and
 * independently for each node. A node whose bits are all set already changes nothing: the packet
 * was here before, or this is a coincidence. r coincidences in a row are an alarm. The question is
 * how likely an alarm is on a path of h nodes that are all different.
 *
 * The derivation. Let x be the number of ones before a node. Its k bits are a random k-subset, of
 * which j fall on zeros with the hypergeometric probability
 *
 *     q(j, x) = C(m-x, j) · C(x, k-j) / C(m, k),
 *
 * and x becomes x + j. Given x, nothing else about the past matters, except how many of the last
 * nodes changed nothing: c = 0 … r-1 of them. So (x, c) is a Markov chain. j > 0 leads to
 * (x + j, 0), j = 0 to (x, c + 1), and c + 1 = r is the alarm. We carry the distribution of (x, c)
 * over h nodes and add up the probability that leaves into the alarm. That takes at most h · m · k
 * steps for any r: 0.1 million for 16 nodes, 256 bits and 8 bits per node.
 *
 * Every term is positive, so nothing cancels: a rate of 1e-20 has as many correct digits as one of
 * 0.5, about 12. The first of the q(j, x) is a product of at most k quotients and the others follow
 * by recursion; with k <= 64 the smallest is above 1e-124, so none is lost to underflow.
 *
 * We refused the formula 1 - Π(1 - (1 - (1-k/m)^i)^k), which takes each bit for independent of the
 * others. It gives 4.89 % instead of 3.98 % for m = 32, k = 2 and 4 nodes, and it knows no r.
 *
 * What the number means: the probability over the random choice of the nodes' bits. A path whose
 * nodes keep the same bits for all packets either always raises the alarm or never does. `salt` of
 * `PathFilter` makes the choice again for each packet, and then the number is a rate per packet.
 */

import { checkInteger } from '../checks.ts';

/** The largest filter in a packet: the header gives the number of its bytes in one byte. */
export const MAX_PATH_BITS = 8 * 255;
/** The most bits that a node may set. More would help only below 1e-19, on paths of 23 nodes. */
export const MAX_PATH_HASHES = 64;
/** The longest path: the header counts the nodes in one byte. */
export const MAX_PATH_HOPS = 255;
/** The most repetitions before an alarm: the header has four bits for them. */
export const MAX_PATH_REPEATS = 15;

/**
 * The probability of a false alarm on a path of h different nodes: m bits, k of them set by each
 * node, an alarm after r nodes in a row that changed nothing.
 */
export function pathAlarmRate(m: number, k: number, h: number, r = 1): number {
  checkInteger('m', m, 1, MAX_PATH_BITS);
  checkInteger('k', k, 1, Math.min(m, MAX_PATH_HASHES));
  checkInteger('h', h, 0, MAX_PATH_HOPS);
  checkInteger('r', r, 1, MAX_PATH_REPEATS);
  const most = Math.min(m, h * k);
  const chains: Chains = {
    // chance[c][x]: x ones, and the last c nodes changed nothing.
    chance: Array.from({ length: r }, () => new Float64Array(most + 1)),
    fresh: freshBits(m, k, most),
    k,
  };
  chains.chance[0]![0] = 1;
  let alarm = 0;
  for (let node = 1; node <= h; node++) alarm += visitNode(chains);
  return alarm;
}

interface Chains {
  chance: Float64Array[];
  /** q(j, x) at x · (k + 1) + j. */
  readonly fresh: Float64Array;
  readonly k: number;
}

/** Carries the distribution over one node. Returns the probability that it raises the alarm. */
function visitNode(chains: Chains): number {
  const { chance, fresh, k } = chains;
  const next = chance.map((run) => new Float64Array(run.length));
  const changed = next[0]!;
  let alarm = 0;
  for (let x = 0; x < changed.length; x++) {
    const row = x * (k + 1);
    const unchanged = fresh[row]!;
    let total = 0;
    for (let c = 0; c < chance.length; c++) {
      const here = chance[c]![x]!;
      total += here;
      if (c + 1 < next.length) next[c + 1]![x] = here * unchanged;
      else alarm += here * unchanged;
    }
    if (total === 0) continue;
    const last = Math.min(k, changed.length - 1 - x);
    for (let j = 1; j <= last; j++) changed[x + j]! += total * fresh[row + j]!;
  }
  chains.chance = next;
  return alarm;
}

/** q(j, x) for x = 0 … `most` and j = 0 … k. */
function freshBits(m: number, k: number, most: number): Float64Array {
  const fresh = new Float64Array((most + 1) * (k + 1));
  for (let x = 0; x <= most; x++) {
    const row = x * (k + 1);
    // The fewest fresh bits that are possible. C(x,k)/C(m,k), or for x < k C(k,x)/C(m,x): all ones
    // lie under the k bits.
    const least = Math.max(0, k - x);
    const [few, many] = x < k ? [x, k] : [k, x];
    let q = 1;
    for (let i = 0; i < few; i++) q *= (many - i) / (m - i);
    fresh[row + least] = q;
    for (let j = least; j < k; j++) {
      q *= ((m - x - j) * (k - j)) / ((j + 1) * (x - k + j + 1));
      fresh[row + j + 1] = q;
    }
  }
  return fresh;
}
