/**
 * The responder: answers a hello with its first symbols, or with a list if that is shorter, sends
 * more symbols as far as the initiator allows, and at the end compares the sums of the common keys.
 *
 * The hello has a sketch of the initiator's keys. From it the responder estimates the
 * difference, and sends as many symbols as that takes, or none if a filter should come first.
 */

import { estimateFromSketches } from '../math/estimate-difference.ts';
import { leftByFilter, planExchange, widerCell } from '../math/plan-exchange.ts';
import {
  BLIND_ESTIMATE,
  COUNTERS_PAY,
  firstSymbols,
  LEAST_UNSEEN,
  MOST_FIRST_SYMBOLS,
  MOST_REQUESTS,
  symbolsInSummary,
} from '../math/symbols-needed.ts';
import { checkLimit, ReconcileError } from '../reconcile-error.ts';
import { COARSE, WHOLE } from '../sets/hash-counters.ts';
import { HashFilter } from '../sets/hash-filter.ts';
import { type HashedKeys, placesOutside } from '../sets/hashed-keys.ts';
import { encodeCells, LEAST_WIDTH, LONG_TAIL, MOST_WIDTH } from '../symbols/cell.ts';
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
import { decodeSortedList, hasTwice } from '../wire/sorted-list.ts';
import { type HashList, hashList, listBits } from './hash-list.ts';
import type { OwnCells } from './own-cells.ts';
import { type Difference, EQUAL, type ReconcileMethod, type Role, type RoleOptions } from './role.ts';
import { FIRST_LIST_ATTEMPT, type SaltedSet } from './salted-set.ts';
import { idsOfPrefixes } from './told-ids.ts';

export class Responder implements Role {
  readonly #own: SaltedSet;
  readonly #options: RoleOptions;
  readonly out: Message[] = [];
  #there = 0;
  #eager = false;
  #state: Attempt | null = null;
  difference: Difference | null = null;
  flows = 0;
  symbols = 0;
  estimate: number | null = null;

  constructor(own: SaltedSet, options: RoleOptions) {
    this.#own = own;
    this.#options = options;
  }

  receive(message: Message): void {
    const { type } = message;
    const state = this.#state;
    const reader = readerOf(message);
    // All symbols that were asked for go first, so that our bytes depend on the messages alone.
    for (let piece = this.#piece(); piece !== null; piece = this.#piece()) this.out.push(piece);
    if (this.difference !== null) reader.unexpected();
    if (type === HELLO && state === null) this.#hello(reader);
    else if (state === null) reader.unexpected();
    else if (type === TELL) this.#tell(reader, state);
    else if (type === AGAIN) this.#next(reader);
    else if (type === MORE && state.list === null) this.#more(reader, state);
    else if (type === FILTER && state.method === 'symbols') this.#filter(reader, state);
    else reader.unexpected();
  }

  pull(): Message | null {
    return this.out.shift() ?? this.#piece();
  }

  /** The next symbols that the initiator has asked for, at most 32 kB of them. */
  #piece(): Message | null {
    const state = this.#state;
    const left = state === null ? 0 : state.allowed - state.sent;
    if (state === null || left <= 0) return null;
    return { type: SYMBOLS, body: this.#take(state, Math.min(left, MOST_FIRST_SYMBOLS)) };
  }

  /** The next `count` symbols. */
  #take(state: Attempt, count: number): Uint8Array {
    const from = state.sent;
    state.sent += count;
    this.symbols += count;
    return encodeCells(state.cells.range(from, state.sent, state.allowed), count, state.cells.width);
  }

  #attempt(active: HashedKeys, width: number, method: ReconcileMethod): Attempt {
    const cells = this.#own.cells(active, width);
    this.#state = { active, method, list: null, equal: false, cells, sent: 0, allowed: 0, asked: 0 };
    return this.#state;
  }

  #hello(reader: ByteReader): void {
    const magic = reader.take(MAGIC.length);
    if (magic.join() !== MAGIC.join()) reader.refuse('BLMR', magic);
    const version = reader.byte();
    if (version !== VERSION)
      throw new ReconcileError('version', `expected version 1, got ${version} (hello)`);
    const flags = reader.byte();
    if (flags >= 2 * HELLO_EAGER) reader.refuse('known flags', flags);
    const random = reader.take(RANDOM_BYTES).slice();
    this.#there = reader.varint();
    const own = this.#own;
    const theirKey = flags & KEPT ? reader.word() : null;
    const same = theirKey !== null && theirKey === own.set.kept?.scheme.seed;
    this.#eager = (flags & HELLO_EAGER) !== 0;
    this.flows = flags & FLOWS & this.#options.flows;
    own.begin(random, same);
    const { hashed } = own;
    const theirs = reader.take(this.#eager ? WHOLE : COARSE);
    reader.end();
    // The sketch is under a key that we may not have.
    if (theirKey === null || same)
      this.estimate = estimateFromSketches(own.sketch(theirs.length), theirs, hashed.size, this.#there);
    this.#summary();
  }

  /**
   * Begins an attempt: sends the first symbols, or a list of all keys if that is shorter. If
   * nothing seems to differ, it sends the sum of all hashes, for the initiator to agree.
   */
  #summary(): void {
    const own = this.#own;
    const active = own.hashed;
    const { size } = active;
    const equal = this.estimate === 0 && own.attempt === 0;
    const difference = (this.estimate ?? BLIND_ESTIMATE) || LEAST_UNSEEN;
    const plan = planExchange(this.#there, size, difference, 0);
    const bits = listBits(this.#there, size, own.attempt);
    const listBytes = (size * (bits - Math.log2(size + 1) + 1.5)) / 8;
    if (own.attempt >= FIRST_LIST_ATTEMPT || (listBytes <= plan.bytes && !equal)) {
      const list = hashList(active, bits);
      this.#attempt(active, LEAST_WIDTH, 'list').list = list;
      this.#sendSummary(SUMMARY_LIST, this.#number().bytes(list.body));
      return;
    }
    // Numbers modulo 16 say too little if the estimate is poor. Kept symbols have ids of 5 bytes.
    const poor = this.estimate === null || plan.bitsPerKey > 0;
    const least = poor ? LONG_TAIL : own.keptInUse ? LONG_TAIL - 1 : LEAST_WIDTH;
    const width = widerCell(Math.max(least, plan.width), own.attempt);
    const state = this.#attempt(active, width, 'symbols');
    let form = (width - LEAST_WIDTH) << SUMMARY_SHIFT;
    let writer = this.#number().varint(this.estimate ?? 0);
    state.equal = equal;
    if (equal) {
      form |= SUMMARY_EQUAL;
      writer = new ByteWriter().word(own.sum);
    } else if (!plan.bitsPerKey) writer.bytes(this.#take(state, symbolsInSummary(difference, this.#eager)));
    else if (plan.bytes >= COUNTERS_PAY) {
      // A filter comes first, and its size needs a better estimate than ours.
      form |= SUMMARY_COUNTERS;
      writer.bytes(own.counters);
    }
    this.#sendSummary(form, writer);
  }

  /** The number of our keys, as the initiator reads it. */
  #number(): ByteWriter {
    const more = this.#own.hashed.size - this.#there;
    return new ByteWriter().varint(more < 0 ? -2 * more - 1 : 2 * more);
  }

  #sendSummary(flags: number, body: ByteWriter): void {
    const { attempt, keptInUse } = this.#own;
    const writer = new ByteWriter().byte(flags | this.flows | (keptInUse ? KEPT : 0));
    if (attempt === 1) writer.bytes(this.#options.random);
    this.#send(SUMMARY, writer.bytes(body.finish()).finish());
  }

  #more(reader: ByteReader, state: Attempt): void {
    const end = reader.varint();
    reader.end();
    checkLimit(MOST_REQUESTS, ++state.asked, 'requests');
    checkLimit(this.#options.maxSymbols, end, 'symbols');
    state.allowed = Math.max(state.allowed, end);
  }

  #filter(reader: ByteReader, state: Attempt): void {
    const width = reader.byte();
    if (width < LEAST_WIDTH || width > MOST_WIDTH) reader.refuse('cells of 5 to 11 bytes', width);
    const filter = HashFilter.from(reader, false);
    reader.end();
    const { bits, hashes } = filter;
    const active = filter.passing(state.active);
    // The second filter has the rate of the first one, if both have the same bits per key.
    const back = HashFilter.of(active, Math.min(bits / Math.max(1, this.#there), 2 * hashes), true);
    const next = this.#attempt(active, width, 'filter');
    const left = leftByFilter(hashes, bits, this.#there, state.active.size, active.size);
    const writer = back.write(new ByteWriter().varint(active.size).varint(Math.round(left)));
    // The filter has told more about the rest than a sketch tells, so there is less to hold back.
    this.#send(FILTERED, writer.bytes(this.#take(next, firstSymbols(1.2 * left, this.#eager))).finish());
  }

  /** Compares the sums of the common keys: those neither told nor left out by the filter. */
  #tell(reader: ByteReader, state: Attempt): void {
    const { active, list, method } = state;
    if (state.equal && reader.left === 0) {
      this.difference = EQUAL;
      return;
    }
    const sum = reader.word();
    const { bits, values } = decodeSortedList(reader, active.size);
    if (hasTwice(values)) reader.refuse('rising numbers', 'one twice');
    const told = list?.keysAt(values, reader) ?? this.#own.find(active, idsOfPrefixes(values, bits), bits);
    const onlyThereCount = this.#there - (active.size - told.length);
    const agreed =
      onlyThereCount >= 0 && told.every((k) => k >= 0) && this.#own.sumWithout(active, told) === sum;
    this.#send(VERDICT, Uint8Array.of(agreed ? 1 : 0));
    if (agreed) {
      const onlyHere = placesOutside(this.#own.hashed, active, told);
      this.difference = { onlyHere, onlyThereCount, method };
    } else {
      this.#next(reader);
    }
  }

  #send(type: number, body: Uint8Array): void {
    this.out.push({ type, body });
  }

  /** Goes to the next attempt. `reader` has read the message that asks for it. */
  #next(reader: ByteReader): void {
    reader.end();
    this.#own.next();
    this.#own.ofResponder = this.#options.random;
    this.#summary();
  }
}

/** The current attempt. */
interface Attempt {
  /** The keys that take part: all, or those that passed the filter. */
  readonly active: HashedKeys;
  readonly method: ReconcileMethod;
  list: HashList | null;
  /** True if we have said that nothing seems to differ. */
  equal: boolean;
  readonly cells: OwnCells;
  /** Number of symbols that were sent, and of those that the initiator has asked for. */
  sent: number;
  allowed: number;
  /** Number of requests for more symbols. */
  asked: number;
}
