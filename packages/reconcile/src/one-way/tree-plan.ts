/**
 * Expected share of the differences that a search finds, and from it the best division of the bits
 * between leaves and inner nodes.
 *
 * A leaf that differs lies below about log2 n + 1/3 inner nodes, and all of them differ as well.
 * Each of these is a false positive of the inner filter with rate f. The search prunes at c + 1
 * of them in a row, so it arrives if no such run is among them, and reports the leaf unless the
 * leaf filter has a false positive. The model takes the mean depth for all leaves. It was within
 * 1.5 points of the measured shares in all 24 cells of bench/results/reconcile-methods.md.
 */

/** Hashes of a filter with this many bits per key: ln 2 times the bits, at least one. */
export function hashesFor(bitsPerKey: number): number {
  return Math.max(1, Math.round(Math.LN2 * bitsPerKey));
}

export interface TreeShape {
  /** Number of keys in the summarised tree. */
  readonly size: number;
  /** Bits per key of the filter of leaves. */
  readonly leafBits: number;
  /** Bits per key of the filter of inner nodes. */
  readonly innerBits: number;
  /** Correction level c of the search. */
  readonly correction: number;
}

/** Expected share of the differing keys that a search finds. */
export function expectedAccuracy({ size, leafBits, innerBits, correction }: TreeShape): number {
  const depth = size <= 1 ? 0 : Math.log2(size) + 1 / 3;
  const rate = rateOf(innerBits);
  const whole = Math.floor(depth);
  const arrives =
    (1 - (depth - whole)) * noRun(whole, rate, correction) +
    (depth - whole) * noRun(whole + 1, rate, correction);
  return arrives * (1 - rateOf(leafBits));
}

/**
 * Bits per key for the leaves that find most, out of `bitsPerKey` in all, in steps of a sixteenth.
 */
export function bestLeafBits(size: number, bitsPerKey: number, correction: number): number {
  let best = bitsPerKey / 2;
  let most = -1;
  for (let part = 1; part < 16; part++) {
    const leafBits = (bitsPerKey * part) / 16;
    const found = expectedAccuracy({ size, leafBits, innerBits: bitsPerKey - leafBits, correction });
    if (found > most) {
      most = found;
      best = leafBits;
    }
  }
  return best;
}

/** False positive rate of a filter that holds as many keys as it was made for. */
function rateOf(bitsPerKey: number): number {
  const hashes = hashesFor(bitsPerKey);
  return (1 - Math.exp(-hashes / bitsPerKey)) ** hashes;
}

/** Probability that `length` trials of this rate have no run of more than `allowed` successes. */
function noRun(length: number, rate: number, allowed: number): number {
  // The probability of each current run so far, from 0 to `allowed`.
  let runs: number[] = new Array(allowed + 1).fill(0);
  runs[0] = 1;
  for (let i = 0; i < length; i++) {
    const all = runs.reduce((sum, p) => sum + p, 0);
    runs = runs.map((_, run) => (run === 0 ? all * (1 - rate) : runs[run - 1] * rate));
  }
  return runs.reduce((sum, p) => sum + p, 0);
}
