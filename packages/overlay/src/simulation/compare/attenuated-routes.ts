/**
 * Attenuated filters (survey 6.2) with the hash table as their second tier, as OceanStore had it: a
 * question follows the filters first, and what they do not find is asked there. The costs are those
 * of both.
 */

import type { RouteWorld, SimObject } from '../route-world.ts';
import type { HashTable } from './hash-table.ts';
import {
  HEADER_BYTES,
  HOP_MS,
  type LocationSystem,
  type Outcome,
  QUESTION_BYTES,
  TIMEOUT_MS,
} from './location-system.ts';

export class AttenuatedRoutes implements LocationSystem {
  readonly name = 'attenuated filters over the table';
  readonly #world: RouteWorld;
  readonly #table: HashTable;
  readonly #tableBytes: () => number;

  /** `tableBytes` are those that the table sent in the round. */
  constructor(world: RouteWorld, table: HashTable, tableBytes: () => number) {
    this.#world = world;
    this.#table = table;
    this.#tableBytes = tableBytes;
  }

  publish(): number {
    const { measured, nodes, links } = this.#world;
    const perNode = measured.nodes === 0 ? 0 : measured.bytes / measured.nodes + HEADER_BYTES;
    return perNode * links[0].size * nodes.length + this.#tableBytes();
  }

  find(start: number, object: SimObject): Outcome {
    const { holder, hops, detours, visited } = this.#world.walk(start, object.hash);
    const dead = visited.filter((number) => !this.#world.nodes[number].isUp).length;
    // The answer of a holder comes directly.
    const messages = hops + (holder === null ? 0 : 1);
    const latencyMs = messages * HOP_MS + dead * (TIMEOUT_MS - 2 * HOP_MS);
    const way = { messages, bytes: messages * (QUESTION_BYTES + 24), hops: messages, latencyMs };
    if (holder !== null) return { isFound: true, ...way, wrongTurns: detours };
    const rest = this.#table.find(start, object);
    return {
      isFound: rest.isFound,
      messages: messages + rest.messages,
      bytes: way.bytes + rest.bytes,
      hops: messages + rest.hops,
      latencyMs: latencyMs + rest.latencyMs,
      wrongTurns: detours + rest.wrongTurns,
    };
  }

  stateBytes(): number {
    return this.#world.plan.stateBytes + this.#table.stateBytes();
  }
}
