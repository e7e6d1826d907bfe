/**
 * The first part of some changes, as large as its delta may be for a given number of bytes. A
 * network with datagrams loses a long message with any of its parts, so a publisher sends several
 * generations instead, each of which can be applied when it has come.
 *
 * The parts are runs of the sorted positions. A part of 1/p of the changes costs up to log2 p bits
 * more per change than the whole would: 2,000 changes of a set of 100,000 positions take 2,868
 * bytes in one delta, and 3,226 in three of at most 1,300 bytes (set-publisher.test.ts).
 *
 * The bound is no estimate. A Golomb code of k rising integers below n with the parameter M takes
 * at most k (1 + ceil(log2 M)) + n/M bits, whatever the integers are.
 */

import { gapParameter } from '../coding/gap-code.ts';
import type { PositionChanges } from './positions.ts';

/** Everything of a delta but its codes: 36 bytes, and numbers of variable length. */
const HEAD_BYTES = 72;

/** The set before the changes. */
export interface ChangedSet {
  readonly universe: number;
  readonly positions: { readonly size: number };
}

/** The first changes whose delta has at most `mostBytes` bytes, but at least one of them. */
export function firstChanges(
  { removed, added }: PositionChanges,
  { universe, positions: { size } }: ChangedSet,
  mostBytes: number,
): PositionChanges {
  const total = removed.length + added.length;
  const part = (count: number) => {
    const removals = Math.round((count * removed.length) / total);
    return { removals, additions: count - removals };
  };
  const fits = (count: number) => {
    const { removals, additions } = part(count);
    const bits = mostBits(removals, size) + mostBits(additions, universe);
    return HEAD_BYTES + Math.ceil(bits / 8) <= mostBytes;
  };
  if (total <= 1 || fits(total)) return { removed, added };
  let [most, tooMany] = [1, total];
  while (tooMany - most > 1) {
    const middle = Math.floor((most + tooMany) / 2);
    if (fits(middle)) most = middle;
    else tooMany = middle;
  }
  const { removals, additions } = part(most);
  return { removed: removed.subarray(0, removals), added: added.subarray(0, additions) };
}

function mostBits(count: number, end: number): number {
  if (count === 0) return 0;
  const parameter = gapParameter(count, end);
  return count * (1 + Math.ceil(Math.log2(parameter))) + end / parameter;
}
