/**
 * The initiator: says hello, decodes the symbols of the responder, chooses how to go on, tells the
 * responder its part of the difference and waits for the verdict.
 *
 * It allows symbols ahead of their use, so that small differences take one round trip: 224 symbols
 * at once, which is enough for 130 differences. Beyond that it allows as many as there are
 * differences by the estimate, and then an eighth more each time.
 */

import { estimateDifference } from '../math/estimate-difference.ts';
import { type ExchangePlan, planExchange } from '../math/plan-exchange.ts';
import { refuse } from '../reconcile-error.ts';
import { findIds } from '../sets/find-ids.ts';
import { HashFilter } from '../sets/hash-filter.ts';
import { type HashedKeys, placesOutside, selected, sumWithout } from '../sets/hashed-keys.ts';
import { RANDOM_BYTES } from '../sets/session-salt.ts';
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
  SUMMARY,
  SYMBOLS,
  TELL,
  VERDICT,
  VERSION,
} from '../wire/message.ts';
import { decodeSortedList, encodeSortedList } from '../wire/sorted-list.ts';
import { matchList } from './hash-list.ts';
import {
  type Difference,
  FIRST_SYMBOLS,
  HELLO_EXCHANGE,
  HELLO_FIRST,
  HELLO_KEPT,
  type ReconcileMethod,
  type Role,
  type RoleOptions,
  SUMMARY_EQUAL,
  SUMMARY_EXCHANGE,
  SUMMARY_KEPT,
  SUMMARY_LIST,
  unexpected,
} from './role.ts';
import { FIRST_LIST_ATTEMPT, type SaltedSet } from './salted-set.ts';
import { SymbolReceiver } from './symbol-receiver.ts';
import { encodeToldIds } from './told-ids.ts';

/** The message that has to come next. Symbols that were on their way may come before it. */
type Awaited = typeof SUMMARY | typeof SYMBOLS | typeof FILTERED | typeof VERDICT;

/** Symbols that are allowed without looking at the estimate: fewer than 2 kB. */
const SMALL_GRANT = 224;

export class Initiator implements Role {
  readonly #own: SaltedSet;
  readonly #options: RoleOptions;
  readonly #out: Message[] = [];
  #awaited: Awaited = SUMMARY;
  #there = 0;
  #exchange = false;
  #difference: Difference | null = null;
  #search: Search | null = null;
  #plan: ExchangePlan | null = null;
  #told: Difference | null = null;
  #symbols = 0;
  #estimate: number | null = null;

  constructor(own: SaltedSet, options: RoleOptions) {
    this.#own = own;
    this.#options = options;
    this.#hello();
  }

  get difference(): Difference | null {
    return this.#difference;
  }

  get idle(): boolean {
    return this.#out.length === 0;
  }

  get exchange(): boolean {
    return this.#exchange;
  }

  get symbols(): number {
    return this.#symbols;
  }

  get estimate(): number | null {
    return this.#estimate;
  }

  pull(): Message | null {
    return this.#out.shift() ?? null;
  }

  receive(message: Message): void {
    const { type, body } = message;
    if (this.#difference !== null) unexpected(message);
    if (type === SYMBOLS) this.#receiveSymbols(message);
    else if (type !== this.#awaited) unexpected(message);
    else if (type === SUMMARY) this.#summary(new ByteReader(body, 'summary'), message);
    else if (type === FILTERED) this.#filtered(new ByteReader(body, 'filtered'), message);
    else this.#verdict(new ByteReader(body, 'verdict'));
  }

  #hello(): void {
    const { kept, source } = this.#own.set;
    const { random, exchange, firstSymbols } = this.#options;
    const first = firstSymbols === FIRST_SYMBOLS ? 0 : HELLO_FIRST;
    const writer = new ByteWriter().bytes(MAGIC).byte(VERSION);
    writer.byte((kept === null ? 0 : HELLO_KEPT) | (exchange ? HELLO_EXCHANGE : 0) | first);
    writer.bytes(random).varint(kept?.hashed.size ?? source.size);
    if (first) writer.varint(firstSymbols);
    if (kept !== null) writer.word(kept.scheme.seed).word(kept.sum);
    this.#send(HELLO, writer);
  }

  #summary(reader: ByteReader, message: Message): void {
    const flags = reader.byte();
    if (flags > 15) refuse('flags below 16', flags, 'summary');
    const keptInUse = (flags & SUMMARY_KEPT) !== 0;
    if (this.#own.attempt === 0) {
      if (keptInUse && this.#own.set.kept === null) unexpected(message);
      this.#own.begin(this.#options.random, reader.take(RANDOM_BYTES).slice(), keptInUse);
      this.#exchange = (flags & SUMMARY_EXCHANGE) !== 0;
      if (this.#exchange && !this.#options.exchange) unexpected(message);
    } else if (keptInUse) unexpected(message);
    this.#there = reader.varint();
    if (flags & SUMMARY_EQUAL) this.#equal(reader, message);
    else if (flags & SUMMARY_LIST) this.#list(reader, this.#own.hashed);
    else this.#begin(reader.rest(), this.#own.hashed);
  }

  /** Begins the search with the first symbols. */
  #begin(symbols: Uint8Array, active: HashedKeys): void {
    const receiver = new SymbolReceiver(this.#own.blocks(active, 5), 5);
    receiver.allow(this.#options.firstSymbols);
    this.#search = { receiver, active, theirs: this.#there, method: 'symbols', difference: 0 };
    this.#awaited = SYMBOLS;
    this.#append(symbols, this.#search);
  }

  /** Both sets are equal by their kept sums. The responder has compared them, and so do we. */
  #equal(reader: ByteReader, message: Message): void {
    reader.end();
    const { kept } = this.#own.set;
    if (kept === null || this.#own.scheme !== kept.scheme || this.#there !== kept.hashed.size)
      unexpected(message);
    this.#difference = { onlyHere: new Uint32Array(0), onlyThereCount: 0, method: 'equal' };
  }

  #list(reader: ByteReader, active: HashedKeys): void {
    const list = decodeSortedList(reader, this.#there, 'summary');
    if (list.values.length < this.#there) refuse(`${this.#there} keys`, list.values.length, 'summary');
    const match = matchList(list, active);
    const bits = Math.ceil(Math.log2(this.#there + 1));
    if (match === null) this.#again();
    else this.#tell(active, match.onlyHere, encodeSortedList(match.onlyThere, bits), 'list');
  }

  #receiveSymbols(message: Message): void {
    const search = this.#search;
    if (search === null) unexpected(message);
    // Symbols may be on their way when we have enough of them.
    if (this.#awaited === SYMBOLS) this.#append(message.body, search);
    else search.receiver.count(message.body);
  }

  #append(bytes: Uint8Array, search: Search): void {
    const { peeler, allowed } = search.receiver;
    const before = peeler.size;
    search.receiver.append(bytes);
    this.#symbols += peeler.size - before;
    if (peeler.done) this.#decoded(search);
    else if (peeler.stuck) this.#again();
    else if (search.difference > 0) {
      if (allowed - peeler.size <= peeler.size / 16) this.#allowMore(search);
    } else if (peeler.size === allowed) this.#choose(search);
  }

  /** Chooses how to go on after the first symbols. */
  #choose(search: Search): void {
    const { active, receiver } = search;
    search.difference = this.#estimated(search);
    const { difference } = search;
    const symbols = receiver.peeler.size;
    const plan = planExchange({ here: active.size, there: this.#there, difference, symbols });
    if (plan.bitsPerKey > 0) this.#filter(plan, active);
    else if (plan.idBytes === receiver.idBytes) this.#allowMore(search);
    else {
      const longer = new SymbolReceiver(this.#own.blocks(active, plan.idBytes), plan.idBytes);
      this.#search = { ...search, receiver: longer };
      this.#allowMore(this.#search);
    }
  }

  /** Lets the responder send more symbols, or gives up if there were far too many. */
  #allowMore(search: Search): void {
    const { receiver } = search;
    const { size } = receiver.peeler;
    if (size > mostSymbols(search.difference)) search.difference = this.#estimated(search);
    const end = size < search.difference ? firstGrant(size, search.difference) : size + (size >>> 3) + 16;
    if (size <= mostSymbols(search.difference)) receiver.allow(Math.min(end, this.#options.maxSymbols));
    if (receiver.allowed <= size) this.#again();
    else this.#send(MORE, new ByteWriter().byte(receiver.idBytes).varint(receiver.allowed));
  }

  #estimated({ receiver, active, theirs }: Search): number {
    const { peeler } = receiver;
    const rest = estimateDifference({
      size: peeler.size,
      countAt: (i) => peeler.countAt(i),
      balance: active.size - theirs - peeler.balance,
      most: active.size + theirs,
    });
    this.#estimate = Math.round(peeler.found + rest);
    return peeler.found + rest;
  }

  #filter(plan: ExchangePlan, active: HashedKeys): void {
    const filter = HashFilter.of(active, plan.hashes, plan.bitsPerKey, false);
    this.#plan = plan;
    this.#awaited = FILTERED;
    const writer = new ByteWriter().byte(filter.hashes).byte(plan.idBytes);
    writer.varint(firstGrant(0, plan.difference)).varint(filter.bits).bytes(filter.bytes);
    this.#send(FILTER, writer);
  }

  /** Keeps the keys that pass the responder's filter. The others are certainly ours alone. */
  #filtered(reader: ByteReader, message: Message): void {
    const plan = this.#plan;
    const active = this.#search?.active;
    if (plan === null || active === undefined) unexpected(message);
    const theirs = reader.varint(this.#there);
    const hashes = reader.byte();
    const bits = reader.varint();
    const filter = HashFilter.from(hashes, bits, true, reader.rest(), 'filtered');
    const { words } = active;
    const left = selected(active, (k) => filter.has(words[2 * k], words[2 * k + 1]));
    const receiver = new SymbolReceiver(this.#own.blocks(left, plan.idBytes), plan.idBytes);
    receiver.allow(firstGrant(0, plan.difference));
    this.#search = { receiver, active: left, theirs, method: 'filter', difference: plan.difference };
    this.#awaited = SYMBOLS;
  }

  /** All ids have been found: finds our keys among them, and tells the responder its own. */
  #decoded({ receiver, active, method }: Search): void {
    const { peeler, idBytes } = receiver;
    const onlyHere = findIds(active.words, peeler.ids(1), 8 * idBytes);
    const told = encodeToldIds(peeler.ids(-1), idBytes, active, onlyHere);
    // A key that is not there, or two that look alike: only another salt can help.
    if (told === null || onlyHere.some((k) => k < 0)) this.#again();
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
    const writer = new ByteWriter().word(sumWithout(active, onlyHere));
    this.#send(TELL, writer.varint(places.length).bytes(told));
  }

  #verdict(reader: ByteReader): void {
    const agreed = reader.byte();
    reader.end();
    if (agreed > 1) refuse('0 or 1', agreed, 'verdict');
    if (agreed === 1) this.#difference = this.#told;
    else {
      this.#own.next();
      this.#awaited = SUMMARY;
    }
  }

  #again(): void {
    this.#own.next();
    this.#awaited = SUMMARY;
    this.#send(AGAIN, new ByteWriter().byte(this.#own.attempt >= FIRST_LIST_ATTEMPT ? 1 : 0));
  }

  #send(type: number, writer: ByteWriter): void {
    this.#out.push({ type, body: writer.finish() });
  }
}

/** The search for differences by symbols. */
interface Search {
  readonly receiver: SymbolReceiver;
  /** Our keys that take part: all, or those that passed the responder's filter. */
  readonly active: HashedKeys;
  /** Number of the responder's keys that take part. */
  readonly theirs: number;
  readonly method: ReconcileMethod;
  /** The estimated number of differences, or 0 before the estimate. */
  difference: number;
}

/** Number of symbols to allow at first, if `size` have come. */
function firstGrant(size: number, difference: number): number {
  return Math.ceil(Math.max(difference, Math.min(SMALL_GRANT, size + 2 * difference + 30)));
}

/** Number of symbols after which decoding has certainly failed. */
function mostSymbols(difference: number): number {
  return 3 * difference + 300;
}
