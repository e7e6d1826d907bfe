/**
 * Mobile hosts in a square of cells, found by filters (Hsiao) and by a location service that hashes
 * (after Li et al., MobiCom 2000): both in the same square, with the same moves and questions.
 *
 * By filters: each square tells its three siblings which hosts it has, once per period, and every
 * cell there gets the changes. A question looks in local filters, and travels only towards the
 * host.
 *
 * By hashing: each host has a record in each of the three siblings of its square, at each level, in
 * the cell that a hash of host and square picks. A move changes the records of the levels whose
 * square it leaves. A question goes to the cell of the record in its own square, level by level,
 * until there is one; it then travels to that square and goes on below.
 *
 * Costs are hops between cells, and bytes times hops. A tree reaches all cells of a square with one
 * transmission each.
 */

import { type RandomStream, randomStream } from '@bloomery/sim';
import { BloomFilter, hashKey, type KeyHash } from 'bloomery';
import { SnapshotPublisher } from 'bloomery/wire';
import { PlaceTable } from '../routing/places/place-table.ts';
import {
  type Cell,
  centreOf,
  commonLevel,
  hopsBetween,
  type Square,
  siblingsOf,
  squareName,
  squareOf,
} from '../routing/places/quad-tree.ts';

export interface PlaceWorldOptions {
  readonly seed: number;
  /** The region has side 2^depth. */
  readonly depth: number;
  readonly hosts: number;
  /** The rate of every filter with its expected hosts. Default 1 %. */
  readonly falsePositiveRate?: number | undefined;
}

interface Host {
  readonly hash: KeyHash;
  cell: Cell;
}

export interface PlaceSearch {
  readonly isFound: boolean;
  readonly hops: number;
  /** Squares that were visited in vain. */
  readonly detours: number;
}

/** Headers of a message, a record of a host, and a question. */
const [HEADER_BYTES, RECORD_BYTES, QUESTION_BYTES] = [28, 16, 44];

export class PlaceWorld {
  readonly depth: number;
  readonly side: number;
  readonly hosts: readonly Host[];
  readonly tables: readonly PlaceTable[];
  readonly random: RandomStream;
  /** Bytes times hops since the start, for filters and for records. */
  filterCost = 0;
  recordCost = 0;
  readonly #rate: number;
  readonly #publishers = new Map<string, SnapshotPublisher>();
  /** The filter of each square as its siblings know it. */
  readonly #lastFilters = new Map<string, BloomFilter>();

  constructor({ seed, depth, hosts, falsePositiveRate = 0.01 }: PlaceWorldOptions) {
    this.depth = depth;
    this.side = 2 ** depth;
    this.random = randomStream(seed, 'place world');
    this.#rate = falsePositiveRate;
    this.tables = Array.from(
      { length: this.side ** 2 },
      (_, i) => new PlaceTable({ x: i % this.side, y: Math.floor(i / this.side) }, depth),
    );
    this.hosts = Array.from({ length: hosts }, (_, i) => {
      const host: Host = { hash: hashKey(`host ${i}`), cell: this.drawCell() };
      this.tableAt(host.cell).enter(host.hash);
      return host;
    });
    this.tell();
    this.filterCost = 0;
  }

  drawCell(): Cell {
    return { x: Math.floor(this.random() * this.side), y: Math.floor(this.random() * this.side) };
  }

  tableAt({ x, y }: Cell): PlaceTable {
    return this.tables[y * this.side + x];
  }

  /** Each host moves to a cell beside its own with this probability. */
  move(probability: number): void {
    for (const host of this.hosts) {
      if (this.random() >= probability) continue;
      const [dx, dy] = [
        [1, 0],
        [-1, 0],
        [0, 1],
        [0, -1],
      ][Math.floor(this.random() * 4)];
      const next = { x: host.cell.x + dx, y: host.cell.y + dy };
      if (next.x < 0 || next.y < 0 || next.x >= this.side || next.y >= this.side) continue;
      this.#moveRecords(host, next);
      this.tableAt(host.cell).leave(host.hash);
      this.tableAt(next).enter(host.hash);
      host.cell = next;
    }
  }

  /** Every square tells its siblings which hosts it has. */
  tell(): void {
    for (let level = 0; level < this.depth; level++) {
      const squares = this.side >> level;
      const filters = new Map<string, BloomFilter>();
      for (const { hash, cell } of this.hosts) {
        const name = squareName(squareOf(cell, level));
        let filter = filters.get(name);
        if (filter === undefined) filters.set(name, (filter = this.#emptyFilter(level)));
        filter.addHash(hash);
      }
      for (let x = 0; x < squares; x++)
        for (let y = 0; y < squares; y++) {
          const square: Square = { level, x, y };
          this.#send(square, filters.get(squareName(square)) ?? this.#emptyFilter(level));
        }
    }
  }

  /** Finds a host from a cell by filters. */
  searchByFilters(from: Cell, host: KeyHash): PlaceSearch {
    const state = { hops: 0, detours: 0 };
    const isFound = this.#searchBelow(from, host, this.depth, state);
    return { isFound, ...state };
  }

  /** Finds a host from a cell by the records of the location service. They are always current. */
  searchByRecords(from: Cell, { hash, cell }: Host): PlaceSearch {
    let [at, hops] = [from, 0];
    let level = 0;
    while (squareName(squareOf(at, 0)) !== squareName(squareOf(cell, 0))) {
      const square = squareOf(at, level);
      const server = serverIn(square, hash);
      hops += hopsBetween(at, server);
      at = server;
      // The record is here if the host is in a sibling of this square.
      if (commonLevel(at, cell) === level + 1) {
        const target = centreOf(squareOf(cell, level));
        hops += hopsBetween(at, target);
        at = target;
        level = 0;
      } else level++;
    }
    return { isFound: true, hops, detours: 0 };
  }

  /** The rate of each filter that a cell holds. */
  ratesAt(cell: Cell): number[] {
    const rates: number[] = [];
    for (let level = 0; level < this.depth; level++)
      for (const sibling of siblingsOf(squareOf(cell, level))) {
        const filter = this.#lastFilters.get(squareName(sibling));
        if (filter !== undefined) rates.push(filter.estimatedFalsePositiveRate());
      }
    return rates;
  }

  #send(square: Square, filter: BloomFilter): void {
    const name = squareName(square);
    const frame = filter.encode();
    let publisher = this.#publishers.get(name);
    let message: Uint8Array | null;
    if (publisher === undefined) {
      publisher = new SnapshotPublisher({ frame, incarnation: 1 });
      this.#publishers.set(name, publisher);
      message = publisher.full();
    } else message = publisher.publish(frame);
    if (message === null) return;
    this.#lastFilters.set(name, filter);
    const { level } = square;
    // To the sibling, and then to each of its cells.
    this.filterCost += 3 * (2 ** level + 4 ** level - 1) * (HEADER_BYTES + message.length);
    for (const sibling of siblingsOf(square))
      for (let dx = 0; dx < 2 ** level; dx++)
        for (let dy = 0; dy < 2 ** level; dy++)
          this.tableAt({ x: sibling.x * 2 ** level + dx, y: sibling.y * 2 ** level + dy }).setFilter(
            square,
            filter,
          );
  }

  #searchBelow(from: Cell, host: KeyHash, below: number, state: { hops: number; detours: number }): boolean {
    const table = this.tableAt(from);
    if (table.holds(host)) return true;
    for (const square of table.leads(host, below)) {
      const centre = centreOf(square);
      const distance = hopsBetween(from, centre);
      state.hops += distance;
      if (this.#searchBelow(centre, host, square.level, state)) return true;
      state.hops += distance;
      state.detours++;
    }
    return false;
  }

  #moveRecords({ hash, cell }: Host, next: Cell): void {
    for (let level = 0; level < commonLevel(cell, next); level++)
      for (const [at, square] of [
        [cell, squareOf(cell, level)],
        [next, squareOf(next, level)],
      ] as const)
        for (const sibling of siblingsOf(square))
          this.recordCost += hopsBetween(at, serverIn(sibling, hash)) * (HEADER_BYTES + RECORD_BYTES);
  }

  #emptyFilter(level: number): BloomFilter {
    const expected = this.hosts.length * 4 ** (level - this.depth);
    const capacity = Math.max(1, Math.ceil(expected + 2 * Math.sqrt(expected)));
    return BloomFilter.forCapacity({ capacity, falsePositiveRate: this.#rate });
  }
}

/** Bytes of a question by its hops. */
export function questionCost({ hops }: PlaceSearch): number {
  return hops * QUESTION_BYTES;
}

/** The cell of a square that keeps the record of a host. */
function serverIn({ level, x, y }: Square, host: KeyHash): Cell {
  const side = 2 ** level;
  const picked = hashKey(`${squareName({ level, x, y })} ${host.high} ${host.low}`);
  return { x: x * side + (picked.low % side), y: y * side + (picked.high % side) };
}
