/**
 * Chooses between symbols alone and a filter before them, by the bytes that each takes.
 *
 * A filter with rate f costs log2(1/f)/ln 2 bits for each key. The first one holds the keys of the
 * initiator, the second one the responder's keys that passed it, which are the common ones and a
 * few more. Then f·d differences are left for symbols. With c bytes per difference for symbols, the
 * sum is smallest where f = (n + common) / (8·ln²2·d·c). If that is not well below 1, symbols alone
 * are cheaper.
 */

import { cellBytes } from '../symbols/cell.ts';
import { symbolsNeeded } from './symbols-needed.ts';

export interface ExchangePlan {
  /** Bits per key of both filters; 0 for symbols alone. */
  readonly bitsPerKey: number;
  /** Bytes of an id. */
  readonly idBytes: number;
  /** The bytes that this takes: symbols, filters, and the ids that are told to the responder. */
  readonly bytes: number;
}

/**
 * The cheapest plan for `here` keys of the initiator, which sends the first filter, and `there`
 * keys of the responder. `symbols` have come already: symbols alone can go on from there, a filter
 * starts again.
 */
export function planExchange(here: number, there: number, difference: number, symbols: number): ExchangePlan {
  const onlyThere = Math.min(there, Math.max(0, (difference - (here - there)) / 2));
  const onlyHere = Math.min(here, Math.max(0, difference - onlyThere));
  const common = Math.max(0, here - onlyHere);
  const idBytes = enoughIdBytes(difference, here + there);
  const cell = cellBytes(idBytes);
  // The responder's keys that symbols find are told to it, one by one.
  const told = (((Math.log2(there + 2) + 5.5) / 8) * onlyThere) / Math.max(1, difference);
  const bytesFor = (left: number) => symbolsNeeded(left) * cell + left * told;
  const best = (here + common) / (8 * Math.LN2 ** 2 * difference * (1.38 * cell + told));
  // No filter has more than 40 hashes.
  const rate = Math.max(best, 2 ** -40);
  const spared = idBytes === 5 ? symbols * cell : 0;
  const alone = { bitsPerKey: 0, idBytes, bytes: bytesFor(difference) - spared };
  if (!(rate < 0.75)) return alone;
  const bitsPerKey = Math.log2(1 / rate) / Math.LN2;
  const left = Math.max(1, rate * difference);
  const bytes = (bitsPerKey * (here + common + rate * onlyThere)) / 8 + bytesFor(left) + 20;
  if (bytes >= alone.bytes) return alone;
  return { bitsPerKey, idBytes: enoughIdBytes(left, here + there), bytes };
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
  const rate = (1 - Math.exp((-hashes * here) / bits)) ** hashes;
  const onlyThere = Math.min(there, (there - passed) / (1 - rate));
  return Math.max(1, rate * (onlyThere + Math.max(0, here - there + onlyThere)));
}

/**
 * The bytes of an id with which fewer than one session in 32 fails because two keys share an id. A
 * failed session is repeated with another salt; a longer id would cost every session more.
 */
function enoughIdBytes(difference: number, keys: number): number {
  for (let bytes = 5; bytes < 8; bytes++) if (difference * keys <= 2 ** (8 * bytes - 5)) return bytes;
  return 8;
}
