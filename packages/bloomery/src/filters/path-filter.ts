/**
 * The filter in the packet (Whitaker and Wetherall, Forwarding without loops in Icarus, OPENARCH
 * 2002; survey 7.1): a few bytes in the header in which each node that the packet visits sets its
 * bits. A node that changes nothing has probably seen the packet before. TTL ends a packet after 64
 * hops or so; this ends it in the second turn of its loop. It is for packets between routers of
 * ours, and for any message that is forwarded: requests in an overlay, copies of a multicast.
 *
 * What it promises. A loop is always noticed: a node that is visited again finds its own bits set,
 * because no node clears any. On a path of t nodes before a loop of L, the alarm comes at the
 * latest at visit t + L + r. False alarms happen with the exact probability of
 * math/paths/path-alarm.ts, and `forPath` plans by it: 64 bits and 4 per node give 3.1 % on 8 hops.
 *
 * How it differs from a Bloom filter:
 * - A node sets exactly k distinct bits. k independent hashes sometimes coincide, and a node with
 *   fewer bits is taken for visited more often.
 * - `salt` makes all masks different for each packet. Without it a path with a false alarm would
 *   lose every packet, also when it is sent again. With a random salt the loss is random, so a
 *   second attempt gets through. The sender chooses it; the library has no randomness.
 * - `repeats` (r): the alarm comes after r nodes in a row that changed nothing. The count travels
 *   with the filter.
 * - It has no frame; it is its own wire form. The class works on the bytes of the packet, in place
 *   (frames/path-header.ts says why, docs/spec/path-filter.md has the bytes). So there is no
 *   `merge`, no kernel twin and no batch form: a packet visits one node at a time.
 *
 * Where it breaks down. Any node on the way can clear the bits, so it protects against mistakes and
 * not against attackers; keep the TTL as well. The filter tells observers who know the nodes' names
 * which of them a packet visited, unless the nodes hash with a secret `key`. Beyond 255 visits
 * every visit is an alarm.
 */

import {
  countNode,
  headerBits,
  headerHashes,
  headerHops,
  headerRepeats,
  headerRun,
  headerSalt,
  PATH_HEAD,
  pathHeaderOf,
  writePathHeader,
} from '../frames/path-header.ts';
import { checkSameScheme, type HashOptions, type HashScheme, hashScheme } from '../hashing/hash-scheme.ts';
import { hashKey, type KeyHash } from '../kernel/batches/hash-key.ts';
import { checkOptions } from '../keys/check-options.ts';
import type { Key } from '../keys/key.ts';
import { INSPECT } from '../keys/printing.ts';
import { checkInteger, wrongValue } from '../math/checks.ts';
import { MAX_PATH_BITS, MAX_PATH_HASHES, MAX_PATH_REPEATS } from '../math/paths/path-alarm.ts';
import { type PathRequest, planPath } from '../math/paths/plan-path.ts';

export interface PathFilterOptions extends HashOptions {
  /** m, a multiple of 8 from 8 to 2040. */
  readonly bits: number;
  /** The number of distinct bits that each node sets, k. From 1 to 64. */
  readonly hashes: number;
  /** Nodes in a row that must change nothing before the alarm, r. From 1 to 15; default 1. */
  readonly repeats?: number;
  /** A number from 0 to 65535 that changes the bits of all nodes. Default 0. */
  readonly salt?: number;
}

export interface PathLengthOptions extends PathRequest, HashOptions {
  /** A number from 0 to 65535 that changes the bits of all nodes. Default 0. */
  readonly salt?: number;
}

export class PathFilter {
  readonly scheme: HashScheme;
  readonly #header: Uint8Array;

  /** Sized by bits and hashes; `PathFilter.forPath` sizes by the length of the path. */
  constructor(options: PathFilterOptions);
  /** @internal */
  constructor(options: undefined, header: Uint8Array, scheme: HashScheme);
  constructor(options: PathFilterOptions | undefined, header?: Uint8Array, scheme?: HashScheme) {
    this.#header = header ?? newHeader(options as PathFilterOptions);
    this.scheme = scheme ?? hashScheme(options);
    if (new.target === PathFilter) Object.freeze(this);
  }

  /** Makes the smallest filter whose false alarms on a path of `hops` nodes stay below a rate. */
  static forPath(options: PathLengthOptions): PathFilter {
    checkOptions('PathFilter.forPath', options, LENGTH_OPTIONS);
    const { hops, falseAlarmRate, repeats, ...rest } = options;
    const { bits, hashes, ...plan } = planPath({ hops, falseAlarmRate, repeats });
    return new PathFilter({ ...rest, bits, hashes, repeats: plan.repeats });
  }

  /**
   * The filter at the start of a packet, in place: visits change the packet's own bytes. Bytes
   * after the filter are left alone; `byteLength` tells where they begin. Throws a `FrameError` if
   * the packet does not begin with a filter.
   */
  static at(packet: Uint8Array, options: HashOptions = {}): PathFilter {
    checkOptions('PathFilter.at', options, HASH_OPTIONS);
    return new PathFilter(undefined, pathHeaderOf(packet), hashScheme(options));
  }

  /**
   * Records that the packet is at this node. Returns true if it must be stopped: it was here
   * before, or this is a false alarm.
   */
  visit(node: Key): boolean {
    return this.visitHash(hashKey(node, this.scheme));
  }

  /** `visit` by the hash of the node's name, which a node computes once; see `hashKey`. */
  visitHash(node: KeyHash): boolean {
    checkSameScheme(node.scheme, this.scheme);
    const header = this.#header;
    const mask = maskOf(header, node);
    let fresh = 0;
    for (let i = 0; i < mask.length; i++) {
      fresh |= mask[i] & ~header[PATH_HEAD + i];
      header[PATH_HEAD + i] |= mask[i];
    }
    return countNode(header, fresh !== 0);
  }

  /**
   * Whether the packet may have visited a node: for choosing the next one. False is certain.
   * Nothing is recorded.
   */
  has(node: Key): boolean {
    return this.hasHash(hashKey(node, this.scheme));
  }

  /** `has` by the hash of the node's name; see `hashKey`. */
  hasHash(node: KeyHash): boolean {
    checkSameScheme(node.scheme, this.scheme);
    return maskOf(this.#header, node).every((byte, i) => (byte & ~this.#header[PATH_HEAD + i]) === 0);
  }

  get bits(): number {
    return headerBits(this.#header);
  }

  /** The number of bits that each node sets. */
  get hashes(): number {
    return headerHashes(this.#header);
  }

  /** Nodes in a row that must change nothing before the alarm. */
  get repeats(): number {
    return headerRepeats(this.#header);
  }

  get salt(): number {
    return headerSalt(this.#header);
  }

  /** The number of visits so far, at most 255. */
  get hops(): number {
    return headerHops(this.#header);
  }

  /** The number of nodes in a row that changed nothing, up to the last one visited. */
  get unchanged(): number {
    return headerRun(this.#header);
  }

  /** The bytes of the header and the filter together. */
  get byteLength(): number {
    return this.#header.length;
  }

  /** The header and the filter as bytes of their own, to send or to put before a payload. */
  encode(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#header);
  }

  /** An independent filter with the same visits, for a packet that goes to several neighbours. */
  copy(): PathFilter {
    return new PathFilter(undefined, this.encode(), this.scheme);
  }

  toString(): string {
    const { bits, hashes, repeats, hops, scheme } = this;
    return `PathFilter(${bits} bits, ${hashes} per node, alarm after ${repeats}, ${hops} hops, ${scheme.id})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }
}

const HASH_OPTIONS = ['seed', 'key', 'hash'];
const OPTIONS = ['bits', 'hashes', 'repeats', 'salt', ...HASH_OPTIONS];
const LENGTH_OPTIONS = ['hops', 'falseAlarmRate', 'repeats', 'salt', ...HASH_OPTIONS];
const MAX_SALT = 0xffff;

function newHeader(options: PathFilterOptions): Uint8Array {
  checkOptions('PathFilter', options, OPTIONS);
  const { bits, hashes, repeats = 1, salt = 0 } = options;
  checkInteger('bits', bits, 8, MAX_PATH_BITS);
  if (bits % 8 !== 0) throw wrongValue('bits', 'a multiple of 8', bits);
  checkInteger('hashes', hashes, 1, Math.min(bits, MAX_PATH_HASHES));
  checkInteger('repeats', repeats, 1, MAX_PATH_REPEATS);
  checkInteger('salt', salt, 0, MAX_SALT);
  return writePathHeader({ bits, hashes, repeats, salt });
}

/** The result of `maskOf`, overwritten by the next call. */
const scratch = /* @__PURE__ */ new Uint8Array(MAX_PATH_BITS / 8);

/**
 * The bits of a node: a uniform k-subset of the m bits, by Floyd's method. For j = m-k … m-1 it
 * draws t from 0 … j, and takes t, or j if t is taken already. The draws come from the node's hash
 * and the salt: a Weyl sequence, mixed.
 */
function maskOf(header: Uint8Array, { low, high }: KeyHash): Uint8Array {
  const [m, k] = [headerBits(header), headerHashes(header)];
  const mask = scratch.subarray(0, m >> 3).fill(0);
  const step = high | 1;
  let state = (low + Math.imul(headerSalt(header), 0x9e3779b1)) | 0;
  for (let j = m - k; j < m; j++) {
    state = (state + step) | 0;
    const drawn = Math.floor((mix(state) / 2 ** 32) * (j + 1));
    const bit = (mask[drawn >> 3] >> (drawn & 7)) & 1 ? j : drawn;
    mask[bit >> 3] |= 1 << (bit & 7);
  }
  return mask;
}

/** A permutation of the 32-bit numbers that spreads each bit of the argument over the result. */
function mix(value: number): number {
  let z = value ^ (value >>> 16);
  z = Math.imul(z, 0x21f0aaad);
  z ^= z >>> 15;
  z = Math.imul(z, 0x735a2d97);
  return (z ^ (z >>> 15)) >>> 0;
}
