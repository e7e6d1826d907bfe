/**
 * Groups of about √N nodes with a leader each (survey 5.1, Ledlie et al.): members tell their
 * leader every change, leaders send each other the changes of their group's filter. A question goes
 * to the leader of the asker's group, from there to a leader whose filter may have the key, and
 * that one names the holder.
 *
 * A leader that fails is replaced in the same round by the next node of the group, to which the
 * members tell all their keys again. The election itself is not counted.
 */

import { BloomFilter, type KeyHash } from 'bloomery';
import { SnapshotPublisher } from 'bloomery/wire';
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

interface Group {
  readonly members: readonly number[];
  leader: number;
  /** Holders of each key among the members, as the leader knows them. */
  readonly keys: Map<string, { readonly hash: KeyHash; readonly holders: Set<number> }>;
  filter: BloomFilter;
  publisher: SnapshotPublisher;
}

const RATE_BYTES = 8;

export class GroupLeaders implements LocationSystem {
  readonly name = 'groups with leaders';
  readonly #world: RouteWorld;
  readonly #groups: Group[];
  readonly #groupOf: number[];
  readonly #capacity: number;

  constructor(world: RouteWorld, objectsPerNode: number) {
    this.#world = world;
    const { length } = world.nodes;
    const count = Math.max(1, Math.round(Math.sqrt(length)));
    this.#groupOf = world.nodes.map((_, number) => number % count);
    this.#capacity = Math.ceil(1.2 * objectsPerNode * (length / count));
    this.#groups = Array.from({ length: count }, (_, group) => {
      const members = world.nodes.map((_, number) => number).filter((number) => number % count === group);
      const keys: Group['keys'] = new Map();
      for (const member of members)
        for (const hash of world.nodes[member].table.ownHashes()) enter(keys, member, hash);
      const filter = this.#filterOf(keys);
      const publisher = new SnapshotPublisher({ frame: filter.encode(), incarnation: 1 });
      return { members, leader: members[0], keys, filter, publisher };
    });
  }

  publish(): number {
    const { nodes, changes } = this.#world;
    const touched = new Set<Group>();
    let bytes = 0;
    for (const { node, hash, isThere } of changes) {
      const group = this.#groups[this.#groupOf[node]];
      touched.add(group);
      if (isThere) enter(group.keys, node, hash);
      else leave(group.keys, node, hash);
      if (node !== group.leader) bytes += RATE_BYTES;
    }
    // Changes of one node in one round go in one message.
    bytes += HEADER_BYTES * new Set(changes.map(({ node }) => node)).size;
    for (const group of this.#groups) {
      for (const member of group.members)
        if (!nodes[member].isUp && forget(group.keys, member)) touched.add(group);
      const isLed = nodes[group.leader].isUp;
      if (!isLed) {
        group.leader = group.members.find((member) => nodes[member].isUp) ?? group.leader;
        bytes += group.members.length * HEADER_BYTES + RATE_BYTES * group.keys.size;
        touched.add(group);
      }
      if (!touched.has(group)) continue;
      group.filter = this.#filterOf(group.keys);
      const message = group.publisher.publish(group.filter.encode());
      if (message !== null) bytes += (this.#groups.length - 1) * (HEADER_BYTES + message.length);
    }
    return bytes;
  }

  find(start: number, { hash, holders }: SimObject): Outcome {
    const { nodes } = this.#world;
    const own = this.#groups[this.#groupOf[start]];
    const others = this.#groups.filter((group) => group !== own && group.filter.hasHash(hash));
    let [messages, latencyMs, wrongTurns] = [0, 0, 0];
    const ask = (number: number) => {
      messages += 2;
      latencyMs += nodes[number].isUp ? 2 * HOP_MS : TIMEOUT_MS;
      if (!nodes[number].isUp) wrongTurns++;
      return nodes[number].isUp;
    };
    const outcome = (isFound: boolean): Outcome => ({
      isFound,
      messages,
      bytes: messages * QUESTION_BYTES,
      hops: messages,
      latencyMs,
      wrongTurns,
    });
    if (start !== own.leader && !ask(own.leader)) return outcome(false);
    for (const group of [own, ...others]) {
      if (group !== own && !ask(group.leader)) continue;
      const known = group.keys.get(hashName(hash))?.holders ?? new Set<number>();
      if (known.size === 0 && group !== own) wrongTurns++;
      for (const holder of known) {
        if (holder === start) continue;
        if (!ask(holder)) continue;
        if (holders.has(holder)) return outcome(true);
        wrongTurns++;
      }
    }
    return outcome(false);
  }

  stateBytes(): number {
    const { length } = this.#world.nodes;
    const filters = this.#groups.reduce((sum, { filter }) => sum + filter.bits / 8, 0);
    const keys = this.#groups.reduce((sum, group) => sum + group.keys.size * (RATE_BYTES + 4), 0);
    // Leaders hold everything; a member holds nothing.
    return (this.#groups.length * filters + keys) / length;
  }

  #filterOf(keys: Group['keys']): BloomFilter {
    const groups = Math.max(1, Math.round(Math.sqrt(this.#world.nodes.length)));
    const falsePositiveRate = Math.min(0.01, 0.1 / groups);
    const filter = BloomFilter.forCapacity({ capacity: this.#capacity, falsePositiveRate });
    for (const { hash } of keys.values()) filter.addHash(hash);
    return filter;
  }
}

function enter(keys: Group['keys'], node: number, hash: KeyHash): void {
  const name = hashName(hash);
  const entry = keys.get(name);
  if (entry === undefined) keys.set(name, { hash, holders: new Set([node]) });
  else entry.holders.add(node);
}

function leave(keys: Group['keys'], node: number, hash: KeyHash): boolean {
  const name = hashName(hash);
  const entry = keys.get(name);
  if (entry?.holders.delete(node) !== true) return false;
  if (entry.holders.size === 0) keys.delete(name);
  return true;
}

/** Drops all keys of a node that has failed. Returns false if there were none. */
function forget(keys: Group['keys'], node: number): boolean {
  let isChanged = false;
  for (const { hash, holders } of [...keys.values()])
    if (holders.has(node)) isChanged = leave(keys, node, hash) || isChanged;
  return isChanged;
}
