/**
 * The responder: answers a hello with its first symbols, or with a list if that is shorter, sends
 * more symbols as far as the initiator allows, and at the end compares the sums of the common keys.
 *
 * The hello has counters of the initiator's keys. From these the responder estimates the
 * difference, and sends as many symbols as that takes, or none if a filter should come first.
 */

import { estimateFromCounters } from '../math/estimate-difference.ts';
import { leftByFilter, planExchange } from '../math/plan-exchange.ts';
import { firstSymbols } from '../math/symbols-needed.ts';
import { ReconcileError } from '../reconcile-error.ts';
import { MOST_COUNTERS } from '../sets/hash-counters.ts';
import { HashFilter } from '../sets/hash-filter.ts';
import { type HashedKeys, placesOutside } from '../sets/hashed-keys.ts';
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
  nameOf,
  SUMMARY,
  SYMBOLS,
  TELL,
  VERDICT,
  VERSION,
} from '../wire/message.ts';
import { decodeSortedList } from '../wire/sorted-list.ts';
import { type HashList, hashList, listBits } from './hash-list.ts';
import type { OwnCells } from './own-cells.ts';
import {
  BLIND_ESTIMATE,
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
import { FIRST_LIST_ATTEMPT, type SaltedSet } from './salted-set.ts';
import { idsOfPrefixes } from './told-ids.ts';

export class Responder implements Role {
  readonly #own: SaltedSet;
  readonly #options: RoleOptions;
  readonly #out: Message[] = [];
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

  get idle(): boolean {
    return this.#out.length === 0;
  }

  receive(message: Message): void {
    const { type, body } = message;
    const state = this.#state;
    const reader = new ByteReader(body, nameOf(type));
    // All symbols that were asked for go first, so that our bytes depend on the messages alone.
    for (let piece = this.#piece(); piece !== null; piece = this.#piece()) this.#out.push(piece);
    if (this.difference !== null) unexpected(message);
    if (type === HELLO && state === null) this.#hello(reader);
    else if (state === null) unexpected(message);
    else if (type === TELL) this.#tell(reader, state);
    else if (type === AGAIN) this.#next(reader);
    else if (type === MORE && state.list === null) this.#more(reader, state);
    else if (type === FILTER && state.method === 'symbols') this.#filter(reader, state);
    else unexpected(message);
  }

  pull(): Message | null {
    return this.#out.shift() ?? this.#piece();
  }

  /** The next symbols that the initiator has asked for, at most 32 kB of them. */
  #piece(): Message | null {
    const state = this.#state;
    const left = state === null ? 0 : state.allowed - state.sent;
    if (state === null || left <= 0) return null;
    return { type: SYMBOLS, body: this.#take(state, Math.min(left, 4096)) };
  }

  /** The next `count` symbols. */
  #take(state: Attempt, count: number): Uint8Array {
    const from = state.sent;
    state.sent += count;
    this.symbols += count;
    return state.cells.encode(from, state.sent, state.allowed);
  }

  #attempt(active: HashedKeys, idBytes: number, method: ReconcileMethod): Attempt {
    const cells = this.#own.cells(active, idBytes);
    this.#state = { active, method, list: null, cells, sent: 0, allowed: 0 };
    return this.#state;
  }

  #hello(reader: ByteReader): void {
    const magic = reader.take(MAGIC.length);
    if (magic.some((byte, i) => byte !== MAGIC[i])) reader.refuse('BLMR', Array.from(magic).join(' '));
    const version = reader.byte();
    if (version !== VERSION)
      throw new ReconcileError('version', `expected version ${VERSION}, got ${version} (hello)`);
    const flags = reader.byte();
    if (flags >= 2 * HELLO_EAGER) reader.refuse('flags below 16', flags);
    const random = reader.take(RANDOM_BYTES).slice();
    this.#there = reader.varint();
    const sum = reader.word();
    const own = this.#own;
    const theirKey = flags & KEPT ? reader.word() : null;
    const same = theirKey !== null && theirKey === own.set.kept?.scheme.seed;
    this.#eager = (flags & HELLO_EAGER) !== 0;
    this.flows = flags & FLOWS & this.#options.flows;
    own.begin(random, same);
    const { hashed } = own;
    // The sum and the counters are under a key that we may not have.
    if (theirKey === null || same) {
      if (this.#there === hashed.size && sum === own.sum) {
        this.#send(SUMMARY, Uint8Array.of(this.#flags(SUMMARY_EQUAL)));
        this.difference = EQUAL;
        return;
      }
      const theirs = reader.rest();
      const count = theirs.length;
      if (count > MOST_COUNTERS || count & (count - 1)) reader.refuse('2^k counters, at most 64', count);
      if (count > 0)
        this.estimate = estimateFromCounters(own.counters(count), theirs, hashed.size, this.#there);
    }
    this.#summary();
  }

  /** Begins an attempt: sends the first symbols, or a list of all keys if that is shorter. */
  #summary(): void {
    const own = this.#own;
    const active = own.hashed;
    const { size } = active;
    const difference = this.estimate ?? BLIND_ESTIMATE;
    const plan = planExchange(this.#there, size, difference, 0);
    const bits = listBits(this.#there, size, own.attempt);
    const listBytes = (size * (bits - Math.log2(size + 1) + 1.5)) / 8;
    if (own.attempt >= FIRST_LIST_ATTEMPT || listBytes <= plan.bytes) {
      const list = hashList(active, bits);
      this.#attempt(active, 5, 'list').list = list;
      this.#sendSummary(SUMMARY_LIST, list.body);
      return;
    }
    const state = this.#attempt(active, plan.idBytes, 'symbols');
    const count = plan.bitsPerKey > 0 ? 0 : firstSymbols(difference, this.#eager, false);
    const writer = new ByteWriter().varint(this.estimate ?? 0).bytes(this.#take(state, count));
    this.#sendSummary(SUMMARY_WIDTH * (plan.idBytes - 5), writer.finish());
  }

  #flags(flags: number): number {
    return flags | this.flows | (this.#own.keptInUse ? KEPT : 0);
  }

  #sendSummary(flags: number, body: Uint8Array): void {
    const own = this.#own;
    const writer = new ByteWriter().byte(this.#flags(flags));
    if (own.attempt === 1) writer.bytes(this.#options.random);
    this.#send(SUMMARY, writer.varint(own.hashed.size).bytes(body).finish());
  }

  #more(reader: ByteReader, state: Attempt): void {
    const end = reader.varint();
    reader.end();
    const { maxSymbols } = this.#options;
    if (end > maxSymbols)
      throw new ReconcileError('limit', `expected at most ${maxSymbols} symbols, got a request for ${end}`);
    state.allowed = Math.max(state.allowed, end);
  }

  #filter(reader: ByteReader, state: Attempt): void {
    const idBytes = reader.byte();
    if (idBytes < 5 || idBytes > 8) reader.refuse('ids of 5 to 8 bytes', idBytes);
    const filter = HashFilter.from(reader, false);
    reader.end();
    const { bits, hashes } = filter;
    const active = filter.passing(state.active);
    // The second filter has the rate of the first one, if both have the same bits per key.
    const back = HashFilter.of(active, Math.min(bits / Math.max(1, this.#there), 2 * hashes), true);
    const next = this.#attempt(active, idBytes, 'filter');
    const left = leftByFilter(hashes, bits, this.#there, state.active.size, active.size);
    const writer = back.write(new ByteWriter().varint(active.size));
    this.#send(FILTERED, writer.bytes(this.#take(next, firstSymbols(left, this.#eager, true))).finish());
  }

  /** Compares the sums of the common keys: those neither told nor left out by the filter. */
  #tell(reader: ByteReader, state: Attempt): void {
    const { active, list, method } = state;
    const sum = reader.word();
    const onlyThereCount = reader.varint();
    const { bits, values } = decodeSortedList(reader, active.size);
    if (values.some((value, i) => i > 0 && value === values[i - 1]))
      reader.refuse('rising numbers', 'one twice');
    const told = list?.keysAt(values, reader) ?? this.#own.find(active, idsOfPrefixes(values, bits), bits);
    const agreed = told.every((k) => k >= 0) && this.#own.sumWithout(active, told) === sum;
    this.#send(VERDICT, Uint8Array.of(agreed ? 1 : 0));
    if (agreed) {
      const onlyHere = placesOutside(this.#own.hashed, active, told);
      this.difference = { onlyHere, onlyThereCount, method };
    } else {
      this.#next(reader);
    }
  }

  #send(type: number, body: Uint8Array): void {
    this.#out.push({ type, body });
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
  readonly cells: OwnCells;
  /** Number of symbols that were sent, and of those that the initiator has asked for. */
  sent: number;
  allowed: number;
}
