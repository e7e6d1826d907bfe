/**
 * NetFlow version 5: a head of 24 bytes and up to 30 records of 48 bytes, IPv4 only, described in
 * Cisco's "NetFlow Export Datagram Format". The head tells the sampling rate in its last 14 bits.
 */

import { CaptureError } from '../capture-error.ts';
import { KEY_WORDS } from '../headers/header-batch.ts';
import { DATAGRAM, expectBytes, uptimeToMs } from './datagram.ts';
import type { FlowRecords } from './flow-records.ts';

const HEAD_BYTES = 24;
const RECORD_BYTES = 48;

/** Appends the records of a datagram. */
export function decodeNetflow5(view: DataView, records: FlowRecords): void {
  const end = view.byteLength;
  expectBytes('a NetFlow 5 head', 0, end, HEAD_BYTES);
  const count = view.getUint16(2);
  expectBytes(`${count} NetFlow 5 records`, HEAD_BYTES, end, count * RECORD_BYTES);
  if (count === 0) {
    throw new CaptureError('malformed', DATAGRAM, 'expected at least one NetFlow 5 record, got none', 2);
  }
  const uptimeMs = view.getUint32(4);
  const exportMs = view.getUint32(8) * 1000 + Math.floor(view.getUint32(12) / 1e6);
  const sampling = Math.max(1, view.getUint16(22) & 0x3fff);
  for (let i = 0; i < count; i++) {
    const at = HEAD_BYTES + i * RECORD_BYTES;
    const row = records.addRow();
    records.version[row] = 4;
    records.keys[row * KEY_WORDS] = view.getUint32(at);
    records.keys[row * KEY_WORDS + 1] = view.getUint32(at + 4);
    records.packets[row] = view.getUint32(at + 16);
    records.bytes[row] = view.getUint32(at + 20);
    records.startMs[row] = uptimeToMs(exportMs, uptimeMs, view.getUint32(at + 24));
    records.endMs[row] = uptimeToMs(exportMs, uptimeMs, view.getUint32(at + 28));
    records.sampling[row] = sampling;
    records.setTransport(row, view.getUint16(at + 32), view.getUint16(at + 34), view.getUint8(at + 38));
  }
}
