/**
 * Keys and amounts of usual packets, straight from the bytes of a capture, in WebAssembly
 * (assembly/flows/stage-packets.ts). It is the fast way for `FlowMeter.addPackets`. Its twin is the
 * way by `HeaderDecoder` and `KeyWriter`, which decodes every packet, and both give the same keys
 * and amounts (packet-stager.test.ts).
 *
 * A usual packet is whole IPv4 or IPv6 in Ethernet, with or without VLAN tags, no fragment, without
 * extension headers, with its ports among the captured bytes. The stager stops at any other packet,
 * and at one that begins a new interval. The caller counts that one by the other way and continues
 * behind it, so packets are counted in their order.
 *
 * The bytes must lie in the memory of the module. A chunk that was read into `chunk` lies there;
 * bytes elsewhere are copied, unless packets are so long that decoding in JavaScript is cheaper
 * than the copy.
 *
 *     256       FIELDS    masks of the key, places of columns, times; see the constants below
 *     stageAt   columns   offset, captured length, length on the wire, nanoseconds, seconds, link
 *               chunk     bytes that the caller read
 *               copies    bytes that lay elsewhere
 */

import type { PacketBatch } from '../../capture/index.ts';
import { AMOUNTS_AT, BATCH_KEYS, KEYS_AT, OTHERS_AT } from './layout.ts';

/** Stages rows behind `staged` keys that end at `place`. Returns the row where it stopped. */
export type StageFunction = (
  row: number,
  rows: number,
  base: number,
  staged: number,
  place: number,
) => number;

const FIELDS_AT = 256;
const COLUMNS_WORD = (FIELDS_AT + 52) / 4;
const NEXT_PLACE_WORD = (FIELDS_AT + 68) / 4;
const END_DOUBLE = (FIELDS_AT + 72) / 8;

const COLUMN_BYTES = 32_768;
/** Bytes of a chunk: they stay in the second-level cache until they are decoded. */
const CHUNK_BYTES = 1 << 18;
/** Memory that a stager needs behind that of the table. */
export const STAGE_BYTES: number = COLUMN_BYTES + 2 * CHUNK_BYTES;
/**
 * Mean bytes of a packet up to which copying is cheaper: about 50 ns at 10 GB/s, which is what the
 * other way takes for a packet.
 */
const MOST_COPIED = 512;

export interface StagerOptions {
  /** Masks of the fields of a flow: see `KeyWriter`. */
  readonly masks: Int32Array;
  readonly measure: 'bytes' | 'packets';
  /** Counts bytes on the wire. */
  readonly wire: boolean;
}

export class PacketStager {
  /** Room for a chunk of a capture; packets that lie in it are not copied. */
  readonly chunk: Uint8Array;
  /**
   * These copies do not lie in `chunk`: a record across two chunks is copied while the second chunk
   * is in use.
   */
  readonly #copies: Uint8Array;
  readonly #stage: StageFunction;
  readonly #words: Int32Array;
  readonly #doubles: Float64Array;
  readonly #offset: Uint32Array;
  readonly #captured: Uint32Array;
  readonly #wireLength: Uint32Array;
  readonly #nanoseconds: Uint32Array;
  readonly #seconds: Float64Array;
  readonly #linkType: Uint16Array;
  readonly #wire: boolean;
  #base = 0;

  constructor(buffer: ArrayBuffer, stageAt: number, stage: StageFunction, options: StagerOptions) {
    this.#stage = stage;
    this.#words = new Int32Array(buffer, 0, 1024);
    this.#doubles = new Float64Array(buffer, 0, 512);
    this.#offset = new Uint32Array(buffer, stageAt, BATCH_KEYS);
    this.#captured = new Uint32Array(buffer, stageAt + 4096, BATCH_KEYS);
    this.#wireLength = new Uint32Array(buffer, stageAt + 8192, BATCH_KEYS);
    this.#nanoseconds = new Uint32Array(buffer, stageAt + 12_288, BATCH_KEYS);
    this.#seconds = new Float64Array(buffer, stageAt + 16_384, BATCH_KEYS);
    this.#linkType = new Uint16Array(buffer, stageAt + 24_576, BATCH_KEYS);
    this.chunk = new Uint8Array(buffer, stageAt + COLUMN_BYTES, CHUNK_BYTES);
    this.#copies = new Uint8Array(buffer, stageAt + COLUMN_BYTES + CHUNK_BYTES, CHUNK_BYTES);
    this.#wire = options.wire;
    const byBytes = options.measure === 'bytes';
    const columns = byBytes ? [AMOUNTS_AT, OTHERS_AT] : [OTHERS_AT, AMOUNTS_AT];
    this.#words.set(options.masks, FIELDS_AT / 4);
    this.#words.set([stageAt, ...columns, options.wire ? 1 : 0], COLUMNS_WORD);
  }

  /** Place behind the last staged key, as a word of `FlowTable.keys`. */
  get nextPlace(): number {
    return (this.#words[NEXT_PLACE_WORD] - KEYS_AT) / 4;
  }

  /** Times of the first and the last packet of the last call of `stage`. */
  get first(): number {
    return this.#doubles[END_DOUBLE + 1];
  }

  get last(): number {
    return this.#doubles[END_DOUBLE + 2];
  }

  /**
   * Takes rows of a batch from `from` on, at most 1024. Returns how many there are now, as rows
   * from 0 on; 0 if these are not for the stager.
   */
  load(batch: PacketBatch, from: number): number {
    const { offset, capturedLength, bytes } = batch;
    let to = Math.min(batch.count, from + BATCH_KEYS);
    if (bytes.buffer === this.chunk.buffer) {
      this.#base = bytes.byteOffset;
    } else {
      const start = offset[from];
      while (to > from && offset[to - 1] + capturedLength[to - 1] - start > CHUNK_BYTES)
        to = from + ((to - from) >> 1);
      const end = to > from ? offset[to - 1] + capturedLength[to - 1] : start;
      if (!(end > start && end - start <= MOST_COPIED * (to - from))) return 0;
      this.#copies.set(bytes.subarray(start, end));
      this.#base = this.#copies.byteOffset - start;
    }
    this.#offset.set(offset.subarray(from, to));
    this.#captured.set(capturedLength.subarray(from, to));
    if (this.#wire) this.#wireLength.set(batch.wireLength.subarray(from, to));
    this.#nanoseconds.set(batch.nanoseconds.subarray(from, to));
    this.#seconds.set(batch.seconds.subarray(from, to));
    this.#linkType.set(batch.linkType.subarray(from, to));
    return to - from;
  }

  /**
   * Stages loaded rows from `row` to `rows`, behind `staged` keys that end at word `place`, up to
   * 1024 keys and up to a packet of the second `end`. Returns the row at which it stopped.
   */
  stage(row: number, rows: number, staged: number, place: number, end: number): number {
    this.#doubles[END_DOUBLE] = end;
    return this.#stage(row, rows, this.#base, staged, KEYS_AT + 4 * place);
  }
}
