/**
 * Forwarding loops in a capture: the same packet again and again, with a lower TTL each time.
 *
 * The rule. A sighting counts as looping if its TTL is lower by at least 2 than at the *first*
 * sighting of the same packet at the same place, and at least three different TTLs were seen by
 * then. We tried "lower by 2 than at the previous sighting": it found 0 of 620, because a link
 * shows both directions (64, 63, 62 …). A difference of 1 is no loop: a capture of all interfaces
 * of a router shows each forwarded packet twice. Three TTLs instead of two keep out a packet that
 * was sent twice, byte for byte, with another TTL: in a capture of hand-made PIM messages two TTLs
 * gave 3 false alarms, three give none, and the recorded loop has the same 620 sightings with both.
 *
 * What it promises. A packet that passes the place of the capture with three falling TTLs is found
 * with its third sighting, as long as the table remembers it (sighting-table.ts). Two different
 * packets are never confused, up to a collision of 64-bit digests.
 *
 * Where it breaks down:
 * - A packet that reaches the loop with so little TTL that it passes fewer than three times is not
 *   found. Others that follow the same route are.
 * - NAT within the loop, and extension headers that routers change, make another packet of it.
 * - A merged capture of three places on one path shows falling TTLs without a loop. pcapng keeps
 *   the interfaces apart; pcap does not.
 * - A program that sends identical packets with falling TTLs looks like a loop. Traceroute counts
 *   upwards.
 * - Packets inside a tunnel loop with the outer header's TTL, which is the one that we look at.
 */

import { type HashOptions, hashScheme } from 'bloomery';
import { type HeaderBatch, KEY_WORDS, STATUS } from '../capture/headers/header-batch.ts';
import type { PacketBatch } from '../capture/packet-batch.ts';
import { type Loop, LoopList } from './loop-list.ts';
import { PacketDigests } from './packet-digests.ts';
import { MOST_LEVELS, SightingTable } from './sighting-table.ts';

export interface LoopDetectorOptions extends HashOptions {
  /** Memory for the packets seen lately. Default 32 MiB, at least 32 KiB. */
  readonly memoryBytes?: number;
  /** Seconds after which a packet is forgotten if it was not seen again. Default 10. */
  readonly windowS?: number;
  /** Different TTLs that make a loop, from 2 to 127. Default 3. */
  readonly levels?: number;
  /** Bytes of the payload in the digest. Default 96. */
  readonly payloadBytes?: number;
  /** Prefix length by which IPv4 destinations are grouped. Default 24. */
  readonly ipv4Bits?: number;
  /** Prefix length by which IPv6 destinations are grouped. Default 48. */
  readonly ipv6Bits?: number;
}

export interface LoopCounts {
  /** Packets that were looked at. */
  readonly packets: number;
  /** Sightings of looping packets. */
  readonly looping: number;
  /** ICMP messages "time exceeded", about any packet. */
  readonly expired: number;
  /** Looping sightings of destinations that the list had no room for. */
  readonly unlisted: number;
  /** Shortest time in seconds that the memory covered; infinite if it was never full. */
  readonly rememberedS: number;
}

const MIB = 2 ** 20;
const MOST_LOOPS = 4096;
/** The least difference to the first TTL that one forwarding by a router cannot explain. */
const LEAST_DROP = 2;
/** Packets whose memory is fetched at once: their slots stay in the first-level cache. */
const AHEAD = 128;

export class LoopDetector {
  readonly #digests: PacketDigests;
  readonly #table: SightingTable;
  readonly #list: LoopList;
  readonly #levels: number;
  #packets = 0;
  #looping = 0;
  #expired = 0;

  constructor(options: LoopDetectorOptions = {}) {
    const { memoryBytes = 32 * MIB, windowS = 10, payloadBytes = 96 } = options;
    const { levels = 3, ipv4Bits = 24, ipv6Bits = 48 } = options;
    checkWhole('levels', levels, 2, MOST_LEVELS);
    checkWhole('payloadBytes', payloadBytes, 0, 65_535);
    checkWhole('ipv4Bits', ipv4Bits, 0, 32);
    checkWhole('ipv6Bits', ipv6Bits, 0, 128);
    this.#digests = new PacketDigests(hashScheme(options), payloadBytes);
    this.#table = new SightingTable(memoryBytes, windowS);
    this.#list = new LoopList({ ipv4Bits, ipv6Bits, most: MOST_LOOPS });
    this.#levels = levels;
  }

  get counts(): LoopCounts {
    return {
      packets: this.#packets,
      looping: this.#looping,
      expired: this.#expired,
      unlisted: this.#list.unlisted,
      rememberedS: this.#table.rememberedS,
    };
  }

  /** The number of loops so far. */
  get loopCount(): number {
    return this.#list.size;
  }

  /** The loops so far, those with the most sightings first. */
  loops(): Loop[] {
    return this.#list.loops();
  }

  /** Looks at a batch. Returns the rows of the looping packets among them. */
  take(batch: PacketBatch, headers: HeaderBatch): number[] {
    const digests = this.#digests.of(batch, headers);
    const rows: number[] = [];
    for (let row = 0; row < headers.count; row++) {
      if (row % AHEAD === 0) this.#table.prefetch(digests, row, Math.min(row + AHEAD, headers.count));
      if (headers.status[row] !== STATUS.decoded) continue;
      this.#packets++;
      const isLooping = this.#look(batch, headers, row, digests[2 * row], digests[2 * row + 1]);
      if (isLooping) rows.push(row);
      if (isTimeExceeded(headers, row)) this.#noteExpired(batch, headers, row);
    }
    this.#looping += rows.length;
    return rows;
  }

  #look(batch: PacketBatch, headers: HeaderBatch, row: number, low: number, high: number): boolean {
    const ip = headers.ipOffset[row];
    const ttl = batch.bytes[ip + (headers.version[row] === 4 ? 8 : 7)];
    const timeS = batch.seconds[row] + batch.nanoseconds[row] / 1e9;
    const link = linkHash(batch.view, batch.offset[row], ip);
    const table = this.#table;
    const slot = table.see(low, high, ttl, link, timeS);
    const firstTtl = table.firstTtl(slot);
    if (ttl >= firstTtl) return false;
    const levels = table.levels(slot);
    const drop = table.dropOfTurn(slot, ttl, link);
    if (firstTtl - ttl < LEAST_DROP || levels < this.#levels) return false;
    const version = headers.version[row] as 4 | 6;
    const [source, destination] = addressesOf(headers, row, version);
    const isNewPacket = table.markLooping(slot);
    this.#list.add({ version, source, destination, timeS, ttl, firstTtl, isNewPacket, drop });
    return true;
  }

  /** Counts a message about a packet that used up its TTL, with the destination that it quotes. */
  #noteExpired(batch: PacketBatch, headers: HeaderBatch, row: number): void {
    this.#expired++;
    const version = headers.version[row] as 4 | 6;
    const quoted = headers.payloadOffset[row] + ICMP_BYTES;
    const end = batch.offset[row] + batch.capturedLength[row];
    const [at, words] = version === 4 ? [quoted + 16, 1] : [quoted + 24, 4];
    if (at + 4 * words > end) return;
    const destination = Array.from({ length: words }, (_, i) => batch.view.getUint32(at + 4 * i));
    this.#list.addExpired(version, destination);
  }
}

const ICMP_BYTES = 8;
const ICMP = 0x401;
const ICMPV6 = 0x600 | 58;
/** Type and code of "time to live exceeded in transit" (RFC 792, RFC 4443). */
const EXPIRED = 11 << 8;
const EXPIRED_V6 = 3 << 8;

function isTimeExceeded({ version, keys }: HeaderBatch, row: number): boolean {
  const word = row * KEY_WORDS;
  if (version[row] === 4) return keys[word + 3] === ICMP && keys[word + 2] === EXPIRED;
  return keys[word + 9] === ICMPV6 && keys[word + 8] === EXPIRED_V6;
}

function addressesOf({ keys }: HeaderBatch, row: number, version: 4 | 6): [number[], number[]] {
  const word = row * KEY_WORDS;
  const words = version === 4 ? 1 : 4;
  const part = (at: number) => [...keys.subarray(word + at, word + at + words)];
  return [part(0), part(words)];
}

/** A hash of the link header, which tells the two directions of a link apart. */
function linkHash(view: DataView, start: number, end: number): number {
  let hash = 0;
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mix(hash ^ view.getUint32(at));
  for (; at < end; at++) hash = mix(hash ^ view.getUint8(at));
  return hash;
}

/** A bijection in which every bit of the input reaches the upper and the lower bits. */
function mix(word: number): number {
  const product = Math.imul(word, 0x9e3779b1);
  return product ^ (product >>> 15);
}

function checkWhole(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new RangeError(`Cannot use ${name}: expected an integer from ${least} to ${most}, got ${value}`);
}
