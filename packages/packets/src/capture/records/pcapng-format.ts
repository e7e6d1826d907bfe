/**
 * Blocks of pcapng (draft-ietf-opsawg-pcapng): sections in either byte order, several interfaces
 * with their own link types and clocks, enhanced, simple and obsolete packet blocks.
 *
 * Blocks of other types are skipped without being stored, however long they say they are. Options
 * are read for interfaces only, and a damaged option ends the list of options, not the reading: an
 * option is a remark, and libpcap passes over them as well.
 *
 * The packets of a file come in its order. The length of a section, which a writer may leave open,
 * is not used.
 */

import { CAPTURE, CaptureError } from '../capture-error.ts';
import type { PacketBatch } from '../packet-batch.ts';
import { InterfaceTable } from './interface-table.ts';
import { MAX_PACKET_BYTES, MAX_RECORD_BYTES, type RecordFormat } from './record-format.ts';

/** The type of a section's head, which reads the same in both byte orders. */
export const PCAPNG_MAGIC = 0x0a0d0d0a;

const BYTE_ORDER_MAGIC = 0x1a2b3c4d;
const INTERFACE = 1;
const OBSOLETE_PACKET = 2;
const SIMPLE_PACKET = 3;
const ENHANCED_PACKET = 6;

/** Bytes of a block before its body, and with the length after it. */
const HEAD = 8;
const FRAME = 12;

export class PcapngFormat implements RecordFormat {
  readonly #interfaces = new InterfaceTable();
  #littleEndian = true;

  need(view: DataView, at: number, end: number): number {
    if (end - at < FRAME) return FRAME;
    const type = view.getUint32(at, this.#littleEndian);
    if (smallestBlock(type) === 0) return FRAME;
    const littleEndian = type === PCAPNG_MAGIC ? sectionOrder(view, at) : this.#littleEndian;
    const length = view.getUint32(at + 4, littleEndian);
    // An impossible length is left to `walk`, which needs no more than the head to refuse it.
    return length < FRAME || length > MAX_RECORD_BYTES ? FRAME : length;
  }

  walk(view: DataView, at: number, end: number, batch: PacketBatch, base: number): number {
    const { capacity } = batch;
    while (batch.count < capacity && end - at >= FRAME) {
      at = this.#enhancedPackets(view, at, end, batch);
      if (batch.count === capacity || end - at < FRAME) return at;
      const type = view.getUint32(at, this.#littleEndian);
      const littleEndian = type === PCAPNG_MAGIC ? sectionOrder(view, at) : this.#littleEndian;
      const length = view.getUint32(at + 4, littleEndian);
      const smallest = smallestBlock(type);
      const fault = lengthFault(view, at, end, length, smallest, littleEndian);
      if (fault !== null) {
        if (batch.count > 0) return at;
        throw new CaptureError('malformed', CAPTURE, fault, base + at);
      }
      if (smallest === 0) {
        // A block of another type is skipped, even if it reaches beyond the chunk.
        at += length;
        if (at >= end) return at;
        continue;
      }
      if (length > end - at) return at;
      if (type === ENHANCED_PACKET || type === OBSOLETE_PACKET || type === SIMPLE_PACKET) {
        const reason = this.#packet(view, at, length, type, batch);
        if (reason !== null) {
          if (batch.count > 0) return at;
          throw new CaptureError('malformed', CAPTURE, reason, base + at);
        }
      } else {
        // These blocks change how later ones are read, but not the packets in the batch.
        if (!this.#describe(view, at, length, type, littleEndian, batch.count, base)) return at;
      }
      at += length;
    }
    return at;
  }

  /**
   * Appends the enhanced packets from `at` on and returns the place after them. This is the hot
   * loop: it stops at the first block that is of another type, cut, or not right in every respect,
   * which `walk` then looks at.
   */
  #enhancedPackets(view: DataView, at: number, end: number, batch: PacketBatch): number {
    const littleEndian = this.#littleEndian;
    const interfaces = this.#interfaces;
    const { size } = interfaces;
    const { capacity, offset, capturedLength, wireLength, seconds, nanoseconds, linkType, interfaceId } =
      batch;
    let row = batch.count;
    while (row < capacity && end - at >= 32 && view.getUint32(at, littleEndian) === ENHANCED_PACKET) {
      const length = view.getUint32(at + 4, littleEndian);
      const id = view.getUint32(at + 8, littleEndian);
      const captured = view.getUint32(at + 20, littleEndian);
      if (length > end - at || length > MAX_RECORD_BYTES || length % 4 !== 0 || id >= size) break;
      if (captured > length - 32 || captured > MAX_PACKET_BYTES || length < 32) break;
      if (view.getUint32(at + length - 4, littleEndian) !== length) break;
      interfaces.divide(id, view.getUint32(at + 12, littleEndian), view.getUint32(at + 16, littleEndian));
      offset[row] = at + 28;
      capturedLength[row] = captured;
      wireLength[row] = view.getUint32(at + 24, littleEndian);
      seconds[row] = interfaces.seconds;
      nanoseconds[row] = interfaces.nanoseconds;
      linkType[row] = interfaces.linkType(id);
      interfaceId[row] = id;
      row++;
      at += length;
    }
    batch.count = row;
    return at;
  }

  /** Reads a section or an interface. False if it is at fault and packets come before it. */
  #describe(
    view: DataView,
    at: number,
    length: number,
    type: number,
    littleEndian: boolean,
    packets: number,
    base: number,
  ): boolean {
    if (type === INTERFACE) {
      if (packets > 0 && this.#interfaces.isFull) return false;
      this.#interfaces.add(view, at + HEAD, at + length - 4, littleEndian, base + at);
      return true;
    }
    const major = view.getUint16(at + 12, littleEndian);
    if (major !== 1) {
      if (packets > 0) return false;
      throw new CaptureError('version', CAPTURE, `expected pcapng version 1, got ${major}`, base + at);
    }
    this.#littleEndian = littleEndian;
    this.#interfaces.clear();
    return true;
  }

  /** Appends the packet of a block to the batch. Returns the fault, or null. */
  #packet(view: DataView, at: number, length: number, type: number, batch: PacketBatch): string | null {
    const littleEndian = this.#littleEndian;
    const interfaces = this.#interfaces;
    let id = 0;
    let data = at + 28;
    if (type === ENHANCED_PACKET) id = view.getUint32(at + 8, littleEndian);
    else if (type === OBSOLETE_PACKET) id = view.getUint16(at + 8, littleEndian);
    if (id >= interfaces.size) {
      return `expected a packet of one of ${interfaces.size} interfaces, got one of number ${id}`;
    }
    const row = batch.count;
    let captured: number;
    if (type === SIMPLE_PACKET) {
      data = at + 12;
      const wire = view.getUint32(at + 8, littleEndian);
      captured = Math.min(wire, interfaces.snapLength(0), length - 16);
      batch.wireLength[row] = wire;
      batch.seconds[row] = 0;
      batch.nanoseconds[row] = 0;
    } else {
      captured = view.getUint32(at + 20, littleEndian);
      batch.wireLength[row] = view.getUint32(at + 24, littleEndian);
      interfaces.divide(id, view.getUint32(at + 12, littleEndian), view.getUint32(at + 16, littleEndian));
      batch.seconds[row] = interfaces.seconds;
      batch.nanoseconds[row] = interfaces.nanoseconds;
    }
    if (captured > MAX_PACKET_BYTES || captured > at + length - 4 - data) {
      const most = Math.min(MAX_PACKET_BYTES, at + length - 4 - data);
      return `expected a packet of at most ${most} bytes, got one of ${captured}`;
    }
    batch.offset[row] = data;
    batch.capturedLength[row] = captured;
    batch.linkType[row] = interfaces.linkType(id);
    batch.interfaceId[row] = id;
    batch.count = row + 1;
    return null;
  }
}

/** Bytes that a block of a type has at least, or 0 for types that are not read. */
function smallestBlock(type: number): number {
  switch (type) {
    case ENHANCED_PACKET:
    case OBSOLETE_PACKET:
      return 32;
    case SIMPLE_PACKET:
      return 16;
    case INTERFACE:
      return 20;
    case PCAPNG_MAGIC:
      return 28;
    default:
      return 0;
  }
}

/** True if the section at `at` is little-endian. A wrong mark of the order shows in its length. */
function sectionOrder(view: DataView, at: number): boolean {
  return view.getUint32(at + 8) !== BYTE_ORDER_MAGIC;
}

/** The fault of a block's length, as far as it is there, or null. */
function lengthFault(
  view: DataView,
  at: number,
  end: number,
  length: number,
  smallest: number,
  littleEndian: boolean,
): string | null {
  if (length < Math.max(FRAME, smallest) || length % 4 !== 0) {
    return `expected a block of ${Math.max(FRAME, smallest)} bytes or more in steps of 4, got ${length}`;
  }
  if (smallest === 0) return null;
  if (smallest === 28 && view.getUint32(at + 8, littleEndian) !== BYTE_ORDER_MAGIC) {
    return 'expected the mark of a byte order, got other bytes';
  }
  if (length > MAX_RECORD_BYTES)
    return `expected a block of at most ${MAX_RECORD_BYTES} bytes, got ${length}`;
  if (length > end - at) return null;
  const again = view.getUint32(at + length - 4, littleEndian);
  return again === length ? null : `expected the length ${length} again after the block, got ${again}`;
}
