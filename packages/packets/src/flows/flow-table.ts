/**
 * The flow table: how many bytes and packets each flow has, exactly while all flows fit into a
 * memory of fixed size, and with a bound for each flow when they no longer do (Estan and Varghese
 * 2002: a multistage filter with conservative update in front of a flow memory, with shielding, and
 * a threshold that adapts to the memory).
 *
 * What it promises, for any traffic. T is `threshold`, 0 as long as the table is exact.
 * - Each listed flow has atLeast <= truth <= atMost. Both are the truth while T = 0, and for every
 *   flow that got its entry at its first packet and kept it.
 * - Every flow of T or more is in the table. Flows that are not have less than T.
 * - Memory never grows beyond `memory` bytes.
 *
 * How. A flow with an entry is counted in its entry, and does not touch the filter (shielding).
 * While T = 0, every flow gets an entry. When the table is full, T rises so far that at least half
 * of the entries lie below it; these leave the table, and their bounds go into the filter. From
 * then on, a flow without an entry has a bound U: its least counter, or T if that is less. A packet
 * of a bytes raises it to U + a. If that reaches T, the flow gets an entry, which remembers U as
 * the most that can have come before. Otherwise all its counters are raised to U + a.
 *
 * Why no flow is under-counted. We show two things about a flow without an entry: its bytes are
 * below T, and each of its counters is at least its bytes. Both hold when the flow leaves the
 * table: its counters are raised to its bound, and only bounds below T leave. They hold after each
 * of its packets: the true bytes before are at most U, and U + a is below T, or the flow has an
 * entry now. Counters never fall, and T only rises. An entry counts every packet since it was made,
 * and at most U came before. So atLeast = counted, atMost = counted + U.
 *
 * Where it breaks down. U is close to T for most flows when far more flows than counters share the
 * filter, so flows just above T have loose bounds: `atMost` may be T above the truth. The larger
 * the flow, the smaller the relative error, T/atMost. In a flood of ever new flows T rises, and the
 * answer says how far.
 *
 * Intervals. `nextInterval` clears the counts. Flows that were heavy keep their entries (and with
 * them exact counts from the first packet of the next interval), at most a quarter of the table and
 * only if they counted an eighth of T: early removal. Inside one interval shielding changes
 * nothing, because the counters of a flow that passed are at T already; it pays across intervals.
 *
 * What was refused. A map of strings, which takes twelve times the CPU time and 284 MB more at 774
 * thousand flows (bench/results/packets.md). A heap of the N largest: the N-th largest may be as
 * small as one packet, and the heap costs a comparison for each packet. Sampling: its error falls
 * with the square root of the memory, this one with the memory.
 */

import {
  AMOUNTS_AT,
  BATCH_KEYS,
  entryBytes,
  FIRST_SHIFT,
  type FlowLayout,
  KEYS_AT,
  leastMemory,
  MAX_KEY_WORDS,
  OTHERS_AT,
  planLayout,
  STATE,
  writeState,
} from './kernel/layout.ts';
import { PacketStager, type StagerOptions } from './kernel/packet-stager.ts';
import { ROW_FACTORS } from './kernel/row-place.ts';
import { type FlowKernel, ScriptKernel } from './kernel/script-kernel.ts';
import { createWasmKernel, type WasmKernel } from './kernel/wasm-kernel.ts';

export interface FlowTableOptions {
  /** Bytes of memory for the filter, the index and the entries. Default 36 MiB. */
  readonly memory?: number | undefined;
  /** 16 random bytes, the key of the hash: see kernel/siphash.ts for what they protect. */
  readonly secret: Uint8Array;
  /** Counters in a row of the filter, up to 2^21. Default 65536. */
  readonly width?: number | undefined;
  /** Rows (stages) of the filter, 1 to 8. Default 4. */
  readonly depth?: number | undefined;
  /** Throws a `FlowTableError` instead of giving bounds when the memory is full. */
  readonly exact?: boolean | undefined;
  /** For tests and measurements. */
  readonly kernel?: 'auto' | 'wasm' | 'javascript' | undefined;
}

/** The memory of an exact table is full. */
export class FlowTableError extends Error {
  override readonly name = 'FlowTableError';
  readonly code = 'full';

  constructor(flows: number, bytes: number) {
    super(`Cannot count flows exactly: expected them to fit into ${bytes} bytes, got more than ${flows}`);
  }
}

/** A flow of the table. The true amount lies between `atLeast` and `atMost`. */
export interface CountedFlow {
  /** Words of 32 bits, as they were added. */
  readonly key: Int32Array;
  readonly atLeast: number;
  readonly atMost: number;
  /** The other amount: exact if `atLeast` is `atMost`, otherwise a lower bound. */
  readonly other: number;
}

export const DEFAULT_FLOW_MEMORY: number = 36 * 2 ** 20;
const MOST_MEMORY = 2 ** 32 - 65536;

export class FlowTable {
  /**
   * Room for the keys of a batch, one after the other. The lowest byte of the first word of a key
   * is the number of its 64-bit words.
   */
  readonly keys: Int32Array;
  /** Room for the amounts of a batch: whole numbers, in the order of the keys. */
  readonly amounts: Float64Array;
  /** Room for the other amounts. */
  readonly others: Float64Array;
  readonly #layout: FlowLayout;
  readonly #kernel: FlowKernel | WasmKernel;
  readonly #script: ScriptKernel;
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #exact: boolean;
  #total = 0;
  #totalOther = 0;

  constructor(options: FlowTableOptions) {
    const { memory = DEFAULT_FLOW_MEMORY, secret, width = 65536, depth = 4, kernel = 'auto' } = options;
    checkWhole('width', width, 1, 2 ** 21);
    checkWhole('depth', depth, 1, ROW_FACTORS.length);
    checkWhole('memory', memory, leastMemory(width, depth), MOST_MEMORY);
    if (!(secret instanceof Uint8Array) || secret.length !== 16) {
      throw new RangeError(`Cannot use secret: expected 16 bytes, got ${secret?.length ?? secret}`);
    }
    this.#exact = options.exact ?? false;
    this.#layout = planLayout(memory, width, depth);
    this.#kernel = createKernel(kernel, this.#layout);
    const { buffer } = this.#kernel;
    writeState(buffer, this.#layout, secret);
    this.#script = new ScriptKernel(buffer, this.#layout);
    this.#words = new Int32Array(buffer);
    this.#doubles = new Float64Array(buffer);
    this.keys = new Int32Array(buffer, KEYS_AT, 2 * MAX_KEY_WORDS * BATCH_KEYS);
    this.amounts = new Float64Array(buffer, AMOUNTS_AT, BATCH_KEYS);
    this.others = new Float64Array(buffer, OTHERS_AT, BATCH_KEYS);
  }

  /** T: flows below it may be missing. 0 while the table is exact. */
  get threshold(): number {
    return this.#doubles[STATE.threshold / 8];
  }

  /** Flows that have an entry; all flows of the interval while the table is exact. */
  get size(): number {
    return this.#words[STATE.entries / 4];
  }

  /** Sums of the amounts of this interval, exact. */
  get total(): number {
    return this.#total;
  }

  get totalOther(): number {
    return this.#totalOther;
  }

  /** Bytes of the memory that it may use. */
  get byteLength(): number {
    return this.#layout.bytes;
  }

  /** A stager that fills keys and amounts, or null without WebAssembly. */
  createStager(options: StagerOptions): PacketStager | null {
    const kernel = this.#kernel;
    return 'stage' in kernel ? new PacketStager(kernel.buffer, kernel.stageAt, kernel.stage, options) : null;
  }

  /** Counts the first `count` keys in `keys`, at most 1024, with `amounts` and `others`. */
  addBatch(count: number): void {
    checkWhole('count', count, 0, BATCH_KEYS);
    for (let i = 0; i < count; i++) {
      this.#total += this.amounts[i];
      this.#totalOther += this.others[i];
    }
    this.#words[STATE.nextKey / 4] = KEYS_AT;
    for (let at = 0; at < count; ) {
      at = this.#kernel.absorb(at, count);
      if (at === count) break;
      if (this.#exact) throw new FlowTableError(this.size, this.byteLength);
      this.#kernel.evict(this.#higherThreshold());
    }
  }

  /** Bounds on one flow, whether or not it has an entry. */
  count(key: Int32Array): CountedFlow {
    this.keys.set(key);
    const entry = this.#script.find();
    if (entry !== 0) return this.#flowAt(entry);
    const { threshold } = this;
    // A flow without an entry has less than T.
    const atMost = threshold === 0 ? 0 : Math.min(this.#script.filterBound(), threshold - 1);
    return { key, atLeast: 0, atMost, other: 0 };
  }

  /**
   * The flows with the largest bounds, at most `most`, and only those with at least `least`. Equal
   * ones come in the order of their keys.
   */
  list(most = Number.POSITIVE_INFINITY, least = 0): CountedFlow[] {
    let best: Ranked[] = [];
    let bar = least;
    this.#eachEntry((entry, counts) => {
      const bound = this.#boundAt(entry, counts);
      if (bound < bar || this.#isUnseen(entry, counts)) return;
      best.push({ entry, bound });
      if (best.length < 2 * most + 1000) return;
      best = this.#ranked(best).slice(0, most);
      bar = Math.max(bar, best.at(-1)?.bound ?? 0);
    });
    return this.#ranked(best)
      .slice(0, most)
      .map(({ entry }) => this.#flowAt(entry));
  }

  /** Begins a new interval: see the head of this file for the entries that stay. */
  nextInterval(): void {
    const { threshold } = this;
    const words = this.#words;
    const doubles = this.#doubles;
    const { arenaAt, arenaBytes, mostSlots } = this.#layout;
    let kept = 0;
    let entries = 0;
    if (threshold > 0) {
      const [bar, room] = [Math.max(1, threshold / 8), mostSlots / 4];
      this.#eachEntry((entry, counts, bytes) => {
        if (doubles[counts] < bar || entries >= room || kept + bytes > arenaBytes / 4) return;
        words.copyWithin((arenaAt + kept) / 4, entry / 4, (entry + bytes) / 4);
        const place = counts - (entry - arenaAt - kept) / 8;
        doubles[place] = 0;
        doubles[place + 1] = 0;
        kept += bytes;
        entries++;
      });
      const { width, depth } = this.#layout;
      const filter = words[STATE.filter / 4] / 4;
      words.fill(0, filter, filter + width * depth);
    }
    words[STATE.used / 4] = kept;
    words[STATE.held / 4] = kept;
    words[STATE.arenaBytes / 4] = arenaBytes;
    words[STATE.entries / 4] = entries;
    doubles[STATE.threshold / 8] = 0;
    this.#total = 0;
    this.#totalOther = 0;
    let shift = FIRST_SHIFT;
    while (entries * 4 > 2 ** (32 - shift) * 3) shift--;
    this.#kernel.rebuild(shift);
  }

  /**
   * The lowest threshold above the present one that at most half of the entries reach. Bounds are
   * counted in classes of a sixteenth of a power of two.
   */
  #higherThreshold(): number {
    const counts = new Uint32Array(CLASSES);
    let free = 0;
    this.#eachEntry((entry, at) => {
      if (this.#isHeld(entry)) return;
      counts[classOf(this.#boundAt(entry, at))]++;
      free++;
    });
    let above = 0;
    let edge = CLASSES - 1;
    while (edge > 0 && above + counts[edge] <= free / 2) above += counts[edge--];
    return Math.max(classStart(edge + 1), this.threshold + 1);
  }

  #eachEntry(visit: (entry: number, counts: number, bytes: number) => void): void {
    const { arenaAt } = this.#layout;
    const used = this.#words[STATE.used / 4];
    for (let at = 0; at < used; ) {
      const size = 8 * (this.#words[(arenaAt + at) / 4] & 0xff);
      visit(arenaAt + at, (arenaAt + at + size) / 8, entryBytes(size));
      at += entryBytes(size);
    }
  }

  /** Upper bound of an entry, whose numbers begin at the double `counts`. */
  #boundAt(entry: number, counts: number): number {
    if (this.threshold === 0) return this.#doubles[counts];
    const { arenaAt, beforeAt } = this.#layout;
    return this.#doubles[counts] + this.#doubles[(beforeAt + (entry - arenaAt) / 4) / 8];
  }

  /** Whether the entry was kept from the last interval. */
  #isHeld(entry: number): boolean {
    return entry - this.#layout.arenaAt < this.#words[STATE.held / 4];
  }

  /** Whether the entry was kept from the last interval and no packet of it came since. */
  #isUnseen(entry: number, counts: number): boolean {
    return this.#isHeld(entry) && this.#doubles[counts] === 0 && this.#doubles[counts + 1] === 0;
  }

  #flowAt(entry: number): CountedFlow {
    const length = 2 * (this.#words[entry / 4] & 0xff);
    const counts = (entry + 4 * length) / 8;
    return {
      key: this.#words.slice(entry / 4, entry / 4 + length),
      atLeast: this.#doubles[counts],
      atMost: this.#boundAt(entry, counts),
      other: this.#doubles[counts + 1],
    };
  }

  #ranked(flows: Ranked[]): Ranked[] {
    return flows.sort((a, b) => b.bound - a.bound || this.#compareKeys(a.entry / 4, b.entry / 4));
  }

  #compareKeys(a: number, b: number): number {
    const words = this.#words;
    const length = 2 * Math.min(words[a] & 0xff, words[b] & 0xff);
    for (let i = 0; i < length; i++) {
      if (words[a + i] !== words[b + i]) return (words[a + i] >>> 0) - (words[b + i] >>> 0);
    }
    return 0;
  }
}

interface Ranked {
  readonly entry: number;
  readonly bound: number;
}

const STEPS = 16;
const CLASSES = 53 * STEPS;

/** The class of a bound: 16 to each power of two. */
function classOf(bound: number): number {
  if (bound < 1) return 0;
  const power = Math.min(52, Math.floor(Math.log2(bound)));
  const step = Math.floor((bound / 2 ** power - 1) * STEPS);
  return Math.min(CLASSES - 1, power * STEPS + Math.max(0, Math.min(STEPS - 1, step)));
}

/** The least whole number of a class. */
function classStart(index: number): number {
  return Math.ceil(2 ** Math.floor(index / STEPS) * (1 + (index % STEPS) / STEPS));
}

function createKernel(choice: 'auto' | 'wasm' | 'javascript', layout: FlowLayout): FlowKernel | WasmKernel {
  const wasm = choice === 'javascript' ? null : createWasmKernel(layout.bytes);
  if (wasm !== null) return wasm;
  if (choice === 'wasm') throw new Error('Cannot compile WebAssembly: a Content-Security-Policy forbids it');
  return new ScriptKernel(new ArrayBuffer(Math.ceil(layout.bytes / 8) * 8), layout);
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new RangeError(
      `Cannot use ${name}: expected a whole number from ${least} to ${most}, got ${value}`,
    );
  }
}
