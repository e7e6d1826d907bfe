/**
 * Flow records of one datagram, as columns. The keys are those of `HeaderBatch`, so counting flows
 * takes records of an exporter and packets of a capture alike.
 */

import { IPV4_KEY_WORDS, KEY_WORDS } from '../headers/header-batch.ts';

/** Records of a datagram at most: one byte each in the largest datagram of UDP. */
const MAX_RECORDS = 65_536;

export class FlowRecords {
  /** Records that it holds now. */
  count = 0;
  /** IP version, 4 or 6. */
  version = new Uint8Array(64);
  /** Flow keys, `KEY_WORDS` apart. */
  keys = new Uint32Array(64 * KEY_WORDS);
  /** Packets as the exporter counted them, before multiplication by `sampling`. */
  packets = new Float64Array(64);
  /** IP bytes as the exporter counted them, before multiplication by `sampling`. */
  bytes = new Float64Array(64);
  /** Packets on the wire for each one that the exporter looked at; 1 if it looked at all. */
  sampling = new Float64Array(64);
  /** First packet of the flow, in milliseconds since 1970; 0 if the record does not say. */
  startMs = new Float64Array(64);
  /** Last packet of the flow, in milliseconds since 1970; 0 if the record does not say. */
  endMs = new Float64Array(64);

  /** @internal Adds a row of zeros and returns its number. */
  addRow(): number {
    const row = this.count++;
    if (row === this.version.length) this.#grow();
    this.version[row] = 0;
    this.keys.fill(0, row * KEY_WORDS, (row + 1) * KEY_WORDS);
    this.packets[row] = 0;
    this.bytes[row] = 0;
    this.sampling[row] = 1;
    this.startMs[row] = 0;
    this.endMs[row] = 0;
    return row;
  }

  /** @internal Writes the ports and the protocol of a row whose version is set. */
  setTransport(row: number, sourcePort: number, destinationPort: number, protocol: number): void {
    const version = this.version[row];
    const words = version === 4 ? IPV4_KEY_WORDS : KEY_WORDS;
    const last = row * KEY_WORDS + words - 1;
    this.keys[last - 1] = sourcePort * 65_536 + destinationPort;
    this.keys[last] = version * 256 + protocol;
  }

  #grow(): void {
    const rows = Math.min(MAX_RECORDS, 2 * this.version.length);
    this.version = grown(this.version, rows);
    this.keys = grown(this.keys, rows * KEY_WORDS);
    this.packets = grown(this.packets, rows);
    this.bytes = grown(this.bytes, rows);
    this.sampling = grown(this.sampling, rows);
    this.startMs = grown(this.startMs, rows);
    this.endMs = grown(this.endMs, rows);
  }
}

function grown<T extends Uint8Array | Uint32Array | Float64Array>(column: T, length: number): T {
  const larger = new (column.constructor as new (length: number) => T)(length);
  larger.set(column);
  return larger;
}
