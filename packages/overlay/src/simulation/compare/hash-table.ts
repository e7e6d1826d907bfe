/**
 * A distributed hash table in the manner of Kademlia (Maymounkov and Mazières, 2002): ids of 32
 * bits, distance by XOR, buckets of 8 contacts, lookups that ask three nodes at a time, records at
 * the 8 nodes nearest to the key.
 *
 * It is generous to the table: records are taken back when a key is withdrawn, as few such tables
 * do; contacts that do not answer are replaced at once by live ones of the same bucket; joining
 * costs nothing. Records of a node that failed stay, and are the stale answers of the comparison. A
 * holder tells its records again every 60 rounds.
 */

import type { RandomStream } from '@bloomery/sim';
import { hashKey } from 'bloomery';
import { hashName } from '../../routing/decisions/route-table.ts';
import type { RouteWorld, SimObject } from '../route-world.ts';
import {
  HEADER_BYTES,
  HOP_MS,
  type LocationSystem,
  type Outcome,
  QUESTION_BYTES,
  TIMEOUT_MS,
} from './location-system.ts';

const BUCKET = 8;
const PARALLEL = 3;
const REPUBLISH_ROUNDS = 60;
/**
 * About this many lookups of one round are carried out. If there are more, the bytes of these stand
 * for all.
 */
const MOST_LOOKUPS = 1000;
/** Id, address and port of a contact. */
const CONTACT_BYTES = 4 + 6;
const RECORD_BYTES = 8 + CONTACT_BYTES;
const ANSWER_BYTES = HEADER_BYTES + BUCKET * CONTACT_BYTES;

interface Lookup {
  readonly nearest: readonly number[];
  readonly messages: number;
  readonly bytes: number;
  readonly rounds: number;
  readonly latencyMs: number;
  readonly deadContacts: number;
  /** Holders by a record that was met on the way. */
  readonly holders: readonly number[];
}

export class HashTable implements LocationSystem {
  readonly name = 'distributed hash table';
  readonly #world: RouteWorld;
  readonly #random: RandomStream;
  readonly #ids: Uint32Array;
  /** Node numbers in the order of their ids. */
  readonly #sorted: Int32Array;
  /** Contacts of each node. */
  readonly #contacts: Int32Array[];
  /** The records that each node keeps: holders by key. */
  readonly #records: Map<string, Set<number>>[];
  #round = 0;

  constructor(world: RouteWorld, random: RandomStream) {
    this.#world = world;
    this.#random = random;
    this.#ids = Uint32Array.from(world.nodes, ({ id }) => {
      const { low } = hashKey(`id of ${id}`);
      return low;
    });
    this.#sorted = Int32Array.from(world.nodes.keys()).sort((a, b) => this.#ids[a] - this.#ids[b]);
    this.#contacts = world.nodes.map((_, number) => this.#drawContacts(number));
    this.#records = world.nodes.map(() => new Map());
    for (const [number, { table }] of world.nodes.entries())
      for (const hash of table.ownHashes())
        for (const keeper of this.#trueNearest(hash.low)) this.#record(keeper, hashName(hash), number, true);
  }

  publish(): number {
    const { nodes, changes } = this.#world;
    const every = Math.max(1, Math.floor((changes.length + nodes.length) / MOST_LOOKUPS));
    let [bytes, lookups, stores] = [0, 0, 0];
    const store = (node: number, low: number, name: string, isThere: boolean) => {
      let keepers = stores++ % every === 0 ? null : this.#trueNearest(low);
      if (keepers === null) {
        const lookup = this.#lookup(node, low, null);
        keepers = [...lookup.nearest];
        bytes += lookup.bytes + keepers.length * (HEADER_BYTES + RECORD_BYTES);
        lookups++;
      }
      for (const keeper of keepers) if (nodes[keeper].isUp) this.#record(keeper, name, node, isThere);
    };
    for (const { node, hash, isThere } of changes)
      if (nodes[node].isUp) store(node, hash.low, hashName(hash), isThere);
    for (const [number, { isUp }] of nodes.entries()) if (!isUp) this.#records[number].clear();
    this.#round++;
    // Each node tells a sixtieth of its keys again.
    for (const [number, { isUp, table }] of nodes.entries()) {
      if (!isUp) continue;
      let at = 0;
      for (const hash of table.ownHashes())
        if ((at++ + number + this.#round) % REPUBLISH_ROUNDS === 0)
          store(number, hash.low, hashName(hash), true);
    }
    return (bytes * stores) / Math.max(1, lookups);
  }

  find(start: number, { hash, holders }: SimObject): Outcome {
    const lookup = this.#lookup(start, hash.low, hashName(hash));
    let { messages, latencyMs } = lookup;
    let wrongTurns = lookup.deadContacts;
    let bytes = lookup.bytes;
    let hops = 2 * lookup.rounds;
    for (const holder of lookup.holders) {
      if (holder === start) continue;
      messages += 2;
      hops += 2;
      bytes += 2 * QUESTION_BYTES;
      latencyMs += this.#world.nodes[holder].isUp ? 2 * HOP_MS : TIMEOUT_MS;
      if (holders.has(holder)) return { isFound: true, messages, bytes, hops, latencyMs, wrongTurns };
      wrongTurns++;
    }
    return { isFound: false, messages, bytes, hops, latencyMs, wrongTurns };
  }

  stateBytes(): number {
    const contacts = this.#contacts.reduce((sum, { length }) => sum + length, 0);
    let records = 0;
    for (const kept of this.#records) for (const { size } of kept.values()) records += size;
    return (contacts * CONTACT_BYTES + records * RECORD_BYTES) / this.#contacts.length;
  }

  /** Asks nodes ever nearer to a key, until the nearest have answered or one has a record. */
  #lookup(start: number, target: number, name: string | null): Lookup {
    const distance = (number: number) => (this.#ids[number] ^ target) >>> 0;
    const byDistance = (a: number, b: number) => distance(a) - distance(b);
    const known = new Set<number>(this.#contacts[start]);
    const asked = new Set([start]);
    const dead = new Set<number>();
    let [messages, bytes, rounds, latencyMs] = [0, 0, 0, 0];
    for (;;) {
      const near = [...known]
        .filter((number) => !dead.has(number))
        .sort(byDistance)
        .slice(0, BUCKET);
      const next = near.filter((number) => !asked.has(number)).slice(0, PARALLEL);
      if (next.length === 0)
        return { nearest: near, messages, bytes, rounds, latencyMs, deadContacts: dead.size, holders: [] };
      rounds++;
      let hasAnswer = false;
      for (const number of next) {
        asked.add(number);
        messages++;
        bytes += QUESTION_BYTES;
        if (!this.#world.nodes[number].isUp) {
          dead.add(number);
          continue;
        }
        hasAnswer = true;
        messages++;
        bytes += ANSWER_BYTES;
        const record = name === null ? undefined : this.#records[number].get(name);
        if (record !== undefined && record.size > 0) {
          latencyMs += 2 * HOP_MS;
          return {
            nearest: near,
            messages,
            bytes,
            rounds,
            latencyMs,
            deadContacts: dead.size,
            holders: [...record],
          };
        }
        this.#repair(number);
        for (const contact of [...this.#contacts[number]].sort(byDistance).slice(0, BUCKET))
          known.add(contact);
      }
      // A round with at least one answer goes on; the others are waited for in the background.
      latencyMs += hasAnswer ? 2 * HOP_MS : TIMEOUT_MS;
    }
  }

  #record(keeper: number, name: string, holder: number, isThere: boolean): void {
    const records = this.#records[keeper];
    const holders = records.get(name);
    if (isThere && holders === undefined) records.set(name, new Set([holder]));
    else if (isThere) holders!.add(holder);
    else if (holders?.delete(holder) && holders.size === 0) records.delete(name);
  }

  /** Draws the contacts of a node that are down again. */
  #repair(number: number): void {
    const contacts = this.#contacts[number];
    if (contacts.some((contact) => !this.#world.nodes[contact].isUp && this.#random() < 0.5))
      this.#contacts[number] = this.#drawContacts(number);
  }

  /** Up to eight nodes of each bucket, those that are up. */
  #drawContacts(number: number): Int32Array {
    const own = this.#ids[number];
    const contacts = new Set<number>();
    for (let bit = 31; bit >= 0; bit--) {
      // Ids that share the bits above this one, and differ in it.
      const low = ((own ^ (1 << bit)) & (-1 << bit)) >>> 0;
      const [from, to] = [this.#placeOf(low), this.#placeOf(low + 2 ** bit)];
      const size = to - from;
      if (size === 0) continue;
      for (let i = 0; i < Math.min(3 * BUCKET, 3 * size) && contacts.size < 512; i++) {
        const drawn = this.#sorted[from + Math.floor(this.#random() * size)];
        if (this.#world.nodes[drawn].isUp && drawn !== number) contacts.add(drawn);
        if (countWithin(contacts, this.#ids, low, bit) >= BUCKET) break;
      }
      if (size < 3)
        for (let at = from; at < to; at++) if (this.#sorted[at] !== number) contacts.add(this.#sorted[at]);
    }
    return Int32Array.from(contacts);
  }

  /** The place of the first id that is not below a number. */
  #placeOf(id: number): number {
    let [from, to] = [0, this.#sorted.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#ids[this.#sorted[middle]] < id) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  /** The nodes whose ids are nearest to a key. */
  #trueNearest(target: number): number[] {
    // The nearest by XOR share the longest prefix, so they are neighbours in the order of ids.
    let bit = 31;
    while (bit > 0 && this.#within(target, bit - 1).length >= BUCKET) bit--;
    return [...this.#within(target, bit)]
      .sort((a, b) => ((this.#ids[a] ^ target) >>> 0) - ((this.#ids[b] ^ target) >>> 0))
      .slice(0, BUCKET);
  }

  #within(target: number, bit: number): Int32Array {
    if (bit >= 31) return this.#sorted;
    const low = (target & (-1 << (bit + 1))) >>> 0;
    return this.#sorted.subarray(this.#placeOf(low), this.#placeOf(low + 2 ** (bit + 1)));
  }
}

function countWithin(contacts: ReadonlySet<number>, ids: Uint32Array, low: number, bit: number): number {
  let count = 0;
  for (const contact of contacts) if (ids[contact] >= low && ids[contact] < low + 2 ** bit) count++;
  return count;
}
