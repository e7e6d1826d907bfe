/**
 * Multicast forwarding that stores no addresses (Grönvall, SIGCOMM 2001 posters; survey 7.3): a
 * Bloom filter of groups for each interface, instead of a list of interfaces for each group. A
 * packet to a group goes out by every interface whose filter may hold the group.
 *
 * What it promises. Every interface with a member gets every packet: a filter has no false
 * negative. An interface without one gets a copy with the false positive rate of its filter, so a
 * packet has `estimatedSurplus` copies too many on average. All filters are asked with one hash, in
 * a bit-sliced table (`FilterTable`), which is the parallel check of the survey.
 *
 * Leaving. The survey says: "Handling the removal of an address from an interface is not discussed,
 * but one could imagine using a counting Bloom filter". Each interface has such a filter beside the
 * table. It is read and written only when members change. `join` counts, so each join needs one
 * leave of its own: the caller reports changes of membership, and does not pass on repeated
 * reports. A protocol that repeats them (IGMP towards hosts) needs the exact list of its own link;
 * between routers, joins and prunes are changes.
 *
 * What it costs: at a rate of 1 %, 9.6 bits per membership in the table and 48 in the counters; the
 * addresses would take 32 or 128 bits and their index as much again. Where it breaks down: surplus
 * copies in a topology with loops can multiply. `PathShim` of loops/ stops each copy where it has
 * been before.
 *
 * Groups of the link itself (224.0.0.0/24, ff02::/16 and narrower) are never forwarded, as RFC
 * 5771, section 4, and RFC 4291, section 2.7, demand.
 */

import { CountingBloomFilter, FilterTable, hashKey, type SecretKey } from 'bloomery';
import { planTable } from 'bloomery/math';
import type { GroupForwarding } from '../routers/router.ts';

export interface GroupTableOptions {
  /** Number of interfaces, which are the ports 0 to n-1 of a router. */
  readonly interfaces: number;
  /** Groups of the fullest interface. */
  readonly capacity: number;
  /** Surplus copies of an interface at capacity, per packet that it has no member for. */
  readonly falsePositiveRate: number;
  /** A secret key: a sender who knows the hash could choose groups that flood all interfaces. */
  readonly key: SecretKey;
}

export class GroupTable implements GroupForwarding {
  readonly #table: FilterTable;
  readonly #members: readonly CountingBloomFilter[];
  readonly #candidates: Uint32Array;

  constructor({ interfaces, capacity, falsePositiveRate, key }: GroupTableOptions) {
    const { rows, hashes } = planTable({
      columns: interfaces,
      keysPerColumn: capacity,
      falseCandidates: falsePositiveRate * interfaces,
      folds: 0,
    });
    this.#table = new FilterTable({ rows, hashes, columns: interfaces, key });
    this.#members = Array.from(
      { length: interfaces },
      () => new CountingBloomFilter({ counters: rows, hashes, key, trackChanges: true }),
    );
    this.#candidates = new Uint32Array(this.#table.candidateWords);
  }

  get interfaces(): number {
    return this.#members.length;
  }

  /** Bytes of the table, which is all that forwarding a packet touches. */
  get tableBytes(): number {
    return this.#table.byteLength;
  }

  /** Bytes of the counters, which only joins and leaves touch. */
  get counterBytes(): number {
    return this.#members.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** Adds a member behind an interface. */
  join(port: number, group: Uint8Array): void {
    this.#membersOf(port).add(checkGroup(group));
    this.#follow(port);
  }

  /** Adds many members behind an interface, faster than one by one. */
  joinMany(port: number, groups: Iterable<Uint8Array>): void {
    const members = this.#membersOf(port);
    for (const group of groups) members.add(checkGroup(group));
    this.#follow(port);
  }

  /** Takes a member back. Returns false, and changes nothing, if it certainly never joined. */
  leave(port: number, group: Uint8Array): boolean {
    const wasMember = this.#membersOf(port).delete(checkGroup(group));
    if (wasMember) this.#follow(port);
    return wasMember;
  }

  /** Whether an interface may have a member. False is certain. */
  mayHave(port: number, group: Uint8Array): boolean {
    return this.#membersOf(port).has(group);
  }

  portsFor(group: Uint8Array, from: number): number[] {
    if (isOfLink(group)) return [];
    const words = this.#candidates;
    if (this.#table.candidates(hashKey(group, this.#table.scheme), words) === 0) return [];
    const ports: number[] = [];
    for (const [w, word] of words.entries()) {
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        const port = 32 * w + 31 - Math.clz32(rest & -rest);
        if (port !== from) ports.push(port);
      }
    }
    return ports;
  }

  /**
   * Estimates the surplus copies of a packet, from the fill of the filters: the sum of their rates
   * over all interfaces that have no member and are not the one that it came in by.
   */
  estimatedSurplus(members: Iterable<number>, from: number): number {
    const others = new Set([...members, from]);
    let sum = 0;
    for (let port = 0; port < this.interfaces; port++)
      if (!others.has(port)) sum += this.#table.estimatedFalsePositiveRate(port);
    return sum;
  }

  /** Brings a column of the table to the state of the counters. */
  #follow(port: number): void {
    this.#table.flipRows(port, this.#membersOf(port).takeChanges());
  }

  #membersOf(port: number): CountingBloomFilter {
    const members = this.#members[port];
    if (members !== undefined) return members;
    throw new RangeError(`Cannot use an interface: expected a number below ${this.interfaces}, got ${port}`);
  }
}

function checkGroup(group: Uint8Array): Uint8Array {
  const isGroup = group.length === 4 ? group[0] >> 4 === 14 : group.length === 16 && group[0] === 255;
  if (!isGroup || isOfLink(group)) {
    throw new RangeError(
      `Cannot join a group: expected an address of 224.0.1.0 to 239.255.255.255 or of ff03::/16 and wider, got ${[...group].join('.')}`,
    );
  }
  return group;
}

/** Whether a group never leaves its link. */
function isOfLink(group: Uint8Array): boolean {
  if (group.length === 4) return group[0] === 224 && group[1] === 0 && group[2] === 0;
  // The scope is the lower half of the second byte: 0 to 2 are reserved, interface and link.
  return (group[1] & 15) <= 2;
}
