/**
 * Datagrams of NetFlow 9 (RFC 3954) and IPFIX (RFC 7011): sets of templates, of options templates,
 * and of records whose layout a template told earlier.
 *
 * Both formats are one walk with different heads, numbers of sets, and layouts of options
 * templates. Records that describe no IP flow are passed over. Options records are read for
 * sampling rates only.
 */

import { CaptureError } from '../capture-error.ts';
import { KEY_WORDS } from '../headers/header-batch.ts';
import { DATAGRAM, expectBytes, readUnsigned, uptimeToMs } from './datagram.ts';
import type { FlowRecords } from './flow-records.ts';
import { FIELD, MAX_FIELDS, RecordPlaces, Template, type TemplateField } from './template.ts';
import type { Domain, TemplateStore } from './template-store.ts';

const IPFIX = 10;
const FIRST_DATA_SET = 256;

/** The head of a datagram, as far as records need it. */
interface Head {
  readonly isIpfix: boolean;
  readonly exportMs: number;
  /** Uptime of the device; 0 in IPFIX, which dates by the clock. */
  readonly uptimeMs: number;
}

/** Numbers of records of a datagram that are no flows. */
export interface PassedOver {
  options: number;
  notIp: number;
}

export class TemplateDecoder {
  readonly #store: TemplateStore;
  readonly #places = new RecordPlaces();

  constructor(store: TemplateStore) {
    this.#store = store;
  }

  /** Appends the records of a datagram and counts the others. */
  decode(view: DataView, exporter: string, records: FlowRecords, passedOver: PassedOver): void {
    const isIpfix = view.getUint16(0) === IPFIX;
    const headBytes = isIpfix ? 16 : 20;
    expectBytes(isIpfix ? 'an IPFIX head' : 'a NetFlow 9 head', 0, view.byteLength, headBytes);
    const end = isIpfix ? view.getUint16(2) : view.byteLength;
    expectBytes('an IPFIX message', 0, view.byteLength, end);
    const head = {
      isIpfix,
      exportMs: view.getUint32(isIpfix ? 4 : 8) * 1000,
      uptimeMs: isIpfix ? 0 : view.getUint32(4),
    };
    const domain = this.#store.domain(exporter, view.getUint32(isIpfix ? 12 : 16));
    let at = headBytes;
    // Some exporters pad the datagram behind the last set.
    while (end - at >= 4) {
      const id = view.getUint16(at);
      const length = view.getUint16(at + 2);
      if (length < 4 || length > end - at) {
        const reason = `expected a set of 4 to ${end - at} bytes, got ${length}`;
        throw new CaptureError('malformed', DATAGRAM, reason, at);
      }
      if (id >= FIRST_DATA_SET) {
        this.#dataSet(view, at + 4, at + length, id, head, domain, records, passedOver);
      } else if (id === (isIpfix ? 2 : 0)) {
        this.#templateSet(view, at + 4, at + length, isIpfix, domain);
      } else if (id === (isIpfix ? 3 : 1)) {
        this.#optionsSet(view, at + 4, at + length, isIpfix, domain);
      }
      at += length;
    }
  }

  #templateSet(view: DataView, at: number, end: number, isIpfix: boolean, domain: Domain): void {
    while (end - at >= 4) {
      const id = view.getUint16(at);
      const count = view.getUint16(at + 2);
      if (count === 0) {
        // A template without fields is a withdrawal in IPFIX, and padding in NetFlow 9.
        if (isIpfix) this.#withdraw(domain, id, 2);
        at += 4;
        continue;
      }
      at = this.#template(view, at + 4, end, isIpfix, domain, id, count, false);
    }
  }

  #optionsSet(view: DataView, at: number, end: number, isIpfix: boolean, domain: Domain): void {
    while (end - at >= (isIpfix ? 4 : 6)) {
      const id = view.getUint16(at);
      if (isIpfix) {
        const count = view.getUint16(at + 2);
        if (count === 0) {
          this.#withdraw(domain, id, 3);
          at += 4;
        } else {
          at = this.#template(view, at + 6, end, true, domain, id, count, true);
        }
      } else {
        // NetFlow 9 tells the lengths of both lists in bytes, four for each field.
        const count = (view.getUint16(at + 2) + view.getUint16(at + 4)) >>> 2;
        if (id < FIRST_DATA_SET && count === 0) return;
        at = this.#template(view, at + 6, end, false, domain, id, count, true);
      }
    }
  }

  #withdraw(domain: Domain, id: number, setId: number): void {
    // The number of the set itself stands for all templates.
    if (id === setId) this.#store.withdraw(domain);
    else this.#store.withdraw(domain, id);
  }

  /** Reads the fields of a template and returns the place after them. */
  #template(
    view: DataView,
    at: number,
    end: number,
    isIpfix: boolean,
    domain: Domain,
    id: number,
    count: number,
    isOptions: boolean,
  ): number {
    if (id < FIRST_DATA_SET || count > MAX_FIELDS) {
      const reason = `expected a template from 256 on with at most ${MAX_FIELDS} fields, got number ${id} with ${count}`;
      throw new CaptureError(count > MAX_FIELDS ? 'limit' : 'malformed', DATAGRAM, reason, at);
    }
    const fields: TemplateField[] = [];
    for (let i = 0; i < count; i++) {
      expectBytes('a template', at, end, 4);
      const number = view.getUint16(at);
      const length = view.getUint16(at + 2);
      at += 4;
      const isEnterprise = isIpfix && number >= 0x8000;
      if (isEnterprise) {
        expectBytes('a template', at, end, 4);
        at += 4;
      }
      // The scopes of NetFlow 9 have numbers of their own, which begin the list: 1 to 5.
      const isScope = isOptions && !isIpfix && number <= 5;
      fields.push({ number: isEnterprise || isScope ? 0 : number, length });
    }
    this.#store.setTemplate(domain, id, new Template(fields, isOptions, at));
    return at;
  }

  #dataSet(
    view: DataView,
    at: number,
    end: number,
    id: number,
    head: Head,
    domain: Domain,
    records: FlowRecords,
    passedOver: PassedOver,
  ): void {
    const template = domain.templates.get(id);
    if (template === undefined) {
      this.#store.addWaiting(domain, id);
      return;
    }
    // The rest is padding once it is shorter than a record.
    while (end - at >= template.leastBytes) {
      const next = template.place(view, at, end, this.#places);
      if (next < 0) {
        const reason = `expected a whole record of template ${id}, got ${end - at} bytes`;
        throw new CaptureError('malformed', DATAGRAM, reason, at);
      }
      if (template.isOptions) {
        this.#sampling(view, domain);
        passedOver.options++;
      } else if (!this.#record(view, head, domain, records)) {
        passedOver.notIp++;
      }
      at = next;
    }
  }

  #number(view: DataView, field: number): number {
    const length = this.#places.length(field);
    return length <= 0 ? 0 : readUnsigned(view, this.#places.at(field), length);
  }

  /** Keeps the sampling rate that an options record tells. */
  #sampling(view: DataView, domain: Domain): void {
    const id = this.#number(view, FIELD.samplerId) || this.#number(view, FIELD.selectorId);
    const interval = this.#number(view, FIELD.packetInterval);
    if (interval > 0) {
      // RFC 5477: "interval" packets are taken, then "space" packets are left out.
      domain.setSampler(id, (interval + this.#number(view, FIELD.packetSpace)) / interval);
      return;
    }
    const rate = this.#number(view, FIELD.samplerInterval) || this.#number(view, FIELD.samplingInterval);
    if (rate > 0) domain.setSampler(id, rate);
  }

  /** Appends the record that was placed. False if it is no IP flow. */
  #record(view: DataView, head: Head, domain: Domain, records: FlowRecords): boolean {
    const version = this.#version(view);
    if (version === 0) return false;
    const row = records.addRow();
    records.version[row] = version;
    this.#addresses(view, version, records, row);
    const protocol = this.#number(view, FIELD.protocol);
    let destinationPort = this.#number(view, FIELD.destinationPort) & 0xffff;
    if (protocol === 1 || protocol === 58) {
      const icmp = this.#number(view, protocol === 1 ? FIELD.icmpTypeCode : FIELD.icmpv6TypeCode);
      // Exporters that know the IPv4 field only use it for both, or the destination port.
      destinationPort = (icmp || this.#number(view, FIELD.icmpTypeCode) || destinationPort) & 0xffff;
    }
    records.setTransport(
      row,
      this.#number(view, FIELD.sourcePort) & 0xffff,
      destinationPort,
      protocol & 0xff,
    );
    records.packets[row] = this.#number(view, FIELD.packets) || this.#number(view, FIELD.totalPackets);
    records.bytes[row] = this.#number(view, FIELD.bytes) || this.#number(view, FIELD.totalBytes);
    records.startMs[row] = this.#time(view, head, FIELD.startUptime, FIELD.startSeconds, FIELD.startMs);
    records.endMs[row] = this.#time(view, head, FIELD.endUptime, FIELD.endSeconds, FIELD.endMs);
    const sampler = this.#number(view, FIELD.samplerId) || this.#number(view, FIELD.selectorId);
    records.sampling[row] =
      this.#number(view, FIELD.samplingInterval) ||
      (domain.samplers.get(sampler) ?? domain.samplers.get(0) ?? 1);
    return true;
  }

  /** The IP version of the record, or 0 if it has no addresses. */
  #version(view: DataView): 0 | 4 | 6 {
    const has4 = this.#hasAddress(FIELD.sourceIpv4, 4) || this.#hasAddress(FIELD.destinationIpv4, 4);
    const has6 = this.#hasAddress(FIELD.sourceIpv6, 16) || this.#hasAddress(FIELD.destinationIpv6, 16);
    if (has4 && has6) return this.#number(view, FIELD.ipVersion) === 6 ? 6 : 4;
    if (has4) return 4;
    return has6 ? 6 : 0;
  }

  #hasAddress(field: number, length: number): boolean {
    return this.#places.length(field) === length;
  }

  #addresses(view: DataView, version: 4 | 6, records: FlowRecords, row: number): void {
    const words = version === 4 ? 1 : 4;
    const source = version === 4 ? FIELD.sourceIpv4 : FIELD.sourceIpv6;
    const destination = version === 4 ? FIELD.destinationIpv4 : FIELD.destinationIpv6;
    let word = row * KEY_WORDS;
    for (const field of [source, destination]) {
      const isThere = this.#hasAddress(field, words * 4);
      for (let i = 0; i < words; i++) {
        records.keys[word++] = isThere ? view.getUint32(this.#places.at(field) + 4 * i) : 0;
      }
    }
  }

  #time(view: DataView, head: Head, uptime: number, seconds: number, ms: number): number {
    if (this.#places.has(ms)) return this.#number(view, ms);
    if (this.#places.has(seconds)) return this.#number(view, seconds) * 1000;
    if (!this.#places.has(uptime) || head.isIpfix) return 0;
    return uptimeToMs(head.exportMs, head.uptimeMs, this.#number(view, uptime));
  }
}
