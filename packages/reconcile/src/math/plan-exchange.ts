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

/** Symbols per difference that peeling needs, for hundreds of differences or more. */
const SYMBOLS_PER_DIFFERENCE = 1.38;

export interface ExchangeSizes {
  /** Keys of the initiator, which sends the first filter. */
  readonly here: number;
  /** Keys of the responder. */
  readonly there: number;
  /** The estimated number of differences. */
  readonly difference: number;
  /** Symbols that have come already. Symbols alone can go on from there, a filter starts again. */
  readonly symbols: number;
}

export interface ExchangePlan {
  /** Bits per key of both filters; 0 for symbols alone. */
  readonly bitsPerKey: number;
  readonly hashes: number;
  /** Bytes of an id. */
  readonly idBytes: number;
  /** The expected number of differences that symbols have to find. */
  readonly difference: number;
}

export function planExchange({ here, there, difference, symbols }: ExchangeSizes): ExchangePlan {
  const onlyThere = Math.min(there, Math.max(0, (difference - (here - there)) / 2));
  const onlyHere = Math.min(here, Math.max(0, difference - onlyThere));
  const common = Math.max(0, here - onlyHere);
  const alone = {
    bitsPerKey: 0,
    hashes: 0,
    idBytes: enoughIdBytes(difference, here + there),
    difference,
  };
  // The responder's keys that symbols find are told to it, one by one.
  const told = (Math.log2(there + 2) + 5.5) / 8;
  const cell = cellBytes(alone.idBytes);
  const each = SYMBOLS_PER_DIFFERENCE * cell + (told * onlyThere) / Math.max(1, difference);
  const rate = (here + common) / (8 * Math.LN2 ** 2 * difference * each);
  if (!(rate < 0.75)) return alone;
  const bitsPerKey = Math.log2(1 / rate) / Math.LN2;
  const left = Math.max(1, rate * difference);
  const withFilter = (bitsPerKey * (here + common + rate * onlyThere)) / 8 + left * each + 20;
  const spared = alone.idBytes === 5 ? symbols * cell : 0;
  if (withFilter >= difference * each - spared) return alone;
  return {
    bitsPerKey,
    hashes: Math.min(40, Math.max(1, Math.round(bitsPerKey * Math.LN2))),
    idBytes: enoughIdBytes(left, here + there),
    difference: left,
  };
}

/**
 * The bytes of an id with which fewer than one session in 32 fails because two keys share an id. A
 * failed session is repeated with another salt; a longer id would cost every session more.
 */
function enoughIdBytes(difference: number, keys: number): number {
  for (let bytes = 5; bytes < 8; bytes++) if (difference * keys <= 2 ** (8 * bytes - 5)) return bytes;
  return 8;
}
