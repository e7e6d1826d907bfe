/**
 * Flow records from the UDP datagrams of routers and switches: NetFlow 5 and 9, IPFIX, sFlow 5,
 * told apart by their first bytes.
 *
 * Bytes in, records out: no socket and no clock. Templates are kept for each exporter, which the
 * caller names (an address and port, say), with bounds on all of them (`template-store.ts`). A
 * datagram counts as a whole or not at all: if one of its sets is damaged, `decode` throws a
 * `CaptureError`, holds no records of it, and the next datagram is read as if nothing had happened.
 * Templates before the damage stay, because they were whole.
 *
 * What it does not do: put sampled records right. `FlowRecords.sampling` tells the factor, and
 * whether to multiply is the caller's decision. Lost datagrams (gaps of sequence numbers) are not
 * counted, because exporters disagree on what the number counts.
 */

import { CaptureError } from '../capture-error.ts';
import { DATAGRAM, expectBytes } from './datagram.ts';
import type { FlowRecords } from './flow-records.ts';
import { decodeNetflow5 } from './netflow5.ts';
import { Sflow5Decoder } from './sflow5.ts';
import { TemplateDecoder } from './template-decoder.ts';
import { TemplateStore, type WaitingData } from './template-store.ts';

/** Numbers of datagrams and records so far. */
export interface ExportCounts {
  /** All datagrams, the refused ones included. */
  readonly datagrams: number;
  /** Datagrams that were refused. */
  readonly refused: number;
  /** Flow records. */
  readonly records: number;
  /** Records that tell something about the exporter, such as its sampling rate. */
  readonly options: number;
  /** Records and samples without IP addresses. */
  readonly notIp: number;
  /** Counter samples of sFlow, and samples of vendors. */
  readonly otherSamples: number;
}

export class ExportDecoder {
  readonly #store = new TemplateStore();
  readonly #templates = new TemplateDecoder(this.#store);
  readonly #sflow = new Sflow5Decoder();
  readonly #passed = { options: 0, notIp: 0, otherSamples: 0 };
  #datagrams = 0;
  #refused = 0;
  #records = 0;

  get counts(): ExportCounts {
    return { datagrams: this.#datagrams, refused: this.#refused, records: this.#records, ...this.#passed };
  }

  /** Data that wait for a template which the exporter has not sent yet. */
  get waiting(): readonly WaitingData[] {
    return this.#store.waiting;
  }

  /** Fills `records` with those of one datagram. */
  decode(datagram: Uint8Array, exporter: string, records: FlowRecords): void {
    records.count = 0;
    this.#datagrams++;
    try {
      this.#decodeAny(datagram, exporter, records);
    } catch (error) {
      records.count = 0;
      this.#refused++;
      throw error;
    }
    this.#records += records.count;
  }

  #decodeAny(datagram: Uint8Array, exporter: string, records: FlowRecords): void {
    const view = new DataView(datagram.buffer, datagram.byteOffset, datagram.byteLength);
    expectBytes('a version', 0, view.byteLength, 4);
    const version = view.getUint16(0);
    if (version === 5) decodeNetflow5(view, records);
    else if (version === 9 || version === 10) this.#templates.decode(view, exporter, records, this.#passed);
    else if (view.getUint32(0) === 5) this.#sflow.decode(view, records, this.#passed);
    else {
      const reason = `expected NetFlow 5 or 9, IPFIX or sFlow 5, got version ${version === 0 ? `${view.getUint32(0)} of sFlow` : version}`;
      throw new CaptureError('version', DATAGRAM, reason, 0);
    }
  }
}
