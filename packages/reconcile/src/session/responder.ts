/**
 * The responder: answers a hello with its first symbols, or with a list if that is shorter, sends
 * more symbols as far as the initiator allows, and at the end compares the sums of the common keys.
 */

import { ReconcileError, refuse } from '../reconcile-error.ts';
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
import { decodeSortedList } from '../wire/sorted-list.ts';
import { HashList, listBits } from './hash-list.ts';
import {
  type Difference,
  FIRST_SYMBOLS,
  HELLO_EXCHANGE,
  HELLO_FIRST,
  HELLO_KEPT,
  MOST_FIRST_SYMBOLS,
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
import { SymbolSender } from './symbol-sender.ts';
import { idsOfPrefixes } from './told-ids.ts';

export class Responder implements Role {
  readonly #own: SaltedSet;
  readonly #options: RoleOptions;
  readonly #out: Message[] = [];
  #there = 0;
  #first = FIRST_SYMBOLS;
  #exchange = false;
  #difference: Difference | null = null;
  #state: Attempt | null = null;
  #symbols = 0;

  constructor(own: SaltedSet, options: RoleOptions) {
    this.#own = own;
    this.#options = options;
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

  get estimate(): null {
    return null;
  }

  receive(message: Message): void {
    const { type, body } = message;
    const state = this.#state;
    if (this.#difference !== null) unexpected(message);
    if (type === HELLO && state === null) this.#hello(new ByteReader(body, 'hello'));
    else if (state === null) unexpected(message);
    else if (type === TELL) this.#tell(new ByteReader(body, 'tell'), state);
    else if (type === AGAIN) this.#again(new ByteReader(body, 'again'));
    else if (type === MORE && state.list === null) this.#more(new ByteReader(body, 'more'), state);
    else if (type === FILTER && state.method === 'symbols')
      this.#filter(new ByteReader(body, 'filter'), state);
    else unexpected(message);
  }

  pull(): Message | null {
    const queued = this.#out.shift();
    if (queued !== undefined) return queued;
    const sender = this.#state?.sender;
    const body = sender?.piece() ?? null;
    if (!sender || body === null) return null;
    this.#symbols += body.length / (sender.idBytes + 3);
    return { type: SYMBOLS, body };
  }

  #hello(reader: ByteReader): void {
    const magic = reader.take(MAGIC.length);
    if (magic.some((byte, i) => byte !== MAGIC[i])) refuse('BLMR', Array.from(magic).join(' '), 'hello');
    const version = reader.byte();
    if (version !== VERSION)
      throw new ReconcileError('version', `expected version ${VERSION}, got ${version} (hello)`);
    const flags = reader.byte();
    if (flags > 7) refuse('flags below 8', flags, 'hello');
    const random = reader.take(RANDOM_BYTES).slice();
    this.#there = reader.varint();
    if (flags & HELLO_FIRST) this.#first = reader.varint(MOST_FIRST_SYMBOLS);
    const { kept } = this.#own.set;
    let same = false;
    let equal = false;
    if (flags & HELLO_KEPT) {
      same = reader.word() === kept?.scheme.seed;
      equal = reader.word() === kept?.sum && same && this.#there === kept.hashed.size;
    }
    reader.end();
    this.#exchange = (flags & HELLO_EXCHANGE) !== 0 && this.#options.exchange;
    this.#own.begin(random, this.#options.random, same);
    if (!equal) {
      this.#summary(false);
      return;
    }
    this.#sendSummary(new Uint8Array(0), SUMMARY_EQUAL);
    this.#difference = { onlyHere: new Uint32Array(0), onlyThereCount: 0, method: 'equal' };
  }

  /** Begins an attempt: sends the first symbols, or a list of all keys if that is shorter. */
  #summary(listWanted: boolean): void {
    const active = this.#own.hashed;
    const bits = listBits(this.#there, active.size, this.#own.attempt);
    const most = 8 * this.#first;
    // No list is shorter than this, so most lists need not be made.
    const least = (active.size * (bits - Math.log2(active.size + 1))) / 8;
    if (listWanted || least <= most) {
      const list = new HashList(active, bits);
      const body = list.encode();
      if (listWanted || body.length <= most) {
        this.#state = { active, method: 'list', list, sender: null };
        this.#sendSummary(body, SUMMARY_LIST);
        return;
      }
    }
    const sender = this.#sender(active, 5);
    this.#state = { active, method: 'symbols', list: null, sender };
    this.#symbols += this.#first;
    this.#sendSummary(sender.take(this.#first), 0);
  }

  #sendSummary(body: Uint8Array, flag: number): void {
    const kept = this.#own.scheme === this.#own.set.kept?.scheme ? SUMMARY_KEPT : 0;
    const writer = new ByteWriter().byte(flag | kept | (this.#exchange ? SUMMARY_EXCHANGE : 0));
    if (this.#own.attempt === 0) writer.bytes(this.#options.random);
    this.#out.push({ type: SUMMARY, body: writer.varint(this.#own.hashed.size).bytes(body).finish() });
  }

  #sender(keys: HashedKeys, idBytes: number): SymbolSender {
    return new SymbolSender(this.#own.blocks(keys, idBytes), idBytes, this.#options.maxSymbols);
  }

  #more(reader: ByteReader, state: Attempt): void {
    const idBytes = readIdBytes(reader, 'more');
    const end = reader.varint();
    reader.end();
    const sender = state.sender?.idBytes === idBytes ? state.sender : this.#sender(state.active, idBytes);
    sender.allow(end);
    this.#state = { ...state, sender };
  }

  #filter(reader: ByteReader, state: Attempt): void {
    const hashes = reader.byte();
    const idBytes = readIdBytes(reader, 'filter');
    const end = reader.varint();
    const bits = reader.varint();
    const filter = HashFilter.from(hashes, bits, false, reader.rest(), 'filter');
    const { words } = state.active;
    const active = selected(state.active, (k) => filter.has(words[2 * k], words[2 * k + 1]));
    // The second filter has the rate of the first one, if both have the same bits per key.
    const bitsPerKey = Math.min(bits / Math.max(1, this.#there), 2 * hashes);
    const back = HashFilter.of(active, hashes, bitsPerKey, true);
    const writer = new ByteWriter().varint(active.size).byte(hashes).varint(back.bits).bytes(back.bytes);
    this.#out.push({ type: FILTERED, body: writer.finish() });
    const sender = this.#sender(active, idBytes);
    sender.allow(end);
    this.#state = { active, method: 'filter', list: null, sender };
  }

  /** Compares the sums of the common keys: those neither told nor left out by the filter. */
  #tell(reader: ByteReader, { active, list, method, sender }: Attempt): void {
    sender?.stop();
    const sum = reader.word();
    const onlyThereCount = reader.varint();
    const { bits, values } = decodeSortedList(reader, active.size, 'tell');
    if (values.some((value, i) => i > 0 && value === values[i - 1]))
      refuse('rising numbers', 'one twice', 'tell');
    const told = list?.keysAt(values, 'tell') ?? findIds(active.words, idsOfPrefixes(values, bits), bits);
    const agreed = told.every((k) => k >= 0) && sumWithout(active, told) === sum;
    this.#out.push({ type: VERDICT, body: Uint8Array.of(agreed ? 1 : 0) });
    if (agreed) {
      const onlyHere = placesOutside(this.#own.hashed, active, told);
      this.#difference = { onlyHere, onlyThereCount, method };
    } else {
      this.#own.next();
      this.#summary(this.#own.attempt >= FIRST_LIST_ATTEMPT);
    }
  }

  #again(reader: ByteReader): void {
    const mode = reader.byte();
    reader.end();
    if (mode > 1) refuse('0 or 1', mode, 'again');
    this.#own.next();
    this.#summary(mode === 1);
  }
}

/** The current attempt. */
interface Attempt {
  /** The keys that take part: all, or those that passed the filter. */
  readonly active: HashedKeys;
  readonly method: ReconcileMethod;
  readonly list: HashList | null;
  readonly sender: SymbolSender | null;
}

function readIdBytes(reader: ByteReader, what: string): number {
  const idBytes = reader.byte();
  if (idBytes < 5 || idBytes > 8) refuse('ids of 5 to 8 bytes', idBytes, what);
  return idBytes;
}
