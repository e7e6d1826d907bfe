/**
 * The classic file of libpcap: a head of 24 bytes, then a record head of 16 bytes before each
 * packet. Both byte orders, microseconds and nanoseconds, and the variant of Kuznetzov's patched
 * libpcap (magic a1b2cd34), whose record heads have 8 bytes more.
 *
 * The layout is that of draft-ietf-opsawg-pcap. The format has no checksum and no marks, so damage
 * is seen only when a length is impossible, and there is no way to find the next record after it.
 */

import { CAPTURE, CaptureError } from '../capture-error.ts';
import type { PacketBatch } from '../packet-batch.ts';
import { MAX_PACKET_BYTES, type RecordFormat } from './record-format.ts';

/** Bytes of the file's head. */
export const PCAP_HEAD_BYTES = 24;

const MICROSECONDS = 0xa1b2c3d4;
const NANOSECONDS = 0xa1b23c4d;
const MODIFIED = 0xa1b2cd34;

/** Tells whether the first four bytes, read in big-endian order, begin a pcap file. */
export function isPcapMagic(magic: number): boolean {
  return littleEndianOf(magic) !== null;
}

/** The byte order that a magic number shows, or null if it is no magic number of pcap. */
function littleEndianOf(magic: number): boolean | null {
  if (magic === MICROSECONDS || magic === NANOSECONDS || magic === MODIFIED) return false;
  if (magic === 0xd4c3b2a1 || magic === 0x4d3cb2a1 || magic === 0x34cdb2a1) return true;
  return null;
}

export class PcapFormat implements RecordFormat {
  readonly #littleEndian: boolean;
  readonly #headBytes: number;
  readonly #linkType: number;
  /** Fractions of a second in the record heads, and nanoseconds in each. */
  readonly #fractions: number;
  readonly #nanosecondsEach: number;

  /** Reads the file's head, of which all 24 bytes are there. */
  constructor(view: DataView) {
    this.#littleEndian = littleEndianOf(view.getUint32(0)) === true;
    const magic = view.getUint32(0, this.#littleEndian);
    const major = view.getUint16(4, this.#littleEndian);
    if (major !== 2) {
      throw new CaptureError('version', CAPTURE, `expected pcap version 2, got ${major}`, 4);
    }
    this.#headBytes = magic === MODIFIED ? 24 : 16;
    this.#fractions = magic === NANOSECONDS ? 1e9 : 1e6;
    this.#nanosecondsEach = magic === NANOSECONDS ? 1 : 1000;
    // The upper half of the field tells the length of the frame check sequence.
    this.#linkType = view.getUint32(20, this.#littleEndian) & 0xffff;
  }

  need(view: DataView, at: number, end: number): number {
    if (end - at < this.#headBytes) return this.#headBytes;
    const captured = view.getUint32(at + 8, this.#littleEndian);
    // An impossible length is left to `walk`, which needs no more than the head to refuse it.
    return captured > MAX_PACKET_BYTES ? this.#headBytes : this.#headBytes + captured;
  }

  walk(view: DataView, at: number, end: number, batch: PacketBatch, base: number): number {
    const littleEndian = this.#littleEndian;
    const headBytes = this.#headBytes;
    const fractions = this.#fractions;
    const nanosecondsEach = this.#nanosecondsEach;
    const { capacity, offset, capturedLength, wireLength, seconds, nanoseconds } = batch;
    const first = batch.count;
    let count = first;
    while (count < capacity && end - at >= headBytes) {
      const captured = view.getUint32(at + 8, littleEndian);
      if (captured > MAX_PACKET_BYTES) {
        if (count === 0) {
          const reason = `expected a packet of at most ${MAX_PACKET_BYTES} bytes, got one of ${captured}`;
          throw new CaptureError('malformed', CAPTURE, reason, base + at);
        }
        break;
      }
      const next = at + headBytes + captured;
      if (next > end) break;
      let second = view.getUint32(at, littleEndian);
      let fraction = view.getUint32(at + 4, littleEndian);
      if (fraction >= fractions) {
        second += Math.floor(fraction / fractions);
        fraction %= fractions;
      }
      offset[count] = at + headBytes;
      capturedLength[count] = captured;
      wireLength[count] = view.getUint32(at + 12, littleEndian);
      seconds[count] = second;
      nanoseconds[count] = fraction * nanosecondsEach;
      count++;
      at = next;
    }
    batch.linkType.fill(this.#linkType, first, count);
    batch.interfaceId.fill(0, first, count);
    batch.count = count;
    return at;
  }
}
