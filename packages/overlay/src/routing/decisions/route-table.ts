/**
 * The knowledge of one node about where keys are: its own keys, exactly, and the arrays of its
 * neighbours. It answers two questions: which neighbours lead to a key, and which array to send.
 *
 * What it promises. A key that can be reached over at most d hops along arrays that are current has
 * a lead at its true distance. A lead may be false, or point to a copy that is gone by now; it
 * costs hops, and the search notices (choose-hop.ts).
 *
 * Own keys are kept as 64-bit hashes. Level 0 is rebuilt from them after a withdrawal: 50 keys take
 * 10 µs, and 100,000 take 10 ms. We refused a counting filter, which needs eight times the memory
 * of the hashes at the widths of a plan.
 *
 * A node that passes nothing on (`forwards: false`: a gateway with one uplink, a client) folds the
 * arrays that it hears to the growing widths of the plan. That takes less than half of the bytes
 * for three levels. The array that it sends has its own keys alone.
 */

import { AttenuatedBloomFilter, type KeyHash, type SecretKey } from 'bloomery';
import type { RoutePlan } from './route-plan.ts';

export interface RouteTableOptions {
  readonly plan: RoutePlan;
  /** Hashes keys under a secret, so that outsiders cannot aim false positives. */
  readonly key?: SecretKey | undefined;
  /** Whether the node passes on what it hears. Default true. */
  readonly forwards?: boolean | undefined;
}

/** A neighbour through which a key may be reached. */
export interface Lead {
  readonly neighbour: string;
  /** Hops from the neighbour to the key: 0 if the neighbour may hold it. */
  readonly distance: number;
}

export class RouteTable {
  readonly plan: RoutePlan;
  readonly forwards: boolean;
  readonly #key: SecretKey | undefined;
  readonly #own = new Map<string, KeyHash>();
  readonly #neighbours = new Map<string, AttenuatedBloomFilter>();
  #nearest: AttenuatedBloomFilter | null = null;

  constructor({ plan, key, forwards = true }: RouteTableOptions) {
    this.plan = plan;
    this.forwards = forwards;
    this.#key = key;
  }

  /** The number of this node's keys. */
  get size(): number {
    return this.#own.size;
  }

  /** Hashes of this node's keys. */
  ownHashes(): Iterable<KeyHash> {
    return this.#own.values();
  }

  /** Names of the neighbours whose arrays are known. */
  neighbours(): Iterable<string> {
    return this.#neighbours.keys();
  }

  /** Adds a key of this node. Returns false if it was there. */
  announce(hash: KeyHash): boolean {
    const name = hashName(hash);
    if (this.#own.has(name)) return false;
    this.#own.set(name, hash);
    this.#nearest?.addHash(hash);
    return true;
  }

  /** Removes a key of this node. Returns false if it was not there. */
  withdraw(hash: KeyHash): boolean {
    if (!this.#own.delete(hashName(hash))) return false;
    this.#nearest = null;
    return true;
  }

  holds(hash: KeyHash): boolean {
    return this.#own.has(hashName(hash));
  }

  /**
   * Takes the present array of a neighbour, or null if it is lost. Returns false if it is one of
   * another plan or under another key, which is not used.
   */
  setNeighbour(neighbour: string, array: AttenuatedBloomFilter | null): boolean {
    this.#neighbours.delete(neighbour);
    if (array === null) return true;
    const usable = array.levels === this.plan.levels && isLike(array, this.#empty());
    if (!usable) return false;
    this.#neighbours.set(neighbour, this.forwards ? array : this.#empty(this.plan.widths).merge(array));
    return true;
  }

  /** The neighbours that may lead to a key within `reach` hops from here, nearest first. */
  leads(hash: KeyHash, reach: number): Lead[] {
    const leads: Lead[] = [];
    for (const [neighbour, array] of this.#neighbours) {
      const distance = array.distanceHash(hash);
      if (distance !== undefined && distance < reach) leads.push({ neighbour, distance });
    }
    return leads.sort((a, b) => a.distance - b.distance);
  }

  /** The array to send: own keys, and those of the neighbours one hop further away. */
  outgoing(): AttenuatedBloomFilter {
    if (this.#nearest === null) {
      this.#nearest = this.#empty();
      for (const hash of this.#own.values()) this.#nearest.addHash(hash);
    }
    const array = this.#nearest.copy();
    if (this.forwards) for (const neighbour of this.#neighbours.values()) array.absorb(neighbour);
    return array;
  }

  /** Bytes of the neighbours' arrays. */
  get neighbourBytes(): number {
    let bytes = 0;
    for (const array of this.#neighbours.values()) bytes += array.byteLength;
    return bytes;
  }

  #empty(bits: number | readonly number[] = this.plan.bits): AttenuatedBloomFilter {
    const { levels, hashes } = this.plan;
    return new AttenuatedBloomFilter({ levels, bits, hashes, ...(this.#key && { key: this.#key }) });
  }
}

/** A hash as text: 16 digits. */
export function hashName({ high, low }: Pick<KeyHash, 'high' | 'low'>): string {
  return word(high) + word(low);
}

function word(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}

/** Whether two arrays have the same parameters. Their names hold them all. */
function isLike(a: AttenuatedBloomFilter, b: AttenuatedBloomFilter): boolean {
  return String(a) === String(b);
}
