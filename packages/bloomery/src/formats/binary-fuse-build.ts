/**
 * Builds the tables of FastFilter's binary fuse filters, cell for cell as its programs in C and Go
 * do. Where no file of FastFilter is needed, `StaticFilter` is the better choice: it is smaller,
 * takes keys of any type, and its frame has a checksum.
 *
 * A key has three cells, one in each of three successive segments. A cell that belongs to a single
 * key takes the fingerprint that this key needs, so the key is removed; that frees other cells. The
 * order of removal decides which cells stay zero, so it is the order of the programs: cells are
 * examined from a stack, which starts with the lonely cells in ascending order, and of a removed
 * key the next two cells are pushed in cyclic order. The order of the keys does not matter.
 *
 * An attempt that leaves keys over is repeated with the next seed of SplitMix64. The programs have
 * different first seeds and different ways out: Go halves the segments at every fourth attempt, C
 * gives up after 100 attempts. With about 11,500 keys C fails for a third of all sets
 * (FastFilter/xor_singleheader#77). Here segments are halved as in Go after the attempts of C, and
 * C reads such files, because their geometry is in the header.
 */

import { mulHigh } from '../hashing/mul-high.ts';
import { finish } from './hashes/murmur3.ts';
import { add, r, set } from './shared/int64.ts';

export interface FuseGeometry {
  readonly segmentLength: number;
  readonly segments: number;
}

export interface BuiltFuse extends FuseGeometry {
  readonly seed: bigint;
  /** The whole 32 bits of each cell. Narrower filters keep the low ones. */
  readonly cells: Uint32Array;
}

/** Distinct 64-bit keys, as pairs of words with the lower half first. */
export type FuseKeys = Uint32Array;

export function buildFuseCells(keys: FuseKeys, program: 'go' | 'c'): BuiltFuse {
  const size = keys.length / 2;
  let geometry = fuseGeometry(size);
  let counter = program === 'go' ? 1n : 0x726b2b9d438b9d4dn;
  const work = new Peeling(size, (geometry.segments + 2) * geometry.segmentLength);
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    geometry = attemptGeometry(size, program === 'go' ? attempt : Math.max(1, attempt - C_ATTEMPTS));
    counter = BigInt.asUintN(64, counter + 0x9e3779b97f4a7c15n);
    const seed = splitMix(counter);
    if (work.solve(keys, seed, geometry)) return { ...geometry, seed, cells: work.assign(geometry) };
  }
  throw new RangeError(
    `Cannot build a binary fuse filter: expected a solution in ${MOST_ATTEMPTS} attempts, got none (${size} keys)`,
  );
}

/** The segments that both programs choose for a number of keys. */
function fuseGeometry(size: number): FuseGeometry {
  const power = size === 0 ? 2 : Math.floor(Math.log(size) / Math.log(3.33) + 2.25);
  const segmentLength = Math.min(262144, 2 ** power);
  const factor = Math.max(1.125, 0.875 + (0.25 * Math.log(1_000_000)) / Math.log(size));
  const cells = size <= 1 ? 0 : Math.round(size * factor);
  return { segmentLength, segments: Math.max(1, Math.ceil(cells / segmentLength) - 2) };
}

/** Go's segments in attempt 1, 2, …: halved in every fourth, with as many cells as before. */
function attemptGeometry(size: number, attempt: number): FuseGeometry {
  const whole = fuseGeometry(size);
  if (attempt % 4 !== 2 || size <= 4 || size >= 1_000_000) return whole;
  return { segmentLength: whole.segmentLength / 2, segments: 2 * whole.segments + 2 };
}

/** The upper 64 bits of the product of a 64-bit hash and a range of 32 bits. */
export function firstCell(low: number, high: number, range: number): number {
  const carried = (mulHigh(low, range) >>> 0) + (Math.imul(high, range) >>> 0);
  return (mulHigh(high, range) >>> 0) + (carried >= 4294967296 ? 1 : 0);
}

/** Writes the three cells of a hash into `out`. */
export function cellsOf(
  low: number,
  high: number,
  { segmentLength, segments }: FuseGeometry,
  out: Uint32Array,
): void {
  const first = firstCell(low, high, segments * segmentLength);
  const mask = segmentLength - 1;
  out[0] = first;
  out[1] = (first + segmentLength) ^ (((low >>> 18) | (high << 14)) & mask);
  out[2] = (first + 2 * segmentLength) ^ (low & mask);
}

/** The memory of one build, which all of its attempts use. */
class Peeling {
  /** For each cell: its number of keys, the XOR of their hashes, and of their turns 0 to 2. */
  readonly #counts: Uint32Array;
  readonly #lows: Int32Array;
  readonly #highs: Int32Array;
  readonly #turns: Uint8Array;
  readonly #stack: Uint32Array;
  /** The removed keys in order: hash, and which of the three cells was lonely. */
  readonly #orderLow: Int32Array;
  readonly #orderHigh: Int32Array;
  readonly #orderTurn: Uint8Array;
  readonly #cells = new Uint32Array(3);
  #removed = 0;

  constructor(size: number, cells: number) {
    this.#counts = new Uint32Array(cells);
    this.#lows = new Int32Array(cells);
    this.#highs = new Int32Array(cells);
    this.#turns = new Uint8Array(cells);
    // A cell becomes lonely once, so it is pushed at most once.
    this.#stack = new Uint32Array(cells);
    this.#orderLow = new Int32Array(size);
    this.#orderHigh = new Int32Array(size);
    this.#orderTurn = new Uint8Array(size);
  }

  /** Removes keys as long as there are lonely cells. Returns whether all are removed. */
  solve(keys: FuseKeys, seed: bigint, geometry: FuseGeometry): boolean {
    this.#fill(keys, seed, geometry);
    const counts = this.#counts;
    const stack = this.#stack;
    const cells = this.#cells;
    let top = 0;
    for (let cell = 0; cell < counts.length; cell++) if (counts[cell] === 1) stack[top++] = cell;
    this.#removed = 0;
    while (top > 0) {
      const cell = stack[--top];
      if (counts[cell] !== 1) continue;
      const low = this.#lows[cell];
      const high = this.#highs[cell];
      const turn = this.#turns[cell];
      const at = this.#removed++;
      this.#orderLow[at] = low;
      this.#orderHigh[at] = high;
      this.#orderTurn[at] = turn;
      cellsOf(low, high, geometry, cells);
      for (let step = 1; step <= 2; step++) {
        const next = (turn + step) % 3;
        const other = cells[next];
        if (counts[other] === 2) stack[top++] = other;
        this.#toggle(other, low, high, next, -1);
      }
    }
    return this.#removed === this.#orderTurn.length;
  }

  /** Gives each key its fingerprint, the last removed first. */
  assign(geometry: FuseGeometry): Uint32Array {
    const table = new Uint32Array(this.#counts.length);
    const cells = this.#cells;
    for (let i = this.#removed - 1; i >= 0; i--) {
      const low = this.#orderLow[i];
      const high = this.#orderHigh[i];
      const turn = this.#orderTurn[i];
      cellsOf(low, high, geometry, cells);
      table[cells[turn]] = low ^ high ^ table[cells[(turn + 1) % 3]] ^ table[cells[(turn + 2) % 3]];
    }
    return table;
  }

  #fill(keys: FuseKeys, seed: bigint, geometry: FuseGeometry): void {
    for (const array of [this.#counts, this.#lows, this.#highs, this.#turns]) array.fill(0);
    const seedLow = Number(BigInt.asIntN(32, seed));
    const seedHigh = Number(BigInt.asIntN(32, seed >> 32n));
    for (let i = 0; i < keys.length; i += 2) {
      set(0, keys[i], keys[i + 1]);
      add(0, seedLow, seedHigh);
      finish(r, 0);
      const [low, high] = r;
      cellsOf(low, high, geometry, this.#cells);
      for (let turn = 0; turn < 3; turn++) this.#toggle(this.#cells[turn], low, high, turn, 1);
    }
  }

  #toggle(cell: number, low: number, high: number, turn: number, change: 1 | -1): void {
    this.#counts[cell] += change;
    this.#lows[cell] ^= low;
    this.#highs[cell] ^= high;
    this.#turns[cell] ^= turn;
  }
}

/** SplitMix64's output for a state. */
function splitMix(state: bigint): bigint {
  let z = state;
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

/** The attempts after which the program in C gives up. */
const C_ATTEMPTS = 100;
/** More than Go makes. A set that needs more is as likely as a fault of the machine. */
const MOST_ATTEMPTS = 1124;
