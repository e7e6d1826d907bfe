/**
 * The initiator: says hello, decodes the symbols of the responder, chooses how to go on, tells the
 * responder its part of the difference and waits for the verdict.
 *
 * The hello says enough for the responder to estimate the difference, so most sessions need one
 * more round trip at most before the initiator has decoded. It asks for more symbols only when all
 * that it asked for have come. So the responder's bytes depend on the initiator's messages alone,
 * which lets a broken session be resumed.
 */

import { estimateFromSymbols } from '../math/estimate-difference.ts';
import { leftByFilter, planExchange } from '../math/plan-exchange.ts';
import { MOST_FIRST_SYMBOLS, mostSymbols, nextSymbols } from '../math/symbols-needed.ts';
import { HashFilter } from '../sets/hash-filter.ts';
import { type HashedKeys, placesOutside } from '../sets/hashed-keys.ts';
import { RANDOM_BYTES } from '../sets/session-salt.ts';
import { cellBytes } from '../symbols/cell.ts';
import { Peeler } from '../symbols/peeler.ts';
import { ByteReader } from '../wire/byte-reader.ts';
import { ByteWriter } from '../wire/byte-writer.ts';
import {
  AGAIN,
  FILTER,
  FILTERED,
  HELLO,
  MAGIC,
  type Message,
  MORE,
  nameOf,
  SUMMARY,
  SYMBOLS,
  TELL,
  VERDICT,
  VERSION,
} from '../wire/message.ts';
import { decodeSortedList, encodeSortedList } from '../wire/sorted-list.ts';
import { matchList } from './hash-list.ts';
import type { OwnCells } from './own-cells.ts';
import {
  type Difference,
  EQUAL,
  FLOWS,
  HELLO_EAGER,
  KEPT,
  type ReconcileMethod,
  type Role,
  type RoleOptions,
  SUMMARY_EQUAL,
  SUMMARY_LIST,
  SUMMARY_WIDTH,
  unexpected,
} from './role.ts';
import type { SaltedSet } from './salted-set.ts';
import { encodeToldIds, idsOfPrefixes } from './told-ids.ts';

/** Counters in a hello, a byte each. Round trips are worth more of them than bytes. */
const COUNTERS = 16;
const EAGER_COUNTERS = 64;

export class Initiator implements Role {
  readonly #own: SaltedSet;
  readonly #options: RoleOptions;
  readonly #out: Message[] = [];
  #greeted = false;
  /** The message that has to come next. Symbols that were on their way may come before it. */
  #awaited = SUMMARY;
  #there = 0;
  #search: Search | null = null;
  #filter: HashFilter | null = null;
  #told: Difference | null = null;
  difference: Difference | null = null;
  flows = 0;
  symbols = 0;
  estimate: number | null = null;

  constructor(own: SaltedSet, options: RoleOptions) {
    this.#own = own;
    this.#options = options;
  }

  get idle(): boolean {
    return this.#out.length === 0;
  }

  pull(): Message | null {
    if (!this.#greeted) this.#hello();
    return this.#out.shift() ?? null;
  }

  receive(message: Message): void {
    const { type, body } = message;
    const reader = new ByteReader(body, nameOf(type));
    if (this.difference !== null || !this.#greeted) unexpected(message);
    if (type === SYMBOLS && this.#search !== null) this.#append(reader, this.#search);
    else if (type !== this.#awaited) unexpected(message);
    else if (type === SUMMARY) this.#summary(reader, message);
    else if (type === FILTERED) this.#filtered(reader, message);
    else this.#verdict(reader);
  }

  #hello(): void {
    this.#greeted = true;
    const { kept } = this.#own.set;
    const { random, flows, eager } = this.#options;
    this.#own.begin(random, kept !== null);
    const { hashed, sum } = this.#own;
    const writer = new ByteWriter().bytes(MAGIC).byte(VERSION);
    writer.byte((kept === null ? 0 : KEPT) | flows | (eager ? HELLO_EAGER : 0));
    writer.bytes(random).varint(hashed.size).word(sum);
    if (kept !== null) writer.word(kept.scheme.seed);
    this.#send(HELLO, writer.bytes(this.#own.counters(eager ? EAGER_COUNTERS : COUNTERS)));
  }

  #summary(reader: ByteReader, message: Message): void {
    const flags = reader.byte();
    const own = this.#own;
    const { flows, random } = this.#options;
    if (flags >= 4 * SUMMARY_WIDTH) reader.refuse('flags below 128', flags);
    if (own.attempt === 0) {
      this.flows = flags & FLOWS;
      if (this.flows & ~flows) unexpected(message);
    } else if (own.attempt === 1) own.ofResponder = reader.take(RANDOM_BYTES).slice();
    if (flags & SUMMARY_EQUAL) {
      if (own.attempt > 0) unexpected(message);
      reader.end();
      this.difference = EQUAL;
      return;
    }
    if (own.keptInUse && !(flags & KEPT)) own.begin(random, false);
    else if (!own.keptInUse && flags & KEPT) unexpected(message);
    this.#there = reader.varint();
    if (flags & SUMMARY_LIST) this.#list(reader, own.hashed);
    else this.#begin(reader, 5 + Math.floor(flags / SUMMARY_WIDTH), own.hashed);
  }

  /** Begins the search with the first symbols. */
  #begin(reader: ByteReader, idBytes: number, active: HashedKeys): void {
    const search = this.#searchIn(active, idBytes, 'symbols');
    search.difference = reader.varint();
    search.theirs = this.#there;
    this.#start(search, reader);
  }

  #searchIn(active: HashedKeys, idBytes: number, method: ReconcileMethod): Search {
    const cells = this.#own.cells(active, idBytes);
    const peeler = new Peeler(idBytes);
    return { cells, peeler, arrived: 0, allowed: 0, active, theirs: 0, method, difference: 0, asked: 0 };
  }

  #start(search: Search, reader: ByteReader): void {
    this.#search = search;
    this.#awaited = SYMBOLS;
    search.allowed = Math.min(reader.left / cellBytes(search.cells.idBytes), MOST_FIRST_SYMBOLS);
    this.#append(reader, search);
  }

  #list(reader: ByteReader, active: HashedKeys): void {
    const list = decodeSortedList(reader, this.#there);
    if (list.values.length < this.#there) reader.refuse(`${this.#there} keys`, list.values.length);
    const found = this.#own.find(active, idsOfPrefixes(list.values, list.bits), list.bits);
    const match = matchList(found, active.size);
    const bits = Math.ceil(Math.log2(this.#there + 1));
    if (match === null) this.#again();
    else this.#tell(active, match.onlyHere, encodeSortedList(match.onlyThere, bits), 'list');
  }

  /** Takes symbols. More than allowed are an error, so their memory is bounded by our own wish. */
  #append(reader: ByteReader, search: Search): void {
    const { peeler, allowed, cells } = search;
    const bytes = reader.rest();
    const count = bytes.length / cellBytes(cells.idBytes);
    search.arrived += count;
    if (!Number.isInteger(count) || search.arrived > allowed)
      reader.refuse(`${allowed} whole symbols`, search.arrived);
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
    const { active, method, theirs } = search;
    const { size } = search.peeler;
    const { eager, maxSymbols } = this.#options;
    const difference = this.#estimated(search);
    const plan = planExchange(active.size, theirs, difference, size);
    if (plan.bitsPerKey > 0 && method === 'symbols' && size <= MOST_FIRST_SYMBOLS) {
      this.#sendFilter(active, plan.bitsPerKey, plan.idBytes);
      return;
    }
    search.allowed = Math.min(nextSymbols(size, difference, eager, search.asked++), maxSymbols);
    if (size > mostSymbols(difference) || search.allowed <= size) this.#again();
    else this.#send(MORE, new ByteWriter().varint(search.allowed));
  }

  #estimated(search: Search): number {
    const { peeler } = search;
    const { found, size } = peeler;
    const balance = search.active.size - search.theirs - peeler.balance;
    const prior = Math.max(0, search.difference - found);
    const rest = estimateFromSymbols(size, (i) => peeler.countAt(i), balance, prior);
    this.estimate = Math.round(found + rest);
    return found + rest;
  }

  #sendFilter(active: HashedKeys, bitsPerKey: number, idBytes: number): void {
    const filter = HashFilter.of(active, bitsPerKey, false);
    this.#filter = filter;
    this.#search = this.#searchIn(active, idBytes, 'filter');
    this.#awaited = FILTERED;
    this.#send(FILTER, filter.write(new ByteWriter().byte(idBytes)));
  }

  /** Keeps the keys that pass the responder's filter. The others are certainly ours alone. */
  #filtered(reader: ByteReader, message: Message): void {
    const sent = this.#filter;
    const search = this.#search;
    if (sent === null || search === null) unexpected(message);
    const { active, cells } = search;
    const theirs = reader.varint(this.#there);
    const left = HashFilter.from(reader, true).passing(active);
    const next = this.#searchIn(left, cells.idBytes, 'filter');
    next.theirs = theirs;
    next.difference = leftByFilter(sent.hashes, sent.bits, active.size, this.#there, theirs);
    this.#start(next, reader);
  }

  /** All ids have been found: finds our keys among them, and tells the responder its own. */
  #decoded({ peeler, cells, active, method }: Search): void {
    const find = (ids: Int32Array, bits: number) => this.#own.find(active, ids, bits);
    const onlyHere = find(peeler.ids(1), 8 * cells.idBytes);
    const ours = new Set(onlyHere);
    const told = encodeToldIds(peeler.ids(-1), cells.idBytes, active.size, ours, find);
    // A key that is not there, or two that look alike: only another salt can help.
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
    const writer = new ByteWriter().word(this.#own.sumWithout(active, onlyHere));
    this.#send(TELL, writer.varint(places.length).bytes(told));
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
    this.#out.push({ type, body: writer.finish() });
  }
}

/** The search for differences by symbols. */
interface Search {
  /** Our own symbols. */
  readonly cells: OwnCells;
  readonly peeler: Peeler;
  /** Number of symbols that have come, and of those that may come in all. */
  arrived: number;
  allowed: number;
  /** Our keys that take part: all, or those that passed the responder's filter. */
  readonly active: HashedKeys;
  /** Number of the responder's keys that take part. */
  theirs: number;
  readonly method: ReconcileMethod;
  /** The number of differences as expected before any symbol came, or 0 if that is not known. */
  difference: number;
  /** Number of requests for more symbols. */
  asked: number;
}
