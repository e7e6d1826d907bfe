/**
 * Traces through a network whose collectors have real tables, full of other packets, each with a
 * key of its own; and the theory of how many extra nodes a trace then has.
 *
 * Theory. Off the path each collector says yes with its rate, independently of the others, because
 * each has its own key. An extra node is one that says yes and is connected to the path through
 * others that do: a site percolation from the path. On a tree the mean follows in closed form; on
 * other networks it is the mean over many draws of independent coins.
 */

import { Random } from '@bloomery/testkit/statistics';
import { hashKey, SecretKey } from 'bloomery';
import type { Topology } from '../../src/traceback/graph/topology.ts';
import { type AskCollector, walkBack } from '../../src/traceback/graph/walk.ts';
import { DigestTable, tableShape } from '../../src/traceback/tables/digest-table.ts';
import { shortestPath } from './networks.ts';

export interface TraceOutcome {
  readonly path: readonly string[];
  /** Collectors of the graph that are not on the path. */
  readonly extra: number;
}

export class TracedNetwork {
  readonly topology: Topology;
  readonly tables = new Map<string, DigestTable>();
  readonly rates = new Map<string, number>();
  readonly #keys = new Map<string, SecretKey>();
  readonly #names: string[];
  readonly #random: Random;

  /** Gives each collector a full table of `tableBytes` with the digests of other packets. */
  constructor(topology: Topology, bits: number, seed: number, tableBytes = 2048) {
    this.topology = topology;
    this.#names = [...topology.collectors.keys()];
    this.#random = new Random(seed);
    const shape = tableShape(tableBytes, bits);
    for (const id of this.#names) {
      const key = new SecretKey(this.#random.bytes(16));
      const table = new DigestTable(shape, key);
      const words = Int32Array.from({ length: 2 * shape.capacity }, () => this.#random.bits());
      table.add({ scheme: key.scheme, words, length: shape.capacity }, { firstS: 0, lastS: 1 });
      this.#keys.set(id, key);
      this.tables.set(id, table);
      this.rates.set(id, table.chanceRate());
    }
  }

  /** Sends a packet along a shortest path between two collectors, and traces it. */
  async trace(
    from = this.#random.pick(this.#names),
    to = this.#random.pick(this.#names),
  ): Promise<TraceOutcome> {
    const path = shortestPath(this.topology, from, to);
    const packet = this.#random.bytes(64);
    const isOn = new Set(path);
    const ask: AskCollector = async (id) => {
      const hash = hashKey(packet, (this.#keys.get(id) as SecretKey).scheme);
      const table = this.tables.get(id) as DigestTable;
      // A packet that passed is in the table; adding it would change the table for later traces.
      const seen = isOn.has(id) || table.has(hash);
      return { seen, chance: this.rates.get(id) as number, sightings: [], changes: [] };
    };
    const { topology } = this;
    const { nodes } = await walkBack({ topology, start: to, forms: [packet], ask, looksBehind: false });
    const seen = [...nodes.values()].filter(({ verdict }) => verdict === 'seen').length;
    return { path, extra: seen - path.length };
  }

  /** Mean and variance of the extra nodes of a path, from draws of independent coins. */
  percolate(path: readonly string[], draws: number): { mean: number; variance: number } {
    let sum = 0;
    let squares = 0;
    for (let draw = 0; draw < draws; draw++) {
      const reached = new Set(path);
      const closed = new Set<string>();
      for (const id of reached) {
        for (const next of this.topology.neighbours.get(id) ?? []) {
          if (reached.has(next) || closed.has(next)) continue;
          const isOpen = (this.#random.bits() >>> 0) / 2 ** 32 < (this.rates.get(next) as number);
          (isOpen ? reached : closed).add(next);
        }
      }
      const extra = reached.size - path.length;
      sum += extra;
      squares += extra * extra;
    }
    const mean = sum / draws;
    return { mean, variance: squares / draws - mean * mean };
  }

  /** Mean of the extra nodes of a path in a tree, in closed form. */
  meanInTree(path: readonly string[]): number {
    const isOn = new Set(path);
    const below = (id: string, parent: string): number => {
      const further = (this.topology.neighbours.get(id) ?? []).filter((next) => next !== parent);
      const rest = further.reduce((sum, next) => sum + below(next, id), 0);
      return (this.rates.get(id) as number) * (1 + rest);
    };
    let mean = 0;
    for (const id of path) {
      for (const next of this.topology.neighbours.get(id) ?? []) if (!isOn.has(next)) mean += below(next, id);
    }
    return mean;
  }
}
