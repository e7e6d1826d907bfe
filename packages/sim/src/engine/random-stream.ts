/**
 * Randomness split by name: each node, each direction of a link and each workload draws from a
 * stream of its own, which depends on the seed of the run and on the name alone. A node that is
 * added, or that draws once more, does not shift the numbers of the others. So two runs that differ
 * in one node can be compared, and a failure that is shrunk keeps the randomness of what remains.
 *
 * The generator is sfc32 of Chris Doty-Humphrey's PractRand, whose state of 128 bits is filled from
 * the name by the library's hash. Mulberry32 has 32 bits of state: of 10,000 nodes, two would
 * share a stream with a probability of 1 %.
 */

import { hashKey } from 'bloomery';

/** Draws a number in [0, 1), in steps of 2^-53. */
export type RandomStream = () => number;

/** Draws that are dropped first, so that similar seeds have nothing in common. */
const WARM_UP = 12;

export function randomStream(seed: number, name: string): RandomStream {
  const first = hashKey(name, { seed });
  const second = hashKey(`second ${name}`, { seed });
  let [a, b, c] = [first.low | 0, first.high | 0, second.low | 0];
  let counter = 1;
  const next = (): number => {
    const drawn = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + drawn) | 0;
    return drawn;
  };
  for (let i = 0; i < WARM_UP; i++) next();
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) * 2 ** -53;
}
