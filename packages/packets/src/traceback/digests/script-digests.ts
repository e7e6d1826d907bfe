/** Digests of a batch of packets in JavaScript. Twin: assembly/traceback/digests.ts. */

import { type HashScheme, hashKey, hashKeys } from 'bloomery';
import { type HeaderBatch, STATUS } from '../../capture/headers/header-batch.ts';
import type { PacketBatch } from '../../capture/packet-batch.ts';
import { type DigestKernel, type PacketDigests64, SOURCE_SLACK_S } from './digest-kernel.ts';
import { headBytes, writeInvariant } from './invariant-bytes.ts';
import { MOST_ROWS, RECENT_SLOTS } from './layout.ts';

/** The multiplier of the slots: 2^64 divided by the golden ratio. */
const MIX = 0x9e3779b97f4a7c15n;

export class ScriptDigests implements DigestKernel {
  readonly #scheme: HashScheme;
  readonly #payloadBytes: number;
  readonly #bytes: Uint8Array;
  readonly #offsets = new Uint32Array(MOST_ROWS + 1);
  readonly #rows = new Uint32Array(MOST_ROWS);
  readonly #words = new Int32Array(2 * MOST_ROWS);
  readonly #times = new Float64Array(MOST_ROWS);
  readonly #recent = new BigUint64Array(2 * RECENT_SLOTS);
  readonly #recentTimes = new Float64Array(RECENT_SLOTS).fill(Number.NaN);

  constructor(scheme: HashScheme, payloadBytes: number) {
    this.#scheme = scheme;
    this.#payloadBytes = payloadBytes;
    this.#bytes = new Uint8Array(MOST_ROWS * (headBytes(6) + payloadBytes));
  }

  digest(
    batch: PacketBatch,
    headers: HeaderBatch,
    from: number,
    to: number,
    withSources: boolean,
  ): PacketDigests64 {
    const { bytes } = batch;
    let count = 0;
    let cut = 0;
    let at = 0;
    for (let row = from; row < to; row++) {
      if (headers.status[row] !== STATUS.decoded) continue;
      const end = batch.offset[row] + batch.capturedLength[row];
      const start = headers.ipOffset[row];
      const length = headers.ipLength[row];
      const next = writeInvariant(bytes, start, end, length, this.#payloadBytes, this.#bytes, at);
      if (next < 0) {
        cut++;
        continue;
      }
      this.#times[count] = timeOf(batch, row);
      this.#rows[count++] = row;
      this.#offsets[count] = next;
      at = next;
    }
    const packed = { bytes: this.#bytes, offsets: this.#offsets.subarray(0, count + 1) };
    const { words } = hashKeys(packed, this.#scheme, this.#words);
    return {
      count,
      cut,
      words: words.subarray(0, 2 * count),
      rows: this.#rows.subarray(0, count),
      times: this.#times.subarray(0, count),
      ...this.#sources(batch, headers, from, withSources ? to : from),
    };
  }

  /** Digests of the sources that were not noted just before. */
  #sources(
    batch: PacketBatch,
    headers: HeaderBatch,
    from: number,
    to: number,
  ): Pick<PacketDigests64, 'sourceWords' | 'sourceTimes'> {
    const words: number[] = [];
    const times: number[] = [];
    for (let row = from; row < to; row++) {
      if (headers.status[row] !== STATUS.decoded) continue;
      const ip = headers.ipOffset[row];
      const isIpv4 = headers.version[row] === 4;
      const [start, end] = isIpv4 ? [ip + 12, ip + 16] : [ip + 8, ip + 24];
      const address = batch.bytes.subarray(start, end);
      const timeS = timeOf(batch, row);
      const a = isIpv4 ? littleEndian(address, 0, 4) : littleEndian(address, 0, 8);
      const b = isIpv4 ? 4n : littleEndian(address, 8, 8);
      const slot = Number(BigInt.asUintN(64, (a ^ BigInt.asUintN(64, b * MIX)) * MIX) >> 51n);
      const isSame = this.#recent[2 * slot] === a && this.#recent[2 * slot + 1] === b;
      if (isSame && Math.abs(timeS - this.#recentTimes[slot]) < SOURCE_SLACK_S) continue;
      this.#recent[2 * slot] = a;
      this.#recent[2 * slot + 1] = b;
      this.#recentTimes[slot] = timeS;
      const { low, high } = hashKey(address, this.#scheme);
      words.push(low, high);
      times.push(timeS);
    }
    return { sourceWords: Int32Array.from(words), sourceTimes: Float64Array.from(times) };
  }
}

/** A number of `bytes` bytes from `at` on. */
function littleEndian(from: Uint8Array, at: number, bytes: number): bigint {
  let value = 0n;
  for (let i = bytes - 1; i >= 0; i--) value = (value << 8n) | BigInt(from[at + i]);
  return value;
}

function timeOf({ seconds, nanoseconds }: PacketBatch, row: number): number {
  return seconds[row] + nanoseconds[row] / 1e9;
}
