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
 * needs no access to the router. What can go wrong: two packets without data and with the same
 * identification look like one after NAT. The price is a form too many in an answer, which other
 * collectors then have not seen.
 *
 * The memory is a direct-mapped table of packets seen in the last second. A packet whose place is
 * taken by another one is forgotten, and its change is missed.
 */

import { type HashScheme, hashKeys } from 'bloomery';
import { type HeaderBatch, KEY_WORDS, MARK, STATUS } from '../../capture/headers/header-batch.ts';
import type { PacketBatch } from '../../capture/packet-batch.ts';
import { headBytes, writeInvariant } from '../digests/invariant-bytes.ts';
import type { DigestBatch } from '../digests/packet-digester.ts';
import type { Transform } from './transform-table.ts';

export interface ChangeWatchOptions {
  /** Hash of the collector; its key keeps senders from choosing packets that meet in the table. */
  readonly scheme: HashScheme;
  readonly payloadBytes: number;
  /** Packets that are remembered, a power of two. Default 32,768. */
  readonly slots?: number;
  /** Seconds between the two forms of a packet. Default 1. */
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

  put(low: number, high: number, timeS: number, ttl: number, invariant: Uint8Array): void {
    const slot = low & this.#mask;
    this.#keys[2 * slot] = low;
    this.#keys[2 * slot + 1] = high;
    this.#times[slot] = timeS;
    this.#ttls[slot] = ttl;
    this.#lengths[slot] = invariant.length;
    this.#bytes.set(invariant, slot * this.#stride);
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

export class ChangeWatch {
  readonly #options: ChangeWatchOptions;
  readonly #recent: RecentPackets;
  readonly #windowS: number;
  readonly #key = new Uint8Array(KEY_BYTES);
  readonly #invariant: Uint8Array;

  constructor(options: ChangeWatchOptions) {
    const { payloadBytes, slots = 32_768, windowS = 1 } = options;
    this.#options = options;
    this.#windowS = windowS;
    const stride = headBytes(6) + payloadBytes;
    this.#recent = new RecentPackets(slots, stride);
    this.#invariant = new Uint8Array(stride);
  }

  /** Looks at the digested packets of a batch, and returns the changes among them. */
  take(batch: PacketBatch, headers: HeaderBatch, digests: DigestBatch): Transform[] {
    const found: Transform[] = [];
    for (const [i, row] of digests.rows.entries()) {
      if (headers.status[row] !== STATUS.decoded) continue;
      const low = digests.hashes.words[2 * i];
      const high = digests.hashes.words[2 * i + 1];
      this.#look(batch, headers, row, (kind, earlier, timeS) =>
        found.push({ kind, low, high, earlier: Uint8Array.from(earlier), timeS }),
      );
    }
    return found;
  }

  #look(
    batch: PacketBatch,
    headers: HeaderBatch,
    row: number,
    found: (kind: 'nat' | 'fragment', earlier: Uint8Array, timeS: number) => void,
  ): void {
    const { bytes } = batch;
    const ip = headers.ipOffset[row];
    const isIpv4 = headers.version[row] === 4;
    const ttl = bytes[ip + (isIpv4 ? 8 : 7)];
    const timeS = batch.seconds[row] + batch.nanoseconds[row] / 1e9;
    const end = batch.offset[row] + batch.capturedLength[row];
    const { payloadBytes } = this.#options;
    const length = writeInvariant(bytes, ip, end, headers.ipLength[row], payloadBytes, this.#invariant, 0);
    if (length < 0) return;
    const own = this.#invariant.subarray(0, length);
    const isFragment = (headers.marks[row] & MARK.fragment) !== 0;
    if (isIpv4 && (isFragment || (bytes[ip + 6] & DONT_FRAGMENT) === 0)) {
      const [low, high] = this.#hash(this.#fragmentKey(bytes, ip));
      if (isFragment) {
        const whole = this.#recent.find(low, high, timeS, ttl, this.#windowS);
        if (whole !== null) found('fragment', whole, timeS);
      } else this.#recent.put(low, high, timeS, ttl, own);
    }
    if (isFragment) return;
    const keyLength = this.#natKey(headers, row, own);
    if (keyLength === 0) return;
    const [low, high] = this.#hash(keyLength);
    const before = this.#recent.find(low, high, timeS, ttl, this.#windowS);
    if (before === null) this.#recent.put(low, high, timeS, ttl, own);
    // The same packet, seen on its way in and out without a change, has the same invariant bytes.
    else if (!startsLike(before, own)) found('nat', before, timeS);
  }

  /** Addresses, protocol and identification. Returns the length of the key. */
  #fragmentKey(bytes: Uint8Array, ip: number): number {
    const key = this.#key;
    key[0] = FRAGMENT;
    key[1] = bytes[ip + 9];
    key[2] = bytes[ip + 4];
    key[3] = bytes[ip + 5];
    key.set(bytes.subarray(ip + 12, ip + 20), 4);
    return 12;
  }

  /** The bytes that NAT leaves alone. Returns the length of the key, or 0 for other protocols. */
  #natKey(headers: HeaderBatch, row: number, invariant: Uint8Array): number {
    const key = this.#key;
    const isIpv4 = headers.version[row] === 4;
    const protocol = headers.keys[row * KEY_WORDS + (isIpv4 ? 3 : 9)] & 0xff;
    const head = headBytes(isIpv4 ? 4 : 6);
    const payload = invariant.subarray(head, head + KEY_BYTES - 16);
    if (payload.length < 8) return 0;
    key[0] = NAT;
    key[1] = protocol;
    // Length, identification and flags in IPv4; length and next header in IPv6.
    key.set(isIpv4 ? invariant.subarray(2, 8) : invariant.subarray(4, 7), 2);
    const from = 8;
    key.set(payload, from);
    if (protocol === TCP)
      key.fill(0, from, from + 4).fill(0, from + 16, Math.min(from + 18, from + payload.length));
    else if (protocol === UDP) key.fill(0, from, from + 4).fill(0, from + 6, from + 8);
    else if (protocol === ICMP || protocol === ICMPV6) key.fill(0, from + 2, from + 6);
    else return 0;
    return from + payload.length;
  }

  #hash(length: number): [number, number] {
    const packed = { bytes: this.#key, offsets: Uint32Array.of(0, length) };
    const { words } = hashKeys(packed, this.#options.scheme);
    return [words[0], words[1]];
  }
}

function startsLike(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
