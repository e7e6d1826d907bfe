/**
 * Bytes of every IPv4 prefix at once, in fixed memory, by the dyadic Count-Min sketch of the
 * library (`RangeSketch`): a prefix is one node of its tree. `FlowMeter` counts prefixes of one
 * length that was chosen before; this one answers for any length afterwards, and finds the heavy
 * prefixes of all lengths by walking down from 0.0.0.0/0.
 *
 * What it promises: a sum is never below the truth, and above it by more than `epsilon` of all
 * bytes with probability at most `delta`. Every prefix with the share that `heavy` asks for is
 * listed.
 *
 * What it costs: a counter for each of the 32 levels and each row, so it is slower than `FlowMeter`
 * by an order of magnitude. IPv6 is left out: 128 levels would cost four times as much again.
 */

import { RangeSketch } from 'bloomery';

export interface PrefixSumsOptions {
  /** Share of all bytes by which a sum may be too high. Default 0.01. */
  readonly epsilon?: number | undefined;
  /** Probability that it is higher. Default 0.01. */
  readonly delta?: number | undefined;
  /** Seed of the hash; a random one, where senders choose addresses. */
  readonly seed: bigint;
}

export interface PrefixSum {
  /** First address of the prefix, as a number. */
  readonly address: number;
  /** Bits of the prefix. */
  readonly length: number;
  /** Upper bound on its bytes. */
  readonly atMost: number;
}

export class PrefixSums {
  readonly #sketch: RangeSketch;

  constructor({ epsilon = 0.01, delta = 0.01, seed }: PrefixSumsOptions) {
    this.#sketch = RangeSketch.forError({ universeBits: 32, epsilon, delta, seed, update: 'conservative' });
  }

  /** All bytes, exact. */
  get total(): number {
    return this.#sketch.total;
  }

  /** Bytes of memory. */
  get byteLength(): number {
    return this.#sketch.byteLength;
  }

  /** Adds bytes of addresses, each a number from 0 to 2^32 - 1. */
  addMany(addresses: ArrayLike<number>, bytes: ArrayLike<number>): void {
    this.#sketch.addMany(Array.from(addresses), Array.from(bytes));
  }

  /** Upper bound on the bytes of a prefix. Bits behind it are ignored. */
  sum(address: number, length: number): number {
    if (!(Number.isInteger(length) && length >= 0 && length <= 32)) {
      throw new RangeError(`Cannot sum a prefix: expected a length from 0 to 32, got ${length}`);
    }
    const size = 2 ** (32 - length);
    const first = Math.floor(address / size) * size;
    return this.#sketch.count(first, first + size - 1);
  }

  /**
   * Prefixes of the given lengths with at least this share of all bytes, in the order of their
   * addresses, shorter ones first. A prefix can be heavy only if the one around it is.
   */
  heavy(share: number, lengths: readonly number[] = [8, 16, 24, 32]): PrefixSum[] {
    if (!(share > 0 && share <= 1)) {
      throw new RangeError(`Cannot list prefixes: expected a share above 0 and at most 1, got ${share}`);
    }
    const found: PrefixSum[] = [];
    const visit = (address: number, length: number) => {
      const atMost = this.sum(address, length);
      if (atMost < share * this.total || atMost === 0) return;
      if (lengths.includes(length)) found.push({ address, length, atMost });
      if (length === 32) return;
      visit(address, length + 1);
      visit(address + 2 ** (31 - length), length + 1);
    };
    visit(0, 0);
    return found;
  }
}
