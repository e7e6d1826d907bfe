/**
 * A template of NetFlow 9 (RFC 3954) or IPFIX (RFC 7011), compiled: the fields that we read, with
 * their places, and nothing else.
 *
 * The numbers of the fields are those of IANA's registry of IPFIX information elements, whose first
 * 127 are NetFlow 9's. Fields of enterprises are passed over. If a field occurs twice, the last one
 * counts.
 */

import { CaptureError } from '../capture-error.ts';
import { DATAGRAM } from './datagram.ts';

/** Fields that we read, by their number in IANA's registry. */
export const FIELD = {
  bytes: 1,
  packets: 2,
  protocol: 4,
  sourcePort: 7,
  sourceIpv4: 8,
  destinationPort: 11,
  destinationIpv4: 12,
  endUptime: 21,
  startUptime: 22,
  sourceIpv6: 27,
  destinationIpv6: 28,
  icmpTypeCode: 32,
  samplingInterval: 34,
  samplerId: 48,
  samplerInterval: 50,
  ipVersion: 60,
  totalBytes: 85,
  totalPackets: 86,
  icmpv6TypeCode: 139,
  startSeconds: 150,
  endSeconds: 151,
  startMs: 152,
  endMs: 153,
  selectorId: 302,
  packetInterval: 305,
  packetSpace: 306,
} as const;

const NAMES = new Map<number, number>(Object.values(FIELD).map((number, index) => [number, index]));

/** The length of a field that tells its length itself. */
const VARIABLE = 0xffff;

/** Fields of a template at most: a bound on the memory of templates. Exporters have 20 to 60. */
export const MAX_FIELDS = 512;

/** A field as the template has it. The number is 0 for fields of enterprises. */
export interface TemplateField {
  readonly number: number;
  readonly length: number;
}

/** Places and lengths of the fields of one record, which are filled in before it is read. */
export class RecordPlaces {
  readonly #at = new Int32Array(NAMES.size);
  readonly #length = new Int32Array(NAMES.size);

  /** @internal */
  clear(): void {
    this.#length.fill(-1);
  }

  /** @internal */
  set(slot: number, at: number, length: number): void {
    this.#at[slot] = at;
    this.#length[slot] = length;
  }

  has(field: number): boolean {
    return this.#length[NAMES.get(field)!] >= 0;
  }

  at(field: number): number {
    return this.#at[NAMES.get(field)!];
  }

  /** Length of the field in bytes, or -1 if the record does not have it. */
  length(field: number): number {
    return this.#length[NAMES.get(field)!];
  }
}

export class Template {
  /** True if its records describe the exporter (sampling rates) and not flows. */
  readonly isOptions: boolean;
  /** Bytes that a record takes at least. */
  readonly leastBytes: number;
  /** Length of each field, and its slot in `RecordPlaces`, or -1 if it is passed over. */
  readonly #lengths: Uint16Array;
  readonly #slots: Int8Array;

  constructor(fields: readonly TemplateField[], isOptions: boolean, at: number) {
    this.isOptions = isOptions;
    this.#lengths = Uint16Array.from(fields, ({ length }) => length);
    this.#slots = Int8Array.from(fields, ({ number }) => NAMES.get(number) ?? -1);
    this.leastBytes = fields.reduce((sum, { length }) => sum + (length === VARIABLE ? 1 : length), 0);
    if (this.leastBytes === 0) {
      throw new CaptureError('malformed', DATAGRAM, 'expected a template with fields, got none', at);
    }
  }

  /**
   * Finds the fields of the record at `at` and returns the place after it, or -1 if the record does
   * not end before `end`.
   */
  place(view: DataView, at: number, end: number, places: RecordPlaces): number {
    places.clear();
    const lengths = this.#lengths;
    const slots = this.#slots;
    for (let i = 0; i < lengths.length; i++) {
      let length = lengths[i];
      if (length === VARIABLE) {
        if (end - at < 1) return -1;
        length = view.getUint8(at++);
        if (length === 255) {
          if (end - at < 2) return -1;
          length = view.getUint16(at);
          at += 2;
        }
      }
      if (end - at < length) return -1;
      if (slots[i] >= 0) places.set(slots[i], at, length);
      at += length;
    }
    return at;
  }
}
