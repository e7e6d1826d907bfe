/**
 * The header of Icarus between routers: a `PathFilter` in front of each packet
 * (docs/spec/path-filter.md). A router that finds its own bits set drops the packet, so a routing
 * loop costs one turn and not the whole TTL.
 *
 * Each packet gets a random salt. A false alarm then hits one packet and not all packets of a path,
 * and TCP sends the packet again.
 */

import { type HashOptions, hashKey, type KeyHash, PathFilter } from 'bloomery';
import type { Shim } from '../routers/router.ts';

export interface PathShimOptions extends HashOptions {
  /** The name of this router, different from all others. */
  readonly node: string;
  readonly bits: number;
  readonly hashes: number;
  /** Routers in a row that must change nothing before a packet is dropped. Default 1. */
  readonly repeats?: number;
  /** A number in [0, 1), for the salts. */
  readonly random: () => number;
}

export class PathShim implements Shim {
  readonly #options: PathShimOptions;
  readonly #hashing: HashOptions;
  readonly #node: KeyHash;

  constructor(options: PathShimOptions) {
    const { seed, key, hash, node } = options;
    this.#hashing = { ...(seed !== undefined && { seed }), ...(key && { key }), ...(hash && { hash }) };
    this.#options = options;
    this.#node = hashKey(node, this.#hashing);
    this.#newFilter(); // throws if the options are wrong
  }

  wrap(packet: Uint8Array): Uint8Array {
    const filter = this.#newFilter();
    filter.visitHash(this.#node);
    const bytes = new Uint8Array(filter.byteLength + packet.length);
    bytes.set(filter.encode());
    bytes.set(packet, filter.byteLength);
    return bytes;
  }

  arrive(bytes: Uint8Array): number | 'loop' | 'malformed' {
    let filter: PathFilter;
    try {
      filter = PathFilter.at(bytes, this.#hashing);
    } catch {
      return 'malformed';
    }
    return filter.visitHash(this.#node) ? 'loop' : filter.byteLength;
  }

  #newFilter(): PathFilter {
    const { bits, hashes, repeats = 1, random } = this.#options;
    const salt = Math.floor(random() * 65_536);
    return new PathFilter({ bits, hashes, repeats, salt, ...this.#hashing });
  }
}
