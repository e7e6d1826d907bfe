/**
 * Writes captures that Wireshark and tcpdump open: pcapng, or pcap for programs that read nothing
 * else.
 *
 * It produces bytes and writes no file: `take` hands over what was added since the last time, so a
 * caller decides where the bytes go and when. Times have nanoseconds in both formats. pcapng keeps
 * the link types of different interfaces apart and can carry a comment on each packet, which
 * Wireshark shows; pcap has neither, and refuses them instead of losing them silently.
 */

import { MAX_PACKET_BYTES } from '../records/record-format.ts';

export interface PacketToWrite {
  /** Whole seconds since 1970. */
  readonly seconds: number;
  /** Nanoseconds within the second. */
  readonly nanoseconds: number;
  /** Captured bytes, from the header of the link on. */
  readonly bytes: Uint8Array;
  /** Bytes that the packet had on the wire; the captured ones by default. */
  readonly wireLength?: number;
  /** Link type; Ethernet (1) by default. */
  readonly linkType?: number;
  /** Remark on the packet, up to 65,535 bytes of UTF-8; in pcapng only. */
  readonly comment?: string;
}

export interface CaptureWriterOptions {
  /** 'pcapng' by default. */
  readonly format?: 'pcapng' | 'pcap';
}

const MOST_SECONDS = 0xffff_ffff;
const COMMENT = 1;
const TIME_RESOLUTION = 9;

export class CaptureWriter {
  readonly #isPcapng: boolean;
  #bytes = new Uint8Array(1 << 16);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;
  /** Link types of the interfaces that were declared so far. */
  readonly #linkTypes: number[] = [];

  constructor({ format = 'pcapng' }: CaptureWriterOptions = {}) {
    this.#isPcapng = format === 'pcapng';
    if (this.#isPcapng) this.#section();
  }

  /** Adds a packet. */
  add(packet: PacketToWrite): void {
    checkPacket(packet);
    if (this.#isPcapng) this.#enhancedPacket(packet, this.#interfaceOf(packet.linkType ?? 1));
    else this.#record(packet);
  }

  /** Bytes that were added since the last call, in memory of their own. */
  take(): Uint8Array<ArrayBuffer> {
    // A pcap file without packets still has a head, which needs some link type.
    if (!this.#isPcapng && this.#linkTypes.length === 0) this.#fileHead(1);
    const taken = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }

  #section(): void {
    const at = this.#grow(28);
    this.#u32(at, 0x0a0d0d0a);
    this.#u32(at + 4, 28);
    this.#u32(at + 8, 0x1a2b3c4d);
    this.#view.setUint16(at + 12, 1, true);
    this.#view.setUint16(at + 14, 0, true);
    // The length of the section is not known in advance.
    this.#view.setBigInt64(at + 16, -1n, true);
    this.#u32(at + 24, 28);
  }

  /** The number of the interface for a link type; declares it first if it is new. */
  #interfaceOf(linkType: number): number {
    const known = this.#linkTypes.indexOf(linkType);
    if (known >= 0) return known;
    const at = this.#grow(32);
    this.#u32(at, 1);
    this.#u32(at + 4, 32);
    this.#view.setUint16(at + 8, linkType, true);
    this.#view.setUint16(at + 10, 0, true);
    this.#u32(at + 12, MAX_PACKET_BYTES);
    this.#view.setUint16(at + 16, TIME_RESOLUTION, true);
    this.#view.setUint16(at + 18, 1, true);
    this.#u32(at + 20, 9);
    this.#u32(at + 24, 0);
    this.#u32(at + 28, 32);
    return this.#linkTypes.push(linkType) - 1;
  }

  #enhancedPacket(packet: PacketToWrite, interfaceId: number): void {
    const { bytes } = packet;
    const comment = packet.comment === undefined ? null : new TextEncoder().encode(packet.comment);
    if (comment !== null && comment.length > 0xffff) {
      throw new RangeError(
        `Cannot write a packet: expected a comment of at most 65535 bytes, got ${comment.length}`,
      );
    }
    const options = comment === null ? 0 : 4 + padded(comment.length) + 4;
    const length = 32 + padded(bytes.length) + options;
    const at = this.#grow(length);
    const time = BigInt(packet.seconds) * 1_000_000_000n + BigInt(packet.nanoseconds);
    this.#u32(at, 6);
    this.#u32(at + 4, length);
    this.#u32(at + 8, interfaceId);
    this.#u32(at + 12, Number(time >> 32n));
    this.#u32(at + 16, Number(time & 0xffff_ffffn));
    this.#u32(at + 20, bytes.length);
    this.#u32(at + 24, packet.wireLength ?? bytes.length);
    this.#bytes.set(bytes, at + 28);
    if (comment !== null) {
      const option = at + 28 + padded(bytes.length);
      this.#view.setUint16(option, COMMENT, true);
      this.#view.setUint16(option + 2, comment.length, true);
      this.#bytes.set(comment, option + 4);
    }
    this.#u32(at + length - 4, length);
  }

  #fileHead(linkType: number): void {
    const at = this.#grow(24);
    this.#u32(at, 0xa1b23c4d);
    this.#view.setUint16(at + 4, 2, true);
    this.#view.setUint16(at + 6, 4, true);
    this.#u32(at + 16, MAX_PACKET_BYTES);
    this.#u32(at + 20, linkType);
    this.#linkTypes.push(linkType);
  }

  #record({ seconds, nanoseconds, bytes, wireLength, linkType = 1, comment }: PacketToWrite): void {
    if (this.#linkTypes.length === 0) this.#fileHead(linkType);
    if (linkType !== this.#linkTypes[0]) {
      throw new RangeError(
        `Cannot write a packet: expected link type ${this.#linkTypes[0]} as in the head of the pcap file, got ${linkType}; pcapng holds several`,
      );
    }
    if (comment !== undefined) {
      throw new RangeError('Cannot write a packet: expected no comment in pcap, got one; pcapng holds them');
    }
    const at = this.#grow(16 + bytes.length);
    this.#u32(at, seconds);
    this.#u32(at + 4, nanoseconds);
    this.#u32(at + 8, bytes.length);
    this.#u32(at + 12, wireLength ?? bytes.length);
    this.#bytes.set(bytes, at + 16);
  }

  #u32(at: number, value: number): void {
    this.#view.setUint32(at, value, true);
  }

  /** Makes room for `length` bytes of zeros at the end and returns their position. */
  #grow(length: number): number {
    const at = this.#length;
    if (at + length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(2 * this.#bytes.length, at + length));
      grown.set(this.#bytes.subarray(0, at));
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    this.#bytes.fill(0, at, at + length);
    this.#length = at + length;
    return at;
  }
}

function padded(length: number): number {
  return Math.ceil(length / 4) * 4;
}

function checkPacket({ seconds, nanoseconds, bytes, wireLength = 0, linkType = 1 }: PacketToWrite): void {
  checkNumber('seconds', seconds, MOST_SECONDS);
  checkNumber('nanoseconds', nanoseconds, 999_999_999);
  checkNumber('a wire length', wireLength, 0xffff_ffff);
  checkNumber('a link type', linkType, 0xffff);
  checkNumber('captured bytes', bytes.length, MAX_PACKET_BYTES);
}

function checkNumber(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 0 && value <= most) return;
  throw new RangeError(`Cannot write a packet: expected ${name} from 0 to ${most}, got ${value}`);
}
