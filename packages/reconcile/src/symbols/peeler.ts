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
  #size = 0;
  /** Found ids: upper half, lower half, sign, and the place of the sequence. */
  readonly #high: number[] = [];
  readonly #low: number[] = [];
  readonly #sign: number[] = [];
  readonly #next: number[] = [];
  readonly #s0: number[] = [];
  readonly #s1: number[] = [];
  #balance = 0;
  #stuck = false;

  constructor(idBytes: number) {
    this.#idBytes = idBytes;
  }

  /** The number of symbols so far. */
  get size(): number {
    return this.#size;
  }

  /** The number of ids that have been found. */
  get found(): number {
    return this.#sign.length;
  }

  /** Ids of our own minus ids of the other side, among those found. */
  get balance(): number {
    return this.#balance;
  }

  /** True if the symbols contradict each other. No further symbol helps. */
  get stuck(): boolean {
    return this.#stuck;
  }

  /** True if all ids have been found. */
  get done(): boolean {
    if (this.#size === 0 || this.#stuck) return false;
    const end = CELL * this.#size;
    for (let i = 0; i < end; i++) if (this.#cells[i] !== 0) return false;
    return true;
  }

  /** The difference of the numbers in symbol i without the found ids: an int8. */
  countAt(i: number): number {
    return this.#cells[CELL * i + 3];
  }

  /** Adds the next symbols: our own cells, which are overwritten, and those that came. */
  append(own: Int32Array, theirs: Uint8Array): void {
    subtractCells(own, theirs, this.#idBytes);
    const from = this.#size;
    this.#size += own.length / CELL;
    if (this.#cells.length < CELL * this.#size) {
      const larger = new Int32Array(Math.max(2 * this.#cells.length, CELL * this.#size));
      larger.set(this.#cells);
      this.#cells = larger;
    }
    this.#cells.set(own, CELL * from);
    for (let k = 0; k < this.#sign.length; k++) if (this.#next[k] < this.#size) this.#remove(k, null);
    const candidates: number[] = [];
    for (let i = from; i < this.#size; i++) if (isOne(this.#cells[CELL * i + 3])) candidates.push(i);
    this.#peel(candidates);
  }

  /** The ids that only one side holds. `sign` 1: ours, -1: theirs. Halves in turn: upper, lower. */
  ids(sign: number): Int32Array {
    const ids: number[] = [];
    for (let k = 0; k < this.#sign.length; k++)
      if (this.#sign[k] === sign) ids.push(this.#high[k], this.#low[k]);
    return Int32Array.from(ids);
  }

  #peel(candidates: number[]): void {
    for (let i = candidates.pop(); i !== undefined; i = candidates.pop()) {
      const at = CELL * i;
      const sign = this.#cells[at + 3];
      if (!isOne(sign) || !this.#holdsOne(i)) continue;
      if (this.#sign.length >= this.#size) {
        this.#stuck = true;
        return;
      }
      const high = this.#cells[at];
      const low = this.#cells[at + 1];
      this.#mapping.start(high, low);
      const k = this.#sign.length;
      this.#high.push(high);
      this.#low.push(low);
      this.#sign.push(sign);
      this.#next.push(0);
      this.#s0.push(this.#mapping.s0);
      this.#s1.push(this.#mapping.s1);
      this.#balance += sign;
      this.#remove(k, candidates);
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

  /** Takes found id k out of the symbols from its place on. Collects those that may hold one id. */
  #remove(k: number, candidates: number[] | null): void {
    const mapping = this.#mapping;
    const cells = this.#cells;
    const high = this.#high[k];
    const low = this.#low[k];
    const sign = this.#sign[k];
    mapping.start(high, low);
    mapping.index = this.#next[k];
    mapping.s0 = this.#s0[k];
    mapping.s1 = this.#s1[k];
    while (mapping.index < this.#size) {
      const at = CELL * mapping.index;
      cells[at] ^= high;
      cells[at + 1] ^= low;
      cells[at + 2] ^= mapping.check;
      cells[at + 3] = ((cells[at + 3] - sign) << 24) >> 24;
      if (candidates !== null && isOne(cells[at + 3])) candidates.push(mapping.index);
      mapping.step();
    }
    this.#next[k] = mapping.index;
    this.#s0[k] = mapping.s0;
    this.#s1[k] = mapping.s1;
  }
}

function isOne(count: number): boolean {
  return count === 1 || count === -1;
}
