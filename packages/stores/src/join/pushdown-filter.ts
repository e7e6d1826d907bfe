/**
 * A Bloom filter that PostgreSQL asks by itself, with no extension, no function of its own and no
 * temporary table: its bits are a bytea, and a condition of `get_bit` on the server's own hashes
 * says whether a row may have a partner.
 *
 * The number of bits is a power of two, so that an index is a mask of the hash. A remainder would
 * allow any size and costs the server one more call for every row. Each 64-bit hash gives two
 * indices of up to 32 bits. `get_bit` counts the bits of a byte from the lowest, as we do.
 *
 * The server stops at the first bit that is 0. A filter with few hashes is emptier, so most rows
 * end at the first bit. `planJoin` therefore takes the fewest hashes that cost no more than 1 % of
 * the bytes.
 */

import { hashKeyParts, hashSql, type KeyType } from './join-key.ts';
import { hashHigh, hashLow } from './postgres-hash.ts';

export interface PushdownOptions {
  readonly types: readonly KeyType[];
  /** The number of bits is 2 to this power, from 6 to 32. */
  readonly bitsLog2: number;
  /** Bits for each key, from 1 to 30. */
  readonly hashes: number;
}

export const LEAST_BITS_LOG2 = 6;
/** 512 MiB; PostgreSQL's own limit of a value is 1 GB. */
export const MOST_BITS_LOG2 = 32;
export const MOST_HASHES = 30;

export class PushdownFilter {
  readonly types: readonly KeyType[];
  readonly bitsLog2: number;
  readonly hashes: number;
  /** The bits, as the server gets them. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly #mask: number;

  constructor({ types, bitsLog2, hashes }: PushdownOptions) {
    check('bitsLog2', bitsLog2, LEAST_BITS_LOG2, MOST_BITS_LOG2);
    check('hashes', hashes, 1, MOST_HASHES);
    if (types.length === 0)
      throw new RangeError('Cannot make a filter: expected the type of at least one column, got none');
    this.types = types;
    this.bitsLog2 = bitsLog2;
    this.hashes = hashes;
    this.bytes = new Uint8Array(2 ** (bitsLog2 - 3));
    this.#mask = bitsLog2 === 32 ? 0xffffffff : 2 ** bitsLog2 - 1;
  }

  get bits(): number {
    return 2 ** this.bitsLog2;
  }

  /** Adds a key, given as the texts of its columns. */
  add(parts: readonly string[]): void {
    for (let i = 0; i < this.hashes; i++) {
      const index = this.#index(parts, i);
      this.bytes[Math.floor(index / 8)] |= 1 << (index & 7);
    }
  }

  /** Answers as the server does: false means certainly not, true means maybe. */
  has(parts: readonly string[]): boolean {
    for (let i = 0; i < this.hashes; i++) {
      const index = this.#index(parts, i);
      if ((this.bytes[Math.floor(index / 8)] & (1 << (index & 7))) === 0) return false;
    }
    return true;
  }

  /** The share of bits that are set. */
  fill(): number {
    let ones = 0;
    for (const byte of this.bytes) ones += ONES[byte];
    return ones / this.bits;
  }

  /** The rate of false positives that follows from the bits that are set. */
  estimatedFalsePositiveRate(): number {
    return this.fill() ** this.hashes;
  }

  /**
   * The condition as SQL. `columns` are SQL expressions in the order of the types, and `parameter`
   * is an expression of type bytea, by default the first bind parameter.
   */
  condition(columns: readonly string[], parameter = '$1::bytea'): string {
    if (columns.length !== this.types.length) {
      throw new RangeError(
        `Cannot write the condition: expected ${this.types.length} columns, got ${columns.length}`,
      );
    }
    return Array.from({ length: this.hashes }, (_, i) => {
      const hash = hashSql(this.types, columns, seedOf(i));
      const half = i % 2 === 0 ? hash : `(${hash} >> 32)`;
      return `pg_catalog.get_bit(${parameter}, ${half} & ${this.#mask}::int8) = 1`;
    }).join(' and ');
  }

  #index(parts: readonly string[], i: number): number {
    // Two indices share a hash, so an odd one finds its hash computed.
    if (i % 2 === 0) hashKeyParts(this.types, parts, seedOf(i));
    return ((i % 2 === 0 ? hashLow() : hashHigh()) & this.#mask) >>> 0;
  }
}

function seedOf(i: number): number {
  return 1 + (i >> 1);
}

function check(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new RangeError(`Cannot make a filter: expected ${name} from ${least} to ${most}, got ${value}`);
}

const ONES = Uint8Array.from({ length: 256 }, (_, byte) => {
  let ones = 0;
  for (let rest = byte; rest > 0; rest >>= 1) ones += rest & 1;
  return ones;
});
