/**
 * The digests of one stretch of time: a blocked Bloom filter, with the times of its first and last
 * packet.
 *
 * Why blocked. A collector adds every packet of a link, so the processor's cache decides: one line
 * per packet instead of six or seven. At 10 bits per digest and 6 hashes a full table says yes by
 * chance to 0.97 % of all questions; the classic filter would need 7 hashes for 0.82 %.
 *
 * A table is sized by *distinct* digests. A packet that was sent twice, byte for byte, sets no bit
 * the second time, and a table that counted packets would be closed half empty. `distinct` counts
 * the digests that set at least one bit. It is too low by the false positives while the table
 * filled, 0.2 % at 10 bits. A flood of one packet fills no table, and its journal would grow
 * without bound, so a table also ends after four times as many packets as it is made for.
 *
 * A table that is closed early, because little came in its time, is folded to the smallest size
 * that keeps the bits per digest. So a quiet night takes little of the space budget.
 */

import { BlockedBloomFilter, type KeyHash, type KeyHashes, type SecretKey } from 'bloomery';
import { rateBlocked } from 'bloomery/math';

/** Bits per digest of a full table unless the caller asks for others. */
export const DEFAULT_BITS = 10;
/** Bytes of a table unless the caller asks for others. */
export const DEFAULT_TABLE_BYTES = 1 << 20;

const BLOCK_BYTES = 64;
/** Digests that are added in all, for each that a full table is made for. */
const MOST_REPEATS = 4;
const MOST_HASHES = 12;

/** Size of a table and the number of digests it is made for. */
export interface TableShape {
  readonly blocks: number;
  readonly hashes: number;
  /** Distinct digests of a full table. */
  readonly capacity: number;
}

/** The shape of tables of this many bytes, a power of two from 64 to 2^26. */
export function tableShape(bytes = DEFAULT_TABLE_BYTES, bitsPerDigest = DEFAULT_BITS): TableShape {
  const isPower = Number.isInteger(Math.log2(bytes)) && bytes >= BLOCK_BYTES && bytes <= 2 ** 26;
  if (!isPower || !(bitsPerDigest >= 2 && bitsPerDigest <= 32)) {
    throw new RangeError(
      `Cannot size a table: expected a power of two from 64 to 2^26 bytes and 2 to 32 bits per digest, got ${bytes} bytes and ${bitsPerDigest} bits`,
    );
  }
  const blocks = bytes / BLOCK_BYTES;
  const capacity = Math.max(1, Math.floor((8 * bytes) / bitsPerDigest));
  let hashes = 1;
  const rate = (k: number) => rateBlocked({ n: capacity, blocks, k });
  while (hashes < MOST_HASHES && rate(hashes + 1) < rate(hashes)) hashes++;
  return { blocks, hashes, capacity };
}

/** A time interval in seconds since 1970, both ends included. */
export interface TimeSpan {
  readonly firstS: number;
  readonly lastS: number;
}

export class DigestTable {
  readonly shape: TableShape;
  readonly filter: BlockedBloomFilter;
  #firstS = Number.POSITIVE_INFINITY;
  #lastS = Number.NEGATIVE_INFINITY;
  #packets = 0;
  #distinct = 0;

  constructor(shape: TableShape, key: SecretKey) {
    const { blocks, hashes, capacity } = shape;
    this.shape = shape;
    this.filter = new BlockedBloomFilter({ blocks, hashes, capacity, key });
  }

  /** Time of the earliest packet; infinite if there is none. */
  get firstS(): number {
    return this.#firstS;
  }

  /** Time of the latest packet; minus infinity if there is none. */
  get lastS(): number {
    return this.#lastS;
  }

  /** Digests that were added, repeated ones included. */
  get packets(): number {
    return this.#packets;
  }

  /** Digests that set a bit. */
  get distinct(): number {
    return this.#distinct;
  }

  /** Whether the table is to be closed: by distinct digests, or after very many repeated ones. */
  get isFull(): boolean {
    const { capacity } = this.shape;
    return this.#distinct >= capacity || this.#packets >= MOST_REPEATS * capacity;
  }

  /** Adds digests of packets from this span of time. */
  add(hashes: KeyHashes, { firstS, lastS }: TimeSpan): void {
    this.#distinct += this.filter.addMany(hashes);
    this.#packets += hashes.length;
    this.#firstS = Math.min(this.#firstS, firstS);
    this.#lastS = Math.max(this.#lastS, lastS);
  }

  /** False if the packet was certainly not among them. */
  has(hash: KeyHash): boolean {
    return this.filter.hasHash(hash);
  }

  /** Probability that a packet that was not here gets a yes, from the bits that are set. */
  chanceRate(): number {
    return this.#packets === 0 ? 0 : this.filter.estimatedFalsePositiveRate();
  }

  /** The smallest filter with the same digests and no fewer bits for each than a full table has. */
  folded(): BlockedBloomFilter {
    let foldings = 0;
    let { blocks } = this.shape;
    let room = this.shape.capacity;
    while (blocks % 2 === 0 && this.#distinct <= room / 2) {
      foldings++;
      blocks /= 2;
      room /= 2;
    }
    return foldings === 0 ? this.filter : this.filter.fold(foldings);
  }
}
