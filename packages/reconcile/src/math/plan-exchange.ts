/**
 * Chooses between symbols alone and a filter before them, by the bytes that each takes.
 *
 * A filter with rate f costs log2(1/f)/ln 2 bits for each key. The first one holds the keys of the
 * initiator, the second one the responder's keys that passed it, which are the common ones and a
 * few more. Then f·d differences are left for symbols. With c bytes per difference for symbols, the
 * sum is smallest where f = (n + common) / (8·ln²2·d·c). If that is not well below 1, symbols alone
 * are cheaper.
 */

import { idBytesOf, LEAST_WIDTH, LONG_TAIL, MOST_WIDTH } from '../symbols/cell.ts';
import { symbolsNeeded } from './symbols-needed.ts';

/**
 * Bytes per difference of the list that tells the responder which keys only it has. Each of these
 * keys takes two to four bytes, and they are about half of the differences.
 */
const TOLD = 1.3;

export interface ExchangePlan {
  /** Bits per key of both filters; 0 for symbols alone. */
  readonly bitsPerKey: number;
  /** Bytes of a cell. */
  readonly width: number;
  /** The bytes that this takes: symbols, filters, and the ids that are told to the responder. */
  readonly bytes: number;
}

/**
 * The cheapest plan for `here` keys of the initiator, which sends the first filter, and `there`
 * keys of the responder. `spared` bytes of symbols have come already: symbols alone can go on from
 * there, a filter starts again.
 */
export function planExchange(here: number, there: number, difference: number, spared: number): ExchangePlan {
  const common = Math.max(0, (here + there - difference) / 2);
  const onlyThere = Math.max(0, there - common);
  const width = enoughBytes(difference, here + there);
  const bytesFor = (left: number, cell: number) => symbolsNeeded(left) * cell + left * TOLD;
  // A filter leaves a tenth of the differences or so, which may take narrower cells.
  const cell = enoughBytes(difference / 10, here + there);
  const best = (here + common) / (8 * Math.LN2 ** 2 * difference * (1.38 * cell + TOLD));
  // No filter has more than 40 hashes, and one of rate 1 has no bits.
  const rate = Math.min(1, Math.max(best, 2 ** -40));
  const alone = { bitsPerKey: 0, width, bytes: bytesFor(difference, width) - spared };
  const bitsPerKey = Math.log2(1 / rate) / Math.LN2;
  const left = Math.max(1, rate * difference);
  const after = enoughBytes(left, here + there);
  const bytes = (bitsPerKey * (here + common + rate * onlyThere)) / 8 + bytesFor(left, after) + 20;
  return bytes < alone.bytes ? { bitsPerKey, width: after, bytes } : alone;
}

/**
 * The expected number of differences after a filter with `hashes` hashes and `bits` bits of `here`
 * keys of the initiator, through which `passed` of `there` keys of the responder came.
 */
export function leftByFilter(
  hashes: number,
  bits: number,
  here: number,
  there: number,
  passed: number,
): number {
  // A full filter of a peer that claims many keys has the rate 1, which would make 0/0 below.
  const rate = Math.min(0.999, (1 - Math.exp((-hashes * here) / bits)) ** hashes);
  const onlyThere = (there - passed) / (1 - rate);
  return Math.max(1, rate * (onlyThere + Math.max(0, here - there + onlyThere)));
}

/**
 * The most differences for cells with a short tail. With more, the short check would fail too
 * often.
 */
const MOST_SHORT = 500;

/**
 * The bytes of a cell with which few sessions fail because two keys share an id: one in 128 with
 * short tails, one in 32 with long ones. A failed session is repeated with another salt; a longer
 * id would cost every session more, 17 % with short tails and 12 % with long ones. `widerCell` is
 * for the repetition.
 */
function enoughBytes(difference: number, keys: number): number {
  for (let width = difference > MOST_SHORT ? LONG_TAIL : LEAST_WIDTH; width < MOST_WIDTH; width++)
    if (difference * keys <= 2 ** (8 * idBytesOf(width) - (width < LONG_TAIL ? 7 : 5))) return width;
  return MOST_WIDTH;
}

/**
 * The bytes of a cell in this attempt. In the second attempt a cell has two bytes more, of which
 * its id gets at least one. So the second attempt fails 256 times less often. The third one sends a
 * list of all keys instead.
 */
export function widerCell(width: number, attempt: number): number {
  return Math.min(MOST_WIDTH, width + 2 * attempt);
}
