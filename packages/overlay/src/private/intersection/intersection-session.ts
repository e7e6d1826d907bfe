/**
 * Private set intersection without I/O of its own: bytes go in by `receive` and come out by `pull`.
 * Two sides learn which of their keys they have in common, or only how many. About the other keys
 * they learn only how many there are, and that number can be padded.
 *
 * Diffie-Hellman: the initiator has a secret scalar a, the responder b, both for one session. The
 * initiator sends its keys as points H(x)^a, the responder its own as H(y)^b, and each blinds the
 * other's points again. H(x)^ab is equal on both sides exactly for equal keys, and a point with one
 * scalar tells nothing to a side that does not have that scalar. docs/spec/private-intersection.md
 * has the bytes, and says what an honest side and a malicious one can learn.
 *
 * We preferred this protocol to newer and faster ones (oblivious transfer, oblivious key-value
 * stores) because it needs one primitive and three messages, and because a thousand keys take less
 * than a second. It breaks down at a million keys, which take minutes of CPU time on each side.
 */

import { IntersectionError, refuse } from './intersection-error.ts';
import {
  answerBytes,
  decodeHello,
  encodeHello,
  HELLO_BYTES,
  type Hello,
  MOST_KEYS,
  type Revealed,
  type Role,
  tagBytes,
} from './messages.ts';
import { OwnPoints } from './own-points.ts';
import { PeerPoints } from './peer-points.ts';
import { ELEMENT_BYTES, type PrimeOrderGroup } from './prime-order-group.ts';
import type { RandomSource } from './shuffle.ts';
import { decodeSortedTags, encodeSortedTags, sortedTagsBytes, toNumber } from './sorted-tags.ts';

export interface IntersectionOptions {
  /** One side is the initiator, the other one the responder. */
  readonly role: Role;
  /** The group, such as `await ristretto255()` of `@bloomery/overlay/private/sodium`. */
  readonly group: PrimeOrderGroup;
  /** Gives cryptographic randomness. */
  readonly random: RandomSource;
  /** 'keys' (default) reveals the common keys to both sides, 'count' only how many there are. */
  readonly reveals?: Revealed;
  /** Adds dummies, so that the peer learns this number as the size. Default: the true size. */
  readonly padTo?: number;
  /** Up to 65,535 bytes that both sides have, such as a secret of the pair. Default: none. */
  readonly context?: Uint8Array;
  /** The most keys that the peer may bring, and so the most guesses. Default 100,000. */
  readonly maxPeerKeys?: number;
}

export interface IntersectionResult {
  /**
   * Keys of this side that the peer has as well, in the order in which they were given, or null if
   * they were only counted.
   */
  readonly common: readonly Uint8Array[] | null;
  readonly commonCount: number;
  /** The number of points of the peer, dummies included. */
  readonly peerSize: number;
}

/** Points in one piece of `pull`: about 15 ms of work. */
const PIECE = 64;

type Reading = 'hello' | 'points' | 'tags' | 'answer' | 'nothing';

export class IntersectionSession {
  readonly #group: PrimeOrderGroup;
  readonly #scalar: Uint8Array;
  readonly #own: Hello;
  readonly #maxPeerKeys: number;
  readonly #keys: readonly Uint8Array[];
  readonly #points: OwnPoints;
  readonly #queue: (() => Uint8Array | null)[] = [];
  #reading: Reading = 'hello';
  #field = new Uint8Array(HELLO_BYTES);
  #filled = 0;
  #peerCount = 0;
  #peer: PeerPoints | null = null;
  #result: IntersectionResult | null = null;
  #error: unknown = null;

  constructor(keys: Iterable<string | Uint8Array>, options: IntersectionOptions) {
    const { role, group, random, reveals = 'keys', padTo, context = new Uint8Array() } = options;
    check('role', role, ['initiator', 'responder']);
    check('reveals', reveals, ['keys', 'count']);
    if (!(context instanceof Uint8Array) || context.length > 0xffff) {
      throw new RangeError('Cannot intersect: expected a context of at most 65535 bytes, got more or none');
    }
    this.#maxPeerKeys = checkCount('maxPeerKeys', options.maxPeerKeys ?? 100_000, 0);
    this.#keys = distinctKeys(keys);
    const count = checkCount('padTo', padTo ?? this.#keys.length, this.#keys.length);
    this.#group = group;
    this.#scalar = group.scalarFrom(random(64));
    this.#own = { role, reveals, count };
    this.#points = new OwnPoints(this.#keys, { group, random, scalar: this.#scalar, context, count });
    if (role === 'initiator') this.#sendSet();
  }

  /** The next bytes to send, or null if none are ready. */
  pull(): Uint8Array | null {
    if (this.#error !== null) throw this.#error;
    for (;;) {
      const [next] = this.#queue;
      if (next === undefined) return null;
      const bytes = next();
      if (bytes !== null && bytes.length > 0) return bytes;
      this.#queue.shift();
    }
  }

  /** Takes bytes from the peer, in pieces of any size. After an error the session is over. */
  receive(bytes: Uint8Array): void {
    if (this.#error !== null) throw this.#error;
    try {
      for (let at = 0; at < bytes.length; ) {
        if (this.#reading === 'nothing') {
          throw new IntersectionError('unexpected', `expected no more bytes, got ${bytes.length - at}`);
        }
        const part = bytes.subarray(at, at + this.#field.length - this.#filled);
        this.#field.set(part, this.#filled);
        this.#filled += part.length;
        at += part.length;
        if (this.#filled === this.#field.length) this.#take(this.#field);
      }
    } catch (error) {
      this.#error = error;
      throw error;
    }
  }

  /** Whether all bytes were received and pulled. */
  get done(): boolean {
    return this.#result !== null && this.#queue.length === 0;
  }

  /** Whether the peer must send more. */
  get expects(): boolean {
    return this.#reading !== 'nothing';
  }

  get result(): IntersectionResult {
    if (this.#result === null) {
      throw new IntersectionError(
        'unexpected',
        'expected the end of the session, got a question for its result',
      );
    }
    return this.#result;
  }

  #sendSet(): void {
    let first: Uint8Array | null = encodeHello(this.#own);
    this.#queue.push(() => {
      const hello = first;
      first = null;
      return hello ?? this.#points.take(PIECE);
    });
  }

  #send(bytes: Uint8Array): void {
    let rest: Uint8Array | null = bytes;
    this.#queue.push(() => {
      const sent = rest;
      rest = null;
      return sent;
    });
  }

  #expect(reading: Reading, length: number): void {
    this.#reading = reading;
    this.#field = new Uint8Array(length);
    this.#filled = 0;
    if (length === 0 && reading !== 'nothing') this.#take(this.#field);
  }

  /** Takes a whole field: the hello, one point, all tags, or the answer. */
  #take(field: Uint8Array): void {
    if (this.#reading === 'hello') this.#takeHello(field);
    else if (this.#reading === 'points') this.#takePoint(field);
    else if (this.#reading === 'tags') this.#takeTags(field);
    else this.#takeAnswer(field);
  }

  #takeHello(field: Uint8Array): void {
    this.#peerCount = decodeHello(field, this.#own, this.#maxPeerKeys).count;
    this.#peer = new PeerPoints(this.#group, this.#scalar, this.#tagBytes);
    this.#expectPoint();
  }

  #takePoint(field: Uint8Array): void {
    this.#peer?.receive(field);
    this.#expectPoint();
  }

  #expectPoint(): void {
    const { tags } = this.#peer as PeerPoints;
    const { role, reveals, count } = this.#own;
    if (tags.length < this.#peerCount) this.#expect('points', ELEMENT_BYTES);
    else if (role === 'initiator') {
      this.#expect(
        'tags',
        reveals === 'keys' ? count * this.#tagBytes : sortedTagsBytes(count, this.#tagBytes),
      );
    } else {
      this.#sendSet();
      this.#send(reveals === 'keys' ? concat(tags, this.#tagBytes) : encodeSortedTags(tags, this.#tagBytes));
      this.#expect('answer', answerBytes(reveals, count));
    }
  }

  /** The initiator compares its own tags with those of the responder's points, and answers. */
  #takeTags(field: Uint8Array): void {
    const { reveals, count } = this.#own;
    const { tags: peerTags } = this.#peer as PeerPoints;
    const size = this.#tagBytes;
    const own = new Map<bigint, number>();
    if (reveals === 'keys') {
      for (let place = 0; place < count; place++) {
        own.set(toNumber(field.subarray(place * size, (place + 1) * size)), place);
      }
      if (own.size < count) refuse('different tags', 'equal ones', 'the tags');
    } else {
      for (const [i, tag] of decodeSortedTags(field, count, size).entries()) own.set(tag, i);
    }
    const answer = new Uint8Array(answerBytes(reveals, this.#peerCount));
    const places: number[] = [];
    peerTags.forEach((tag, j) => {
      const place = own.get(toNumber(tag));
      if (place === undefined) return;
      places.push(place);
      if (reveals === 'keys') answer[j >>> 3] |= 1 << (j & 7);
    });
    if (reveals === 'count') new DataView(answer.buffer).setUint32(0, places.length, true);
    if (answer.length > 0) this.#send(answer);
    this.#end(places);
  }

  /** The responder reads which of its points are common. */
  #takeAnswer(field: Uint8Array): void {
    const { reveals, count } = this.#own;
    const places: number[] = [];
    if (reveals === 'keys') {
      for (let place = 0; place < 8 * field.length; place++) {
        if (((field[place >>> 3] >> (place & 7)) & 1) === 0) continue;
        if (place >= count) refuse('zeros after the last bit', 'a one', 'the answer');
        places.push(place);
      }
    }
    const common =
      reveals === 'keys' ? places.length : new DataView(field.buffer, field.byteOffset, 4).getUint32(0, true);
    const most = Math.min(count, this.#peerCount);
    if (common > most) refuse(`at most ${most} common keys`, common, 'the answer');
    this.#end(places, common);
  }

  #end(places: readonly number[], commonCount = places.length): void {
    let common: Uint8Array[] | null = null;
    if (this.#own.reveals === 'keys') {
      // A dummy is common only if the peer says so without a reason.
      const numbers = places.map((place) => this.#points.keyAt(place));
      if (numbers.includes(null)) refuse('common keys', 'a dummy among them', 'the tags or the answer');
      common = (numbers as number[]).sort((a, b) => a - b).map((number) => this.#keys[number]);
    }
    this.#result = { common, commonCount, peerSize: this.#peerCount };
    this.#expect('nothing', 0);
  }

  get #tagBytes(): number {
    return tagBytes(this.#own.count, this.#peerCount);
  }
}

/** The bytes of the distinct keys, in the order of their first occurrence. */
function distinctKeys(keys: Iterable<string | Uint8Array>): Uint8Array[] {
  const distinct = new Map<string, Uint8Array>();
  const encoder = new TextEncoder();
  for (const key of keys) {
    const bytes = typeof key === 'string' ? encoder.encode(key) : Uint8Array.from(key);
    let name = '';
    for (const byte of bytes) name += String.fromCharCode(byte);
    if (!distinct.has(name)) distinct.set(name, bytes);
  }
  return [...distinct.values()];
}

function concat(parts: readonly Uint8Array[], each: number): Uint8Array {
  const all = new Uint8Array(parts.length * each);
  for (const [i, part] of parts.entries()) all.set(part, i * each);
  return all;
}

function check(name: string, value: string, choices: readonly string[]): void {
  if (!choices.includes(value)) {
    throw new TypeError(
      `Cannot intersect: expected ${name} to be one of ${choices.join(', ')}, got ${value}`,
    );
  }
}

function checkCount(name: string, count: number, least: number): number {
  if (!Number.isSafeInteger(count) || count < least || count > MOST_KEYS) {
    throw new RangeError(
      `Cannot intersect: expected ${name} to be a whole number from ${least} to 2^24, got ${count}`,
    );
  }
  return count;
}
