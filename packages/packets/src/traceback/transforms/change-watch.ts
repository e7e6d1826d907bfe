/**
 * Finds packets that this router changed, from a capture of all its interfaces: the earlier and the
 * later form of a packet pass within moments, the later with a lower TTL.
 *
 * - NAT. Addresses, ports and checksums change; the identification, the length, sequence numbers
 *   and data stay. Two packets that agree in all of those and not in their addresses or ports are
 *   the same packet before and after.
 * - Fragments. The addresses, the protocol and the identification stay. A fragment that follows a
 *   whole packet with the same ones is a part of it.
 *
 * SPIE's routers know what they change. A collector that only sees packets infers it, so that it
 * needs no access to the router. What can go wrong: two packets with the same identification and
 * the same data, or both without data, look like one packet before and after NAT. The price is one
 * form too many in an answer: the trace also follows the other packet, and may show its route as a
 * branch.
 *
 * The memory is a direct-mapped table of packets seen in the last second. A packet whose place is
 * taken by another one is forgotten, and its change is missed. The keys of a piece of a batch are
 * hashed together; one by one they cost 4 µs per packet.
 */

import { type HashScheme, hashKeys } from 'bloomery';
import { type HeaderBatch, KEY_WORDS, MARK } from '../../capture/headers/header-batch.ts';
import type { PacketBatch } from '../../capture/packet-batch.ts';
import { headBytes, writeInvariant } from '../digests/invariant-bytes.ts';
import { MOST_ROWS } from '../digests/layout.ts';
import type { DigestBatch } from '../digests/packet-digester.ts';
import type { Transform } from './transform-table.ts';

export interface ChangeWatchOptions {
  /** Hash of the collector; its key keeps senders from choosing packets that meet in the table. */
  readonly scheme: HashScheme;
  readonly payloadBytes: number;
  /** Packets that are remembered, a power of two. Default 32,768. */
  readonly slots?: number;
  /** The most seconds between the two forms of a packet. Default 1. */
  readonly windowS?: number;
}

const TCP = 6;
const UDP = 17;
const ICMP = 1;
const ICMPV6 = 58;
const KEY_BYTES = 128;
const NAT = 1;
const FRAGMENT = 2;
const DONT_FRAGMENT = 0x40;

/** Packets by a 64-bit key, each with its invariant bytes, TTL and time. */
class RecentPackets {
  readonly #mask: number;
  readonly #keys: Int32Array;
  readonly #times: Float64Array;
  readonly #ttls: Uint8Array;
  readonly #lengths: Uint16Array;
  readonly #bytes: Uint8Array;
  readonly #stride: number;

  constructor(slots: number, stride: number) {
    this.#mask = slots - 1;
    this.#keys = new Int32Array(2 * slots);
    this.#times = new Float64Array(slots).fill(Number.NEGATIVE_INFINITY);
    this.#ttls = new Uint8Array(slots);
    this.#lengths = new Uint16Array(slots);
    this.#bytes = new Uint8Array(slots * stride);
    this.#stride = stride;
  }

  /** Notes the packet whose invariant bytes lie from `from` to before `end`. */
  put(
    low: number,
    high: number,
    timeS: number,
    ttl: number,
    bytes: Uint8Array,
    from: number,
    end: number,
  ): void {
    const slot = low & this.#mask;
    this.#keys[2 * slot] = low;
    this.#keys[2 * slot + 1] = high;
    this.#times[slot] = timeS;
    this.#ttls[slot] = ttl;
    this.#lengths[slot] = end - from;
    const start = slot * this.#stride;
    for (let i = from; i < end; i++) this.#bytes[start + i - from] = bytes[i];
  }

  /** The invariant bytes of a packet with this key, a higher TTL and a time close by, or null. */
  find(low: number, high: number, timeS: number, ttl: number, windowS: number): Uint8Array | null {
    const slot = low & this.#mask;
    if (this.#keys[2 * slot] !== low || this.#keys[2 * slot + 1] !== high) return null;
    if (this.#ttls[slot] <= ttl || Math.abs(timeS - this.#times[slot]) > windowS) return null;
    const start = slot * this.#stride;
    return this.#bytes.subarray(start, start + this.#lengths[slot]);
  }
}

/** The packets of one piece of a batch: their invariant bytes and keys, hashed all at once. */
class Piece {
  readonly invariants: Uint8Array;
  /** Ends of the invariant bytes, which begin at a multiple of the stride. */
  readonly ends = new Int32Array(MOST_ROWS);
  /** Number of the key of each packet, or -1. */
  readonly fragmentKeys = new Int32Array(MOST_ROWS);
  readonly natKeys = new Int32Array(MOST_ROWS);
  readonly keys = new Uint8Array(2 * MOST_ROWS * KEY_BYTES);
  readonly offsets = new Uint32Array(2 * MOST_ROWS + 1);
  readonly #room = new Int32Array(4 * MOST_ROWS);
  readonly stride: number;
  #count = 0;
  #words: Int32Array = this.#room;

  constructor(stride: number) {
    this.stride = stride;
    this.invariants = new Uint8Array(MOST_ROWS * stride);
  }

  clear(): void {
    this.#count = 0;
  }

  /** Start of the next key in `keys`; `endKey` says how long it is. */
  get keyStart(): number {
    return this.offsets[this.#count];
  }

  /** Ends a key of this length, and returns its number. */
  endKey(length: number): number {
    this.offsets[this.#count + 1] = this.offsets[this.#count] + length;
    return this.#count++;
  }

  hash(scheme: HashScheme): void {
    const packed = { bytes: this.keys, offsets: this.offsets.subarray(0, this.#count + 1) };
    this.#words = hashKeys(packed, scheme, this.#room).words;
  }

  lowOf(key: number): number {
    return this.#words[2 * key];
  }

  highOf(key: number): number {
    return this.#words[2 * key + 1];
  }

  /** Whether these are the invariant bytes of packet i. */
  isSame(bytes: Uint8Array, i: number): boolean {
    const from = i * this.stride;
    if (bytes.length !== this.ends[i] - from) return false;
    for (let at = 0; at < bytes.length; at++) if (bytes[at] !== this.invariants[from + at]) return false;
    return true;
  }
}

export class ChangeWatch {
  readonly #options: ChangeWatchOptions;
  readonly #recent: RecentPackets;
  readonly #windowS: number;
  readonly #piece: Piece;

  constructor(options: ChangeWatchOptions) {
    const { payloadBytes, slots = 32_768, windowS = 1 } = options;
    this.#options = options;
    this.#windowS = windowS;
    const stride = headBytes(6) + payloadBytes;
    this.#recent = new RecentPackets(slots, stride);
    this.#piece = new Piece(stride);
  }

  /** Looks at the digested packets of a batch, and returns the changes among them. */
  take(batch: PacketBatch, headers: HeaderBatch, digests: DigestBatch): Transform[] {
    const { rows, hashes } = digests;
    const piece = this.#piece;
    piece.clear();
    for (let i = 0; i < rows.length; i++) this.#writeKeys(batch, headers, rows[i], i);
    piece.hash(this.#options.scheme);
    const found: Transform[] = [];
    for (let i = 0; i < rows.length; i++) {
      this.#look(batch, headers, rows[i], i, (kind, earlier, timeS) => {
        const [low, high] = [hashes.words[2 * i], hashes.words[2 * i + 1]];
        found.push({ kind, low, high, earlier: Uint8Array.from(earlier), timeS });
      });
    }
    return found;
  }

  /** Writes the invariant bytes and the keys of a packet, the i-th of the piece. */
  #writeKeys(batch: PacketBatch, headers: HeaderBatch, row: number, i: number): void {
    const { bytes } = batch;
    const piece = this.#piece;
    const { payloadBytes } = this.#options;
    piece.fragmentKeys[i] = -1;
    piece.natKeys[i] = -1;
    const ip = headers.ipOffset[row];
    const end = batch.offset[row] + batch.capturedLength[row];
    const at = i * piece.stride;
    piece.ends[i] = writeInvariant(bytes, ip, end, headers.ipLength[row], payloadBytes, piece.invariants, at);
    if (piece.ends[i] < 0) return;
    const isFragment = (headers.marks[row] & MARK.fragment) !== 0;
    const isIpv4 = headers.version[row] === 4;
    if (isIpv4 && (isFragment || (bytes[ip + 6] & DONT_FRAGMENT) === 0))
      piece.fragmentKeys[i] = piece.endKey(writeFragmentKey(piece.keys, piece.keyStart, bytes, ip));
    if (isFragment) return;
    const protocol = headers.keys[row * KEY_WORDS + (isIpv4 ? 3 : 9)] & 0xff;
    const length = writeNatKey(piece, i, isIpv4, protocol);
    if (length > 0) piece.natKeys[i] = piece.endKey(length);
  }

  #look(
    batch: PacketBatch,
    headers: HeaderBatch,
    row: number,
    i: number,
    found: (kind: 'nat' | 'fragment', earlier: Uint8Array, timeS: number) => void,
  ): void {
    const piece = this.#piece;
    const recent = this.#recent;
    const [fragment, nat] = [piece.fragmentKeys[i], piece.natKeys[i]];
    if (fragment < 0 && nat < 0) return;
    const ttl = batch.bytes[headers.ipOffset[row] + (headers.version[row] === 4 ? 8 : 7)];
    const timeS = batch.seconds[row] + batch.nanoseconds[row] / 1e9;
    const from = i * piece.stride;
    if (fragment >= 0) {
      const [low, high] = [piece.lowOf(fragment), piece.highOf(fragment)];
      if ((headers.marks[row] & MARK.fragment) !== 0) {
        const whole = recent.find(low, high, timeS, ttl, this.#windowS);
        if (whole !== null) found('fragment', whole, timeS);
      } else recent.put(low, high, timeS, ttl, piece.invariants, from, piece.ends[i]);
    }
    if (nat < 0) return;
    const [low, high] = [piece.lowOf(nat), piece.highOf(nat)];
    const before = recent.find(low, high, timeS, ttl, this.#windowS);
    if (before === null) recent.put(low, high, timeS, ttl, piece.invariants, from, piece.ends[i]);
    // The same packet, seen on its way in and out without a change, has the same invariant bytes.
    else if (!piece.isSame(before, i)) found('nat', before, timeS);
  }
}

/** Addresses, protocol and identification. Returns the length of the key. */
function writeFragmentKey(keys: Uint8Array, at: number, bytes: Uint8Array, ip: number): number {
  keys[at] = FRAGMENT;
  keys[at + 1] = bytes[ip + 9];
  keys[at + 2] = bytes[ip + 4];
  keys[at + 3] = bytes[ip + 5];
  for (let i = 0; i < 8; i++) keys[at + 4 + i] = bytes[ip + 12 + i];
  return 12;
}

/** The bytes that NAT leaves alone. Returns the length of the key, or 0 for other protocols. */
function writeNatKey(piece: Piece, i: number, isIpv4: boolean, protocol: number): number {
  const { keys, invariants, stride, ends, keyStart: at } = piece;
  const from = i * stride;
  const head = headBytes(isIpv4 ? 4 : 6);
  const payload = Math.min(ends[i] - from - head, KEY_BYTES - 16);
  if (payload < 8) return 0;
  keys[at] = NAT;
  keys[at + 1] = protocol;
  // Length, identification and flags in IPv4; length and next header in IPv6.
  for (let j = 0; j < 6; j++)
    keys[at + 2 + j] = isIpv4 ? invariants[from + 2 + j] : j < 3 ? invariants[from + 4 + j] : 0;
  const data = at + 8;
  for (let j = 0; j < payload; j++) keys[data + j] = invariants[from + head + j];
  if (protocol === TCP) {
    clear(keys, data, 4);
    clear(keys, data + 16, Math.max(0, Math.min(2, payload - 16)));
  } else if (protocol === UDP) {
    clear(keys, data, 4);
    clear(keys, data + 6, 2);
  } else if (protocol === ICMP || protocol === ICMPV6) clear(keys, data + 2, 4);
  else return 0;
  return 8 + payload;
}

function clear(bytes: Uint8Array, at: number, count: number): void {
  for (let i = at; i < at + count; i++) bytes[i] = 0;
}
