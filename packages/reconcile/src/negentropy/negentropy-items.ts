/**
 * The items of one side, in the order of the protocol: by timestamp, then by id.
 *
 * A fingerprint covers a range of this order. "Compute the addition mod 2^256 of the element IDs
 * (interpreted as 32-byte little-endian unsigned integers)", then hash the sum and the number of
 * items. We keep the sums of all beginnings, so every fingerprint is one subtraction and one block
 * of SHA-256, however long its range is. This takes 72 bytes per item in all, and one set answers
 * any number of sessions.
 */

import {
  comparePrefixes,
  END,
  FINGERPRINT_BYTES,
  ID_BYTES,
  INFINITE,
  type NegentropyBound,
  varintBytes,
} from './negentropy-message.ts';
import { sha256 } from './sha256.ts';

export interface NegentropyItem {
  /** An integer from 0 to 2^64 - 2; seconds since 1970 in NIP-77. */
  readonly timestamp: number | bigint;
  /** 32 bytes. */
  readonly id: Uint8Array;
}

const LIMBS = 8;

export class NegentropyItems {
  readonly size: number;
  readonly #timestamps: BigUint64Array;
  readonly #ids: Uint8Array;
  /** Sums of the first 0, 1, 2, … ids, in limbs of 32 bits, least significant first. */
  readonly #sums: Uint32Array;

  /** An item that is given twice counts once. */
  constructor(items: Iterable<NegentropyItem>) {
    const sorted = Array.from(items, checked).sort(compareItems);
    const distinct = sorted.filter((item, i) => i === 0 || compareItems(sorted[i - 1], item) !== 0);
    this.size = distinct.length;
    this.#timestamps = BigUint64Array.from(distinct, ({ timestamp }) => timestamp);
    this.#ids = new Uint8Array(ID_BYTES * this.size);
    for (const [i, { id }] of distinct.entries()) this.#ids.set(id, ID_BYTES * i);
    this.#sums = sumsOf(this.#ids);
  }

  idAt(i: number): Uint8Array {
    return this.idsOf(i, i + 1);
  }

  /** The ids from `start` to before `end`, end to end. */
  idsOf(start: number, end: number): Uint8Array {
    return this.#ids.subarray(ID_BYTES * start, ID_BYTES * end);
  }

  /** Number of the first item from `start` on that is not below the bound. */
  placeOf(bound: NegentropyBound, start: number): number {
    if (bound.timestamp === INFINITE) return this.size;
    let low = start;
    let high = this.size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const timestamp = this.#timestamps[middle];
      const below =
        timestamp === bound.timestamp
          ? comparePrefixes(this.idAt(middle), bound.prefix) < 0
          : timestamp < bound.timestamp;
      if (below) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The shortest bound between item `place` and the one before it. */
  boundBefore(place: number): NegentropyBound {
    if (place >= this.size) return END;
    const timestamp = this.#timestamps[place];
    if (place === 0 || this.#timestamps[place - 1] !== timestamp)
      return { timestamp, prefix: new Uint8Array(0) };
    const id = this.idAt(place);
    const before = this.idAt(place - 1);
    // "It should be the byte-length of their common ID-prefix plus 1."
    let common = 0;
    while (id[common] === before[common]) common++;
    return { timestamp, prefix: id.subarray(0, common + 1) };
  }

  /** The fingerprint of the items from `start` to before `end`. */
  fingerprint(start: number, end: number): Uint8Array {
    const count = varintBytes(BigInt(end - start));
    const input = new Uint8Array(ID_BYTES + count.length);
    const view = new DataView(input.buffer);
    let borrow = 0;
    for (let limb = 0; limb < LIMBS; limb++) {
      const difference = this.#sums[LIMBS * end + limb] - this.#sums[LIMBS * start + limb] - borrow;
      view.setUint32(4 * limb, difference, true);
      borrow = difference < 0 ? 1 : 0;
    }
    input.set(count, ID_BYTES);
    return sha256(input).subarray(0, FINGERPRINT_BYTES);
  }
}

function sumsOf(ids: Uint8Array): Uint32Array {
  const count = ids.length / ID_BYTES;
  const sums = new Uint32Array(LIMBS * (count + 1));
  const view = new DataView(ids.buffer);
  for (let i = 0; i < count; i++) {
    let carry = 0;
    for (let limb = 0; limb < LIMBS; limb++) {
      const sum = sums[LIMBS * i + limb] + view.getUint32(ID_BYTES * i + 4 * limb, true) + carry;
      sums[LIMBS * (i + 1) + limb] = sum;
      carry = sum >= 2 ** 32 ? 1 : 0;
    }
  }
  return sums;
}

interface CheckedItem {
  readonly timestamp: bigint;
  /** Nearest number to the timestamp: most items differ in it, and comparing numbers is faster. */
  readonly near: number;
  readonly id: Uint8Array;
}

function checked({ timestamp, id }: NegentropyItem): CheckedItem {
  const whole = typeof timestamp === 'bigint' || Number.isSafeInteger(timestamp);
  if (!whole || timestamp < 0 || timestamp >= INFINITE)
    throw new RangeError(`Cannot take an item: expected a timestamp from 0 to 2^64 - 2, got ${timestamp}`);
  if (!(id instanceof Uint8Array) || id.length !== ID_BYTES)
    throw new TypeError(`Cannot take an item: expected an id of ${ID_BYTES} bytes, got ${id?.length}`);
  return { timestamp: BigInt(timestamp), near: Number(timestamp), id };
}

function compareItems(a: CheckedItem, b: CheckedItem): number {
  if (a.near !== b.near) return a.near - b.near;
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1;
  return comparePrefixes(a.id, b.id);
}
