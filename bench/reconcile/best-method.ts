/**
 * The bytes of each method alone, for one pair of sets, if all were known beforehand: which method
 * is best, how large a filter, and the exact number of symbols after which decoding succeeds. Each
 * method has the least framing with which it can be exact: a hello without sum and counters (type,
 * length, magic, version, flags, randomness, number of keys), the head of each answer, the tell
 * with its sum, and the verdict. No real session can know these numbers, so the best of the methods
 * is a lower bound for protocols of this kind. Its framing is that of the first measurement, a byte
 * or two longer than that of sessions now: they send sizes as differences, and no number in a tell.
 *
 * Symbols of 13 bytes are those of ids of 8 bytes with a check of 32 bits; as many of them are
 * needed as of those of 8 bytes.
 */

import { hashKeys, SecretKey } from 'bloomery';
import { planExchange } from '../../packages/reconcile/dist/math/plan-exchange.js';
import { hashList, listBits } from '../../packages/reconcile/dist/session/hash-list.js';
import { encodeToldIds } from '../../packages/reconcile/dist/session/told-ids.js';
import { findIds } from '../../packages/reconcile/dist/sets/find-ids.js';
import { HashFilter } from '../../packages/reconcile/dist/sets/hash-filter.js';
import type { HashedKeys } from '../../packages/reconcile/dist/sets/hashed-keys.js';
import { encodeCells } from '../../packages/reconcile/dist/symbols/cell.js';
import { Peeler } from '../../packages/reconcile/dist/symbols/peeler.js';
import { SymbolSource } from '../../packages/reconcile/dist/symbols/symbol-source.js';
import { encodeSortedList } from '../../packages/reconcile/dist/wire/sorted-list.js';
import type { Pair } from './pairs.ts';

const ID_BYTES = 5;
const WIDTH = 8;
const VERDICT = 3;

export interface MethodBytes {
  /** Symbols of 5 to 7 bytes where sessions take these, otherwise of 8. */
  readonly narrow: number;
  readonly symbols8: number;
  readonly symbols13: number;
  readonly filter: number;
  readonly list: number;
}

export function methodBytes(pair: Pair, salt: Uint8Array): MethodBytes {
  const { scheme } = new SecretKey(salt);
  const hashed = (keys: readonly string[]): HashedKeys => ({
    words: hashKeys(keys, scheme).words,
    size: keys.length,
    places: null,
  });
  const [a, b] = [hashed(pair.a), hashed(pair.b)];
  const hello = 16 + varint(a.size);
  const alone = decode(a, b);
  const symbols = (cell: number) =>
    hello + framed(1 + varint(b.size) + cell * alone.symbols) + tell(alone.told) + VERDICT;
  const d = pair.onlyA.length + pair.onlyB.length;
  const width = planExchange(a.size, b.size, Math.max(1, d), Number.POSITIVE_INFINITY).width;
  return {
    narrow: symbols(Math.min(WIDTH, width)),
    symbols8: symbols(WIDTH),
    symbols13: symbols(13),
    filter: Math.min(...filterBits(pair).map((bits) => filterBytes(a, b, bits, hello))),
    list: hello + listBytes(a, b, pair),
  };
}

/** Bits per key around the best ones by the formula. */
function filterBits({ a, onlyA, onlyB }: Pair): number[] {
  const d = Math.max(1, onlyA.length + onlyB.length);
  const rate = (2 * a.length - onlyA.length) / (8 * Math.LN2 ** 2 * d * (1.38 * WIDTH + 1.5));
  const best = rate < 1 ? Math.log2(1 / rate) / Math.LN2 : 0.5;
  return [best - 0.7, best, best + 0.7].map((bits) => Math.max(0.25, bits));
}

function filterBytes(a: HashedKeys, b: HashedKeys, bits: number, hello: number): number {
  const first = HashFilter.of(a, bits, false);
  const activeB = first.passing(b);
  const second = HashFilter.of(activeB, bits, true);
  const { symbols, told } = decode(second.passing(a), activeB);
  const summary = framed(1 + varint(b.size));
  const there = framed(2 + varint(first.bits) + first.bytes.length);
  const head = varint(activeB.size) + 1 + varint(second.bits) + second.bytes.length;
  return hello + summary + there + framed(head + WIDTH * symbols) + tell(told) + VERDICT;
}

function listBytes(a: HashedKeys, b: HashedKeys, pair: Pair): number {
  const { body } = hashList(b, listBits(a.size, b.size, 0));
  const step = b.size / Math.max(1, pair.onlyB.length);
  const places = Float64Array.from(pair.onlyB, (_, i) => Math.floor(i * step));
  const told = encodeSortedList(places, Math.ceil(Math.log2(b.size + 1))).length;
  return framed(1 + varint(b.size) + body.length) + tell(told) + VERDICT;
}

/** The least number of symbols that decode, to 0.4 %, and the bytes of the ids that are told. */
function decode(a: HashedKeys, b: HashedKeys): { symbols: number; told: number } {
  const [ours, theirs] = [a, b].map(({ words, size }) => new SymbolSource(words, size, ID_BYTES));
  const peeler = new Peeler(WIDTH);
  let from = 0;
  let made = 0;
  let mine = new Int32Array(0);
  let other: Uint8Array = new Uint8Array(0);
  while (!peeler.done) {
    const { size } = peeler;
    if (peeler.stuck || size > 3 * (a.size + b.size) + 100)
      throw new Error(`Cannot decode: expected an end, got ${size} symbols`);
    if (size === made) {
      from = made;
      made = Math.max(64, 2 * made);
      mine = ours.block(made);
      other = encodeCells(theirs.block(made), made - from, WIDTH);
    }
    const start = size - from;
    const end = Math.min(made - from, start + Math.max(1, size >>> 8));
    peeler.append(mine.subarray(4 * start, 4 * end), other.subarray(8 * start, 8 * end));
  }
  const find = (ids: Int32Array, bits: number) => findIds(a.words, ids, bits);
  const onlyA = new Set(find(peeler.ids(1), 8 * ID_BYTES));
  const told = encodeToldIds(peeler.ids(-1), 8 * ID_BYTES, a.size, onlyA, find);
  return { symbols: peeler.size, told: told?.length ?? 0 };
}

function tell(told: number): number {
  return framed(9 + told);
}

/** A message with its head. */
function framed(body: number): number {
  return 1 + varint(body) + body;
}

function varint(value: number): number {
  return value < 128 ? 1 : 1 + varint(Math.floor(value / 128));
}
