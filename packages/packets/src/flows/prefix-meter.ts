/**
 * The prefix meter: packets of captures in, the heavy IPv4 prefixes of any length out. `FlowMeter`
 * counts prefixes of one length that was chosen before; this one finds the lengths itself.
 *
 * Bytes are gathered by address. As long as there are at most `exactAddresses` of them, the answer
 * is exact. Beyond that the gathered bytes go into a dyadic Count-Min sketch (`PrefixSums`), and
 * gathering begins again: the sketch takes some microseconds for each address, and a gathered
 * address pays once for many packets. The answer says which of the two it is, and its error.
 *
 * IPv6 is counted in one number: a sketch of its 128 levels would cost four times as much.
 */

import { HeaderBatch, type HeaderDecoder, KEY_WORDS, type PacketBatch, STATUS } from '../capture/index.ts';
import { findHeavyPrefixes, type HeavyPrefix } from './heavy-prefixes.ts';
import { PrefixSums } from './prefix-sums.ts';

export interface PrefixMeterOptions {
  /** Address that is counted. Default 'source'. */
  readonly side?: 'source' | 'destination' | undefined;
  /** Default 'bytes'. */
  readonly measure?: 'bytes' | 'packets' | undefined;
  /** Counts bytes on the wire instead of those of IP. Default false. */
  readonly wire?: boolean | undefined;
  /** Addresses that are counted exactly. Default 2^18, about 20 MB. */
  readonly exactAddresses?: number | undefined;
  /** Share of the total by which a sum of the sketch may be too high. Default 0.001. */
  readonly epsilon?: number | undefined;
  /** Probability that it is higher. Default 0.01. */
  readonly delta?: number | undefined;
  /** Seed of the hash; a random one, because senders choose addresses. */
  readonly seed: bigint;
}

export interface PrefixReport {
  /** Whether all numbers are exact. */
  readonly exact: boolean;
  readonly measure: 'bytes' | 'packets';
  /** Sum of all IPv4 packets; shares refer to it. */
  readonly total: number;
  /** Sum of the IPv6 packets, which are not in the list. */
  readonly ipv6: number;
  /** Most by which a sum is too high, with probability 1 - `delta`. 0 if it is exact. */
  readonly error: number;
  readonly delta: number;
  readonly prefixes: readonly HeavyPrefix[];
}

export class PrefixMeter {
  /** Room for a chunk of a capture: none. The port of `FlowMeter`, for readers that feed both. */
  readonly chunk: null = null;
  readonly #options: PrefixMeterOptions;
  readonly #exactAddresses: number;
  readonly #epsilon: number;
  readonly #delta: number;
  #gathered = new Map<number, number>();
  #sketch: PrefixSums | null = null;
  #headers: HeaderBatch | null = null;
  #total = 0;
  #ipv6 = 0;

  constructor(options: PrefixMeterOptions) {
    const { exactAddresses = 2 ** 18, epsilon = 0.001, delta = 0.01 } = options;
    if (!(Number.isInteger(exactAddresses) && exactAddresses >= 1 && exactAddresses <= 2 ** 24)) {
      throw new RangeError(
        `Cannot use exactAddresses: expected a whole number from 1 to 2^24, got ${exactAddresses}`,
      );
    }
    this.#options = options;
    this.#exactAddresses = exactAddresses;
    this.#epsilon = epsilon;
    this.#delta = delta;
  }

  /** Whether every address was counted exactly so far. */
  get exact(): boolean {
    return this.#sketch === null;
  }

  /** Decodes the packets of a batch and counts them. */
  addPackets(batch: PacketBatch, decoder: HeaderDecoder): void {
    if (this.#headers === null || this.#headers.capacity < batch.count) {
      this.#headers = new HeaderBatch(batch.capacity);
    }
    decoder.decode(batch, this.#headers);
    this.add(batch, this.#headers);
  }

  /** Counts the decoded packets of a batch. */
  add(batch: PacketBatch, headers: HeaderBatch): void {
    const { side = 'source', measure = 'bytes', wire = false } = this.#options;
    const { status, version, keys, ipLength } = headers;
    const word = side === 'source' ? 0 : 1;
    for (let row = 0; row < headers.count; row++) {
      if (status[row] !== STATUS.decoded) continue;
      const amount = measure === 'packets' ? 1 : wire ? batch.wireLength[row] : ipLength[row];
      if (version[row] !== 4) {
        this.#ipv6 += amount;
        continue;
      }
      this.#total += amount;
      const address = keys[row * KEY_WORDS + word];
      const before = this.#gathered.get(address);
      if (before === undefined && this.#gathered.size >= this.#exactAddresses) this.#pour();
      this.#gathered.set(address, (this.#gathered.get(address) ?? 0) + amount);
    }
  }

  /**
   * The prefixes with at least this share of the total beside longer ones. When it is not exact, a
   * share below `epsilon` is a RangeError: the noise of the sketch would pass for prefixes, of
   * every length, and with a thousandth of `epsilon` there are 2^32 of them.
   */
  report(share: number): PrefixReport {
    if (!(share > 0 && share <= 1)) {
      throw new RangeError(`Cannot list prefixes: expected a share above 0 and at most 1, got ${share}`);
    }
    if (!this.exact && share < this.#epsilon) {
      throw new RangeError(
        `Cannot list prefixes: expected a share of at least ${this.#epsilon}, the error of the sketch, got ${share}`,
      );
    }
    if (this.#sketch !== null) this.#pour();
    const sketch = this.#sketch;
    const error = sketch === null ? 0 : this.#epsilon * this.#total;
    const sum =
      sketch === null
        ? exactSums(this.#gathered)
        : (address: number, length: number) => sketch.sum(address, length);
    return {
      exact: sketch === null,
      measure: this.#options.measure ?? 'bytes',
      total: this.#total,
      ipv6: this.#ipv6,
      error,
      delta: sketch === null ? 0 : this.#delta,
      prefixes: findHeavyPrefixes(sum, share * this.#total, error),
    };
  }

  /** Moves the gathered bytes into the sketch. */
  #pour(): void {
    const { seed } = this.#options;
    this.#sketch ??= new PrefixSums({ epsilon: this.#epsilon, delta: this.#delta, seed });
    this.#sketch.addMany([...this.#gathered.keys()], [...this.#gathered.values()]);
    this.#gathered = new Map();
  }
}

/** Sums of prefixes from the bytes of each address. */
function exactSums(bytes: ReadonlyMap<number, number>): (address: number, length: number) => number {
  const addresses = Float64Array.from(bytes.keys()).sort();
  const upTo = new Float64Array(addresses.length + 1);
  for (const [i, address] of addresses.entries()) upTo[i + 1] = upTo[i] + bytes.get(address)!;
  /** Number of addresses below one. */
  const below = (address: number) => {
    let [low, high] = [0, addresses.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (addresses[middle] < address) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return (address, length) => upTo[below(address + 2 ** (32 - length))] - upTo[below(address)];
}
