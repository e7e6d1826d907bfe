/**
 * sFlow version 5 (sflow.org, "sFlow Version 5"): samples of packets, of which the exporter sends
 * the first bytes, with the rate at which it takes them. Each sample is a record of one packet.
 *
 * Flow samples and expanded flow samples are read; in them raw headers (Ethernet, IPv4, IPv6) and
 * the records that hold addresses and ports only. A sample with several of these counts once, by
 * the first that can be decoded. Counter samples and records of vendors are passed over.
 */

import { CaptureError } from '../capture-error.ts';
import { HeaderBatch, KEY_WORDS, STATUS } from '../headers/header-batch.ts';
import { HeaderDecoder } from '../headers/header-decoder.ts';
import { PacketBatch } from '../packet-batch.ts';
import { DATAGRAM, expectBytes } from './datagram.ts';
import type { FlowRecords } from './flow-records.ts';

const FLOW_SAMPLE = 1;
const EXPANDED_FLOW_SAMPLE = 3;
const RAW_HEADER = 1;
const IPV4_DATA = 3;
const IPV6_DATA = 4;

/** Link types of libpcap by the header protocols of sFlow. */
const LINK_TYPES = new Map([
  [1, 1],
  [11, 228],
  [12, 229],
]);

/** Numbers of samples that are no flows. */
export interface PassedSamples {
  /** Counter samples and samples of vendors. */
  otherSamples: number;
  /** Flow samples without an IP packet that can be decoded. */
  notIp: number;
}

export class Sflow5Decoder {
  readonly #batch = new PacketBatch(1);
  readonly #headers = new HeaderBatch(1);
  readonly #decoder = new HeaderDecoder();

  /** Appends a record for each sampled packet of a datagram. */
  decode(view: DataView, records: FlowRecords, passed: PassedSamples): void {
    const end = view.byteLength;
    expectBytes('an sFlow head', 0, end, 8);
    const family = view.getUint32(4);
    if (family !== 1 && family !== 2) {
      const reason = `expected an agent address of family 1 or 2, got ${family}`;
      throw new CaptureError('malformed', DATAGRAM, reason, 4);
    }
    let at = family === 1 ? 12 : 24;
    expectBytes('an sFlow head', at, end, 16);
    const count = view.getUint32(at + 12);
    at += 16;
    for (let i = 0; i < count; i++) {
      expectBytes('a sample', at, end, 8);
      const length = view.getUint32(at + 4);
      expectBytes('a sample', at + 8, end, length);
      const format = view.getUint32(at);
      if (format === FLOW_SAMPLE || format === EXPANDED_FLOW_SAMPLE) {
        this.#sample(view, at + 8, at + 8 + length, format, records, passed);
      } else {
        passed.otherSamples++;
      }
      at += 8 + length;
    }
  }

  #sample(
    view: DataView,
    at: number,
    end: number,
    format: number,
    records: FlowRecords,
    passed: PassedSamples,
  ): void {
    const headBytes = format === FLOW_SAMPLE ? 32 : 44;
    expectBytes('a flow sample', at, end, headBytes);
    const rate = view.getUint32(at + (format === FLOW_SAMPLE ? 8 : 12));
    const count = view.getUint32(at + headBytes - 4);
    let isFound = false;
    at += headBytes;
    for (let i = 0; i < count; i++) {
      expectBytes('a flow record', at, end, 8);
      const length = view.getUint32(at + 4);
      expectBytes('a flow record', at + 8, end, length);
      if (!isFound) isFound = this.#record(view, at, at + 8, at + 8 + length, Math.max(1, rate), records);
      at += 8 + length;
    }
    if (!isFound) passed.notIp++;
  }

  /** Appends the packet of a flow record. False if it holds none that can be decoded. */
  #record(
    view: DataView,
    head: number,
    at: number,
    end: number,
    rate: number,
    records: FlowRecords,
  ): boolean {
    switch (view.getUint32(head)) {
      case RAW_HEADER:
        return this.#rawHeader(view, at, end, rate, records);
      case IPV4_DATA:
      case IPV6_DATA: {
        const version = view.getUint32(head) === IPV4_DATA ? 4 : 6;
        expectBytes('a sampled packet', at, end, version === 4 ? 32 : 56);
        return addressRecord(view, at, version, rate, records);
      }
      default:
        return false;
    }
  }

  #rawHeader(view: DataView, at: number, end: number, rate: number, records: FlowRecords): boolean {
    expectBytes('a raw header', at, end, 16);
    const linkType = LINK_TYPES.get(view.getUint32(at));
    const length = view.getUint32(at + 12);
    expectBytes('a raw header', at + 16, end, length);
    if (linkType === undefined) return false;
    const batch = this.#batch;
    batch.view = view;
    batch.count = 1;
    batch.offset[0] = at + 16;
    batch.capturedLength[0] = length;
    batch.wireLength[0] = view.getUint32(at + 4);
    batch.linkType[0] = linkType;
    const headers = this.#headers;
    this.#decoder.decode(batch, headers);
    if (headers.status[0] !== STATUS.decoded) return false;
    const row = records.addRow();
    records.version[row] = headers.version[0];
    records.keys.set(headers.keys, row * KEY_WORDS);
    if (headers.version[0] === 4) records.keys.fill(0, row * KEY_WORDS + 4, (row + 1) * KEY_WORDS);
    records.packets[row] = 1;
    records.bytes[row] = headers.ipLength[0];
    records.sampling[row] = rate;
    return true;
  }
}

/** Appends a record of addresses: length, protocol, both addresses, both ports. */
function addressRecord(
  view: DataView,
  at: number,
  version: 4 | 6,
  rate: number,
  records: FlowRecords,
): boolean {
  const row = records.addRow();
  const words = version === 4 ? 2 : 8;
  records.version[row] = version;
  for (let i = 0; i < words; i++) records.keys[row * KEY_WORDS + i] = view.getUint32(at + 8 + 4 * i);
  const ports = at + 8 + 4 * words;
  const protocol = view.getUint32(at + 4) & 0xff;
  records.setTransport(row, view.getUint32(ports) & 0xffff, view.getUint32(ports + 4) & 0xffff, protocol);
  records.packets[row] = 1;
  records.bytes[row] = view.getUint32(at);
  records.sampling[row] = rate;
  return true;
}
