/**
 * The initiator: says hello, decodes the symbols of the responder, chooses how to go on, tells the
 * responder its part of the difference and waits for the verdict.
 *
 * The hello says enough for the responder to estimate the difference, so most sessions need one
 * more round trip at most before the initiator has decoded. It asks for more symbols only when all
 * that it asked for have come. So the responder's bytes depend on the initiator's messages alone,
 * which lets a broken session be resumed.
 */

import { estimateFromCounters, estimateFromSymbols } from '../math/estimate-difference.ts';
import { planExchange, widerCell } from '../math/plan-exchange.ts';
import { LEAST_UNSEEN, MOST_FIRST_SYMBOLS, nextSymbols } from '../math/symbols-needed.ts';
import { COARSE, COUNTERS, WHOLE } from '../sets/hash-counters.ts';
import { HashFilter } from '../sets/hash-filter.ts';
import { type HashedKeys, placesOutside } from '../sets/hashed-keys.ts';
import { countBits, idBytesOf, LEAST_WIDTH, MOST_WIDTH } from '../symbols/cell.ts';
import { Peeler } from '../symbols/peeler.ts';
import type { ByteReader } from '../wire/byte-reader.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import { MAGIC, type Message, readerOf } from '../wire/message.ts';
import {
  AGAIN,
  FILTER,
  FILTERED,
  FLOWS,
  HELLO,
  HELLO_EAGER,
  KEPT,
  MORE,
  RANDOM_BYTES,
  SUMMARY,
  SUMMARY_COUNTERS,
  SUMMARY_EQUAL,
  SUMMARY_LIST,
  SUMMARY_SHIFT,
  SYMBOLS,
  TELL,
  VERDICT,
  VERSION,
} from '../wire/message-types.ts';
import { decodeSortedList, encodeSortedList } from '../wire/sorted-list.ts';
import { matchList } from './hash-list.ts';
import type { OwnCells } from './own-cells.ts';
import { type Difference, EQUAL, type ReconcileMethod, type Role, type RoleOptions } from './role.ts';
import type { SaltedSet } from './salted-set.ts';
import { encodeToldIds, idsOfPrefixes } from './told-ids.ts';

export class Initiator implements Role {
  readonly #own: SaltedSet;
  readonly #options: RoleOptions;
  readonly out: Message[] = [];
  #greeted = false;
  /** The message that has to come next. Symbols that were on their way may come before it. */
  #awaited = SUMMARY;
  #there = 0;
  #search: Search | null = null;
  /** The width of the cells that we expect after a filter. */
  #width = 0;
  #told: Difference | null = null;
  difference: Difference | null = null;
  flows = 0;
  symbols = 0;
  estimate: number | null = null;

  constructor(own: SaltedSet, options: RoleOptions) {
    this.#own = own;
    this.#options = options;
  }

  pull(): Message | null {
    if (!this.#greeted) this.#hello();
    return this.out.shift() ?? null;
  }

  receive(message: Message): void {
    const { type } = message;
    const reader = readerOf(message);
    if (this.difference !== null || !this.#greeted) reader.unexpected();
    const search = this.#search;
    if (type === SYMBOLS && search !== null && search.arrived < search.allowed) this.#append(reader, search);
    else if (type !== this.#awaited) reader.unexpected();
    else if (type === SUMMARY) this.#summary(reader);
    else if (type === FILTERED) this.#filtered(reader);
    else this.#verdict(reader);
  }

  #hello(): void {
    this.#greeted = true;
    const { kept } = this.#own.set;
    const { random, flows, eager } = this.#options;
    this.#own.begin(random, kept !== null);
    const { hashed } = this.#own;
    const writer = new ByteWriter().bytes(MAGIC).byte(VERSION);
    writer.byte((kept === null ? 0 : KEPT) | flows | (eager ? HELLO_EAGER : 0));
    writer.bytes(random).varint(hashed.size);
    if (kept !== null) writer.word(kept.scheme.seed);
    this.#send(HELLO, writer.bytes(this.#own.sketch(eager ? WHOLE : COARSE)));
  }

  #summary(reader: ByteReader): void {
    const flags = reader.byte();
    const own = this.#own;
    const { flows, random } = this.#options;
    if (flags >> SUMMARY_SHIFT > MOST_WIDTH - LEAST_WIDTH) reader.refuse('known flags', flags);
    if (own.attempt === 0) {
      this.flows = flags & FLOWS;
      if (this.flows & ~flows) reader.unexpected();
    } else if (own.attempt === 1) own.ofResponder = reader.take(RANDOM_BYTES).slice();
    if (own.keptInUse && !(flags & KEPT)) own.begin(random, false);
    else if (!own.keptInUse && flags & KEPT) reader.unexpected();
    const { hashed } = own;
    const form = flags & SUMMARY_COUNTERS;
    const equal = form === SUMMARY_EQUAL;
    // Numbers of keys are close to each other: 0, -1, 1, -2, … more than ours are 0, 1, 2, 3, …
    const more = equal ? 0 : reader.varint();
    this.#there = hashed.size + (more % 2 ? -(more + 1) : more) / 2;
    if (this.#there < 0) reader.unexpected();
    if (equal && reader.word() === own.sum) {
      reader.end();
      this.#send(TELL, new ByteWriter());
      this.difference = EQUAL;
    } else if (form === SUMMARY_LIST) this.#list(reader, hashed);
    else {
      const width = LEAST_WIDTH + (flags >> SUMMARY_SHIFT);
      let difference = equal ? LEAST_UNSEEN : reader.varint();
      if (form === SUMMARY_COUNTERS) difference = estimateFromCounters(own.counters, reader.take(COUNTERS));
      this.#begin(reader, { active: hashed, theirs: this.#there, difference, method: 'symbols' }, width);
    }
  }

  /** Begins a search with the first symbols. */
  #begin(reader: ByteReader, known: Known, width: number): void {
    const cells = this.#own.cells(known.active, width);
    const allowed = Math.min(Math.floor(reader.left / width), MOST_FIRST_SYMBOLS);
    this.#search = { ...known, cells, peeler: new Peeler(width), arrived: 0, allowed, asked: 0 };
    this.#awaited = SYMBOLS;
    this.#append(reader, this.#search);
  }

  #list(reader: ByteReader, active: HashedKeys): void {
    // Every value takes a byte or more, so that few bytes cannot make long lists.
    const list = decodeSortedList(reader, Math.min(this.#there, reader.left));
    const found = this.#own.find(active, idsOfPrefixes(list.values, list.bits), list.bits);
    const match = matchList(found, active.size);
    const bits = Math.ceil(Math.log2(this.#there + 1));
    if (match === null) this.#again();
    else this.#tell(active, match.onlyHere, encodeSortedList(match.onlyThere, bits), 'list');
  }

  /**
   * Takes symbols: all that we have asked for, or a full piece of them. So the number of symbols
   * that we asked for bounds both their memory and the number of times that we look through the ids
   * which were found.
   */
  #append(reader: ByteReader, search: Search): void {
    const { peeler, allowed, cells } = search;
    const bytes = reader.rest();
    const count = Math.min(MOST_FIRST_SYMBOLS, allowed - search.arrived);
    if (bytes.length !== count * cells.width) reader.refuse(`${count} symbols`, `${bytes.length} bytes`);
    search.arrived += count;
    // Symbols may be on their way when we have enough of them.
    if (this.#awaited !== SYMBOLS) return;
    peeler.append(cells.range(peeler.size, search.arrived, allowed), bytes);
    this.symbols += count;
    if (peeler.done) this.#decoded(search);
    else if (peeler.stuck) this.#again();
    else if (peeler.size === allowed) this.#goOn(search);
  }

  /** Chooses how to go on after symbols that were not enough. */
  #goOn(search: Search): void {
    const { active, method, theirs, peeler, cells } = search;
    const { found, size } = peeler;
    const { eager, maxSymbols } = this.#options;
    const balance = active.size - theirs - peeler.balance;
    const prior = Math.max(0, search.difference - found);
    const bits = countBits(cells.width);
    const difference = found + estimateFromSymbols(size, (i) => peeler.countAt(i), balance, prior, bits);
    this.estimate = Math.round(difference);
    const plan = planExchange(active.size, theirs, difference, size * cells.width);
    if (plan.bitsPerKey > 0 && method === 'symbols' && size <= MOST_FIRST_SYMBOLS) {
      this.#awaited = FILTERED;
      this.#width = widerCell(plan.width, this.#own.attempt);
      const filter = HashFilter.of(active, plan.bitsPerKey, false);
      this.#send(FILTER, filter.write(new ByteWriter().byte(this.#width)));
      return;
    }
    search.allowed = Math.min(nextSymbols(size, difference, eager, search.asked++), maxSymbols);
    if (search.allowed <= size) this.#again();
    else this.#send(MORE, new ByteWriter().varint(search.allowed));
  }

  /** Keeps the keys that pass the responder's filter. The others are certainly ours alone. */
  #filtered(reader: ByteReader): void {
    const theirs = reader.varint(this.#there);
    const difference = reader.varint();
    const active = HashFilter.from(reader, true).passing(this.#own.hashed);
    this.#begin(reader, { active, theirs, difference, method: 'filter' }, this.#width);
  }

  /** All ids have been found: finds our keys among them, and tells the responder its own. */
  #decoded({ peeler, cells, active, method }: Search): void {
    const find = (ids: Int32Array, bits: number) => this.#own.find(active, ids, bits);
    const bits = 8 * idBytesOf(cells.width);
    const onlyHere = find(peeler.ids(1), bits);
    const ours = new Set(onlyHere);
    const told = encodeToldIds(peeler.ids(-1), bits, active.size, ours, find);
    // An id without a key, or two keys with one id: only another salt can help.
    if (told === null || ours.size < onlyHere.length || onlyHere.some((k) => k < 0)) this.#again();
    else this.#tell(active, onlyHere, told, method);
  }

  #tell(active: HashedKeys, onlyHere: Int32Array, told: Uint8Array, method: ReconcileMethod): void {
    const places = placesOutside(this.#own.hashed, active, onlyHere);
    const common = this.#own.hashed.size - places.length;
    const onlyThereCount = this.#there - common;
    // The responder miscounts, or decoding went wrong.
    if (onlyThereCount < 0) {
      this.#again();
      return;
    }
    this.#told = { onlyHere: places, onlyThereCount, method };
    this.#awaited = VERDICT;
    this.#send(TELL, new ByteWriter().word(this.#own.sumWithout(active, onlyHere)).bytes(told));
  }

  #verdict(reader: ByteReader): void {
    const agreed = reader.byte();
    reader.end();
    if (agreed > 1) reader.refuse('0 or 1', agreed);
    if (agreed === 1) this.difference = this.#told;
    else this.#next();
  }

  #again(): void {
    this.#next();
    this.#send(AGAIN, new ByteWriter());
  }

  #next(): void {
    this.#own.next();
    this.#awaited = SUMMARY;
  }

  #send(type: number, writer: ByteWriter): void {
    this.out.push({ type, body: writer.finish() });
  }
}

/** A search as it is known before any symbol comes. */
interface Known {
  /** Our keys that take part: all, or those that passed the responder's filter. */
  readonly active: HashedKeys;
  /** Number of the responder's keys that take part. */
  readonly theirs: number;
  /** The expected number of differences, or 0 if that is not known. */
  readonly difference: number;
  readonly method: ReconcileMethod;
}

/** The search for differences by symbols. */
interface Search extends Known {
  /** Our own symbols. */
  readonly cells: OwnCells;
  readonly peeler: Peeler;
  /** Number of symbols that have come, and of those that may come in all. */
  arrived: number;
  allowed: number;
  /** Number of requests for more symbols. */
  asked: number;
}
