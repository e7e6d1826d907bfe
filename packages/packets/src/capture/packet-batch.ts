/**
 * Packets of a capture, as columns: one typed array for each property, and no object per packet.
 *
 * `bytes` is the memory in which the packets lie, usually the chunk that the source delivered, so a
 * packet is not copied. A batch is filled again and again by its reader. Its contents are valid
 * until the reader is asked for the next batch; a caller that keeps bytes copies them.
 *
 * A time is whole seconds since 1970 and nanoseconds within the second, because the nanoseconds
 * since 1970 do not fit into a double (they are at 1.8e18, and doubles are exact up to 9e15).
 */

/** Packets that a batch holds unless the caller asks for another number. */
export const DEFAULT_BATCH_PACKETS = 4096;

const NO_BYTES = new Uint8Array(0);

export class PacketBatch {
  /** Packets that fit. */
  readonly capacity: number;
  /** Packets that it holds now: entries 0 to `count - 1` of each column. */
  count = 0;
  /** The memory in which the packets lie. */
  bytes: Uint8Array = NO_BYTES;
  /** A view of the same memory. */
  view: DataView = new DataView(NO_BYTES.buffer);
  /** Start of each packet in `bytes`. */
  readonly offset: Uint32Array;
  /** Bytes of the packet that were captured. */
  readonly capturedLength: Uint32Array;
  /** Bytes that the packet had on the wire: more than were captured if a snap length cut it. */
  readonly wireLength: Uint32Array;
  /** Whole seconds since 1970. */
  readonly seconds: Float64Array;
  /** Nanoseconds within the second, 0 to 999,999,999. */
  readonly nanoseconds: Uint32Array;
  /** Link type of the interface (https://www.tcpdump.org/linktypes.html). */
  readonly linkType: Uint16Array;
  /** Number of the interface in its section; 0 in pcap. */
  readonly interfaceId: Uint32Array;

  constructor(capacity: number = DEFAULT_BATCH_PACKETS) {
    if (!(Number.isInteger(capacity) && capacity >= 1 && capacity <= 1 << 20)) {
      throw new RangeError(
        `Cannot make a batch of packets: expected a capacity from 1 to 1048576, got ${capacity}`,
      );
    }
    this.capacity = capacity;
    this.offset = new Uint32Array(capacity);
    this.capturedLength = new Uint32Array(capacity);
    this.wireLength = new Uint32Array(capacity);
    this.seconds = new Float64Array(capacity);
    this.nanoseconds = new Uint32Array(capacity);
    this.linkType = new Uint16Array(capacity);
    this.interfaceId = new Uint32Array(capacity);
  }
}
