/**
 * Decodes the difference of two sets from the difference of their symbols. A symbol with the number
 * +1 or -1 may hold one id alone. If the check of that id is right, and if its sequence meets this
 * symbol, the id is taken out of all symbols, which may leave others with one id. Every id takes
 * part in symbol 0, so all are found when symbol 0 is empty.
 *
 * Untrusted symbols can hold anything, ids that appear again and again as well. There cannot be
 * more ids than symbols, so the peeler stops there and says that it is `stuck`. A wrong guess (16
 * bits of check and the sequence agree by accident) leads to ids that neither side holds, or to
 * symbols that never become empty. Both are noticed by the session.
 */

import { CELL, subtractCells } from './cell.ts';
import { IdMapping } from './id-mapping.ts';

export class Peeler {
  readonly #idBytes: number;
  readonly #mapping = new IdMapping();
  #cells = new Int32Array(CELL * 128);
  readonly #found: FoundId[] = [];
  /** The number of symbols so far. */
  size = 0;
  /** Ids of our own minus ids of the other side, among those found. */
  balance = 0;
  /** True if the symbols contradict each other. No further symbol helps. */
  stuck = false;

  constructor(idBytes: number) {
    this.#idBytes = idBytes;
  }

  /** The number of ids that have been found. */
  get found(): number {
    return this.#found.length;
  }

  /** True if all ids have been found. */
  get done(): boolean {
    if (this.size === 0 || this.stuck) return false;
    const end = CELL * this.size;
    for (let i = 0; i < end; i++) if (this.#cells[i] !== 0) return false;
    return true;
  }

  /** The difference of the numbers in symbol i without the found ids: an int8. */
  countAt(i: number): number {
    return this.#cells[CELL * i + 3];
  }

  /** Adds the next symbols: our own cells, and those that came. */
  append(own: Int32Array, theirs: Uint8Array): void {
    const from = this.size;
    this.size += own.length / CELL;
    if (this.#cells.length < CELL * this.size) {
      const larger = new Int32Array(Math.max(2 * this.#cells.length, CELL * this.size));
      larger.set(this.#cells);
      this.#cells = larger;
    }
    this.#cells.set(own, CELL * from);
    subtractCells(this.#cells.subarray(CELL * from), theirs, this.#idBytes);
    for (const id of this.#found) this.#remove(id, null);
    const candidates: number[] = [];
    for (let i = from; i < this.size; i++) if (isOne(this.#cells[CELL * i + 3])) candidates.push(i);
    this.#peel(candidates);
  }

  /** The ids that only one side holds. `sign` 1: ours, -1: theirs. Halves in turn: upper, lower. */
  ids(sign: number): Int32Array {
    return Int32Array.from(this.#found.flatMap((id) => (id.sign === sign ? [id.high, id.low] : [])));
  }

  #peel(candidates: number[]): void {
    for (let i = candidates.pop(); i !== undefined; i = candidates.pop()) {
      const at = CELL * i;
      const sign = this.#cells[at + 3];
      if (!isOne(sign) || !this.#holdsOne(i)) continue;
      if (this.#found.length >= this.size) {
        this.stuck = true;
        return;
      }
      const id = { high: this.#cells[at], low: this.#cells[at + 1], sign, mapping: new IdMapping() };
      id.mapping.start(id.high, id.low);
      this.#found.push(id);
      this.balance += sign;
      this.#remove(id, candidates);
    }
  }

  /** Whether the id in symbol i has this check, and a sequence that meets the symbol. */
  #holdsOne(i: number): boolean {
    const mapping = this.#mapping;
    const at = CELL * i;
    mapping.start(this.#cells[at], this.#cells[at + 1]);
    if (mapping.check !== this.#cells[at + 2]) return false;
    while (mapping.index < i) mapping.step();
    return mapping.index === i;
  }

  /** Takes an id out of the symbols from its place on. Collects those that may hold one id. */
  #remove({ high, low, sign, mapping }: FoundId, candidates: number[] | null): void {
    const cells = this.#cells;
    for (; mapping.index < this.size; mapping.step()) {
      const at = CELL * mapping.index;
      cells[at] ^= high;
      cells[at + 1] ^= low;
      cells[at + 2] ^= mapping.check;
      cells[at + 3] = ((cells[at + 3] - sign) << 24) >> 24;
      if (candidates !== null && isOne(cells[at + 3])) candidates.push(mapping.index);
    }
  }
}

/** An id that was found, its side (1: ours, -1: theirs), and the place of its sequence. */
interface FoundId {
  readonly high: number;
  readonly low: number;
  readonly sign: number;
  readonly mapping: IdMapping;
}

function isOne(count: number): boolean {
  return count * count === 1;
}
