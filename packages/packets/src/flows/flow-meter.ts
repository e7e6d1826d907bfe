/**
 * The flow meter: packets of captures and records of flow exports in, the largest flows out, for
 * the whole input or for each interval of time. It is pure: times are those of the packets, and the
 * secret of the hash is passed in.
 *
 * A report says whether it is exact, and what may be missing if it is not: `FlowTable` explains the
 * bounds. Intervals begin at multiples of their length since 1970, so that those of several meters
 * coincide. A packet that is older than the current interval is counted in it: captures of several
 * interfaces are not in order, and a report that was given is not changed.
 */

import {
  type FlowRecords,
  HeaderBatch,
  type HeaderDecoder,
  KEY_WORDS,
  type PacketBatch,
  STATUS,
} from '../capture/index.ts';
import { FlowTable, type FlowTableOptions } from './flow-table.ts';
import { BATCH_KEYS } from './kernel/layout.ts';
import type { PacketStager } from './kernel/packet-stager.ts';
import { FIVE_TUPLE, type FlowFields } from './keys/flow-fields.ts';
import { type FlowKey, KeyWriter, readFlowKey } from './keys/flow-key.ts';

export interface FlowMeterOptions extends FlowTableOptions {
  /** Default: the five-tuple. */
  readonly fields?: FlowFields | undefined;
  /** Amount that makes a flow large. Default 'bytes'. */
  readonly measure?: 'bytes' | 'packets' | undefined;
  /** Counts bytes on the wire instead of those of IP. Default false. */
  readonly wire?: boolean | undefined;
  /** Length of an interval, or undefined for one that does not end. */
  readonly intervalSeconds?: number | undefined;
  /** Called at the end of each interval, while `report` still describes it. */
  readonly onInterval?: (() => void) | undefined;
  /** Replaces addresses in reports. */
  readonly rename?: ((words: Int32Array) => Int32Array) | undefined;
}

/** A number that lies between two bounds; equal bounds are exact. */
export interface Bounds {
  readonly atLeast: number;
  /** Infinity if nothing is known. */
  readonly atMost: number;
}

export interface MeteredFlow {
  readonly flow: FlowKey;
  readonly bytes: Bounds;
  readonly packets: Bounds;
}

export interface FlowReport {
  /** Whether all numbers are exact and no flow is missing. */
  readonly exact: boolean;
  /**
   * Records of exporters that look at one packet of many. Their amounts were multiplied, so the
   * numbers are estimates without bounds.
   */
  readonly sampledRecords: number;
  readonly measure: 'bytes' | 'packets';
  /** Flows with at least this much of the measure are all in the table. 0 if no flow is missing. */
  readonly completeFrom: number;
  /** Flows in the table; all flows of the interval if it is exact. */
  readonly flows: number;
  readonly bytes: number;
  readonly packets: number;
  /** Time of the first and the last packet, in seconds since 1970; null without packets. */
  readonly first: number | null;
  readonly last: number | null;
  /** Seconds at which the interval begins and ends; null without intervals or packets. */
  readonly from: number | null;
  readonly to: number | null;
  /** Largest first. */
  readonly top: readonly MeteredFlow[];
}

export interface ReportOptions {
  /** Most flows to list. Default 10. */
  readonly top?: number | undefined;
  /** Share of the total that a flow needs to be listed, at least. Default 0. */
  readonly share?: number | undefined;
}

export class FlowMeter {
  readonly fields: FlowFields;
  readonly #options: FlowMeterOptions;
  readonly #table: FlowTable;
  readonly #writer: KeyWriter;
  readonly #byBytes: boolean;
  readonly #stager: PacketStager | null;
  /** Headers of the packets that are not for the stager. */
  #headers: HeaderBatch | null = null;
  #staged = 0;
  #place = 0;
  #first = Number.POSITIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;
  /** The second at which the current interval ends; -Infinity before the first packet. */
  #end: number;
  /** Whether a record without the measure came: then the other amount has no upper bound. */
  #hasEmpty = false;
  #sampledRecords = 0;

  constructor(options: FlowMeterOptions) {
    const { fields = FIVE_TUPLE, measure = 'bytes', intervalSeconds } = options;
    if (intervalSeconds !== undefined && !(intervalSeconds > 0)) {
      throw new RangeError(`Cannot use intervalSeconds: expected above 0, got ${intervalSeconds}`);
    }
    this.fields = fields;
    this.#options = options;
    this.#table = new FlowTable(options);
    this.#writer = new KeyWriter(fields);
    this.#byBytes = measure === 'bytes';
    const { masks } = this.#writer;
    this.#stager = this.#table.createStager({ masks, measure, wire: options.wire ?? false });
    this.#end = intervalSeconds === undefined ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  }

  /**
   * Room for a chunk of a capture, or null without WebAssembly. Packets of a chunk that was read
   * into it are counted without a copy.
   */
  get chunk(): Uint8Array | null {
    return this.#stager?.chunk ?? null;
  }

  /**
   * Decodes the packets of a batch and counts them: the same as `decoder.decode` and `add`. Where
   * packets are usual, it takes about three quarters of the CPU time, reading included
   * (bench/results/packets.md, kernel/packet-stager.ts).
   */
  addPackets(batch: PacketBatch, decoder: HeaderDecoder): void {
    const stager = decoder.isPlain ? this.#stager : null;
    for (let row = 0; row < batch.count; ) {
      const rows = stager?.load(batch, row) ?? 0;
      if (stager !== null && rows > 0) this.#stageRows(stager, batch, decoder, row, rows);
      else this.#addRows(batch, decoder, row, Math.min(batch.count, row + BATCH_KEYS));
      row += rows > 0 ? rows : BATCH_KEYS;
    }
  }

  /** Counts the rows of the stager, which are those of the batch from `start` on. */
  #stageRows(
    stager: PacketStager,
    batch: PacketBatch,
    decoder: HeaderDecoder,
    start: number,
    rows: number,
  ): void {
    for (let row = 0; row < rows; ) {
      const stop = stager.stage(row, rows, this.#staged, this.#place, this.#end);
      const found = stop - row;
      decoder.countDecoded(found);
      this.#staged += found;
      this.#place = stager.nextPlace;
      this.#first = Math.min(this.#first, stager.first);
      this.#last = Math.max(this.#last, stager.last);
      row = stop;
      if (this.#staged === BATCH_KEYS) {
        this.#flush();
      } else if (stop < rows) {
        // One packet that is not usual among many, or a stretch of them.
        row = Math.min(rows, stop + (found < FEW ? STRETCH : 1));
        this.#addRows(batch, decoder, start + stop, start + row);
      }
    }
  }

  #addRows(batch: PacketBatch, decoder: HeaderDecoder, from: number, to: number): void {
    if (this.#headers === null || this.#headers.capacity < to)
      this.#headers = new HeaderBatch(batch.capacity);
    decoder.decode(batch, this.#headers, from, to);
    this.add(batch, this.#headers, from, to);
  }

  /** Counts the decoded packets of a batch, or those of its rows from `from` to `to`. */
  add(batch: PacketBatch, headers: HeaderBatch, from = 0, to: number = headers.count): void {
    const { seconds, nanoseconds } = batch;
    const { status, version, keys } = headers;
    const lengths = this.#options.wire ? batch.wireLength : headers.ipLength;
    const { amounts, others } = this.#table;
    const staging = this.#table.keys;
    const [byteColumn, packetColumn] = this.#byBytes ? [amounts, others] : [others, amounts];
    const writer = this.#writer;
    let [first, last] = [this.#first, this.#last];
    for (let row = from; row < to; row++) {
      if (status[row] !== STATUS.decoded) continue;
      if (seconds[row] >= this.#end) {
        [this.#first, this.#last] = [first, last];
        this.#pass(seconds[row]);
        [first, last] = [this.#first, this.#last];
      }
      const time = seconds[row] + nanoseconds[row] * 1e-9;
      if (time < first) first = time;
      if (time > last) last = time;
      this.#place = writer.write(keys, row * KEY_WORDS, version[row], staging, this.#place);
      byteColumn[this.#staged] = lengths[row];
      packetColumn[this.#staged] = 1;
      if (++this.#staged === BATCH_KEYS) this.#flush();
    }
    [this.#first, this.#last] = [first, last];
  }

  /**
   * Counts the records of a datagram that came at `time`, in seconds since 1970. Amounts are
   * multiplied by the sampling of the exporter. Returns how many records were refused because no
   * flow can have such amounts.
   */
  addRecords(records: FlowRecords, time: number): number {
    this.passTime(time);
    let refused = 0;
    const { version, keys, sampling } = records;
    for (let row = 0; row < records.count; row++) {
      const bytes = Math.round(records.bytes[row] * sampling[row]);
      const packets = Math.round(records.packets[row] * sampling[row]);
      if (!(bytes >= 0 && packets >= 0 && bytes <= MOST_AMOUNT && packets <= MOST_AMOUNT)) {
        refused++;
        continue;
      }
      if (sampling[row] !== 1) this.#sampledRecords++;
      this.#first = Math.min(this.#first, time);
      this.#last = Math.max(this.#last, time);
      this.#place = this.#writer.write(keys, row * KEY_WORDS, version[row], this.#table.keys, this.#place);
      this.#table.amounts[this.#staged] = this.#byBytes ? bytes : packets;
      this.#table.others[this.#staged] = this.#byBytes ? packets : bytes;
      if (this.#table.amounts[this.#staged] === 0) this.#hasEmpty = true;
      if (++this.#staged === BATCH_KEYS) this.#flush();
    }
    return refused;
  }

  /** Ends the interval if it is over at this time, also without packets. */
  passTime(second: number): void {
    if (second >= this.#end) this.#pass(second);
  }

  /** The largest flows of the current interval: at most `top`, with at least `share` of the sum. */
  report({ top = 10, share = 0 }: ReportOptions = {}): FlowReport {
    this.#flush();
    const { total, totalOther, threshold, size } = this.#table;
    const [bytes, packets] = this.#byBytes ? [total, totalOther] : [totalOther, total];
    return {
      exact: threshold === 0 && this.#sampledRecords === 0,
      sampledRecords: this.#sampledRecords,
      measure: this.#byBytes ? 'bytes' : 'packets',
      completeFrom: threshold,
      flows: size,
      bytes,
      packets,
      first: Number.isFinite(this.#first) ? this.#first : null,
      last: Number.isFinite(this.#last) ? this.#last : null,
      from: Number.isFinite(this.#end) ? this.#end - this.#options.intervalSeconds! : null,
      to: Number.isFinite(this.#end) ? this.#end : null,
      top: this.#table.list(top, Math.max(1, share * total)).map((flow) => ({
        flow: readFlowKey(flow.key, this.fields, this.#options.rename),
        ...this.#boundsOf(flow),
      })),
    };
  }

  /** Bounds on one flow, given by its key. */
  count(key: Int32Array): { readonly bytes: Bounds; readonly packets: Bounds } {
    this.#flush();
    return this.#boundsOf(this.#table.count(key));
  }

  /** Ends the interval now. Heavy flows keep their entries: see `FlowTable`. */
  nextInterval(): void {
    this.#flush();
    this.#table.nextInterval();
    this.#first = Number.POSITIVE_INFINITY;
    this.#last = Number.NEGATIVE_INFINITY;
    this.#hasEmpty = false;
    this.#sampledRecords = 0;
  }

  #boundsOf({ atLeast, atMost, other }: { atLeast: number; atMost: number; other: number }) {
    const isExact = atLeast === atMost && !(this.#hasEmpty && this.#table.threshold > 0);
    const measured = { atLeast, atMost };
    const counted = { atLeast: other, atMost: isExact ? other : Number.POSITIVE_INFINITY };
    return this.#byBytes ? { bytes: measured, packets: counted } : { bytes: counted, packets: measured };
  }

  /** Begins the interval that holds `second`. */
  #pass(second: number): void {
    const length = this.#options.intervalSeconds!;
    if (this.#end !== Number.NEGATIVE_INFINITY) {
      this.#flush();
      this.#options.onInterval?.();
      this.nextInterval();
    }
    this.#end = (Math.floor(second / length) + 1) * length;
  }

  #flush(): void {
    this.#table.addBatch(this.#staged);
    this.#staged = 0;
    this.#place = 0;
  }
}

/**
 * If fewer usual packets than this lie between two unusual ones, the next `STRETCH` packets are
 * treated as unusual without being looked at.
 */
const FEW = 8;
const STRETCH = 32;

/** Sums of this many such amounts are still exact in a double. */
const MOST_AMOUNT = 2 ** 48;
