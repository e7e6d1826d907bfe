/**
 * Keyed digests of packets, 64 bits each: SipHash-2-4 of the bytes that no router changes
 * (invariant-bytes.ts), under the secret key of one collector.
 *
 * Why keyed. The sender of a packet chooses its bytes. Without the key a sender could prepare
 * packets that are false positives in a table, or fill the table with few packets. Each collector
 * has a key of its own, so the false positives of two collectors are independent, which keeps the
 * graph of a trace small. A stolen table says nothing about packets without its key.
 *
 * The digest is the library's hash of the same bytes under the same key, so a table is an ordinary
 * filter, and `filter.has(invariantOf(packet))` asks it.
 */

import { type HashScheme, type KeyHashes, SecretKey } from 'bloomery';
import type { HeaderBatch } from '../../capture/headers/header-batch.ts';
import type { PacketBatch } from '../../capture/packet-batch.ts';
import type { DigestKernel, PacketDigests64 } from './digest-kernel.ts';
import { DEFAULT_PAYLOAD_BYTES, MOST_PAYLOAD_BYTES } from './invariant-bytes.ts';
import { MOST_ROWS } from './layout.ts';
import { ScriptDigests } from './script-digests.ts';
import { WasmDigests } from './wasm-digests.ts';

export interface PacketDigesterOptions {
  /** The collector's secret: 16 bytes from a cryptographic source of randomness. */
  readonly key: Uint8Array;
  /** Bytes of the payload in a digest, from 8 to 1480. Default 44. */
  readonly payloadBytes?: number;
  /** 'script' asks for the JavaScript twin. Default 'wasm' where WebAssembly is allowed. */
  readonly kernel?: 'wasm' | 'script';
}

/** Digests of some packets of a batch. */
export interface DigestBatch {
  /** The digests, for the library's filters. */
  readonly hashes: KeyHashes;
  /** The row of each digest in the batch. */
  readonly rows: Uint32Array;
  /** The time of each digest, in seconds since 1970. */
  readonly times: Float64Array;
  /** Digests of sources that were not noted in the half second before, and their times. */
  readonly sourceWords: Int32Array;
  readonly sourceTimes: Float64Array;
}

export class PacketDigester {
  readonly scheme: HashScheme;
  readonly payloadBytes: number;
  readonly #kernel: DigestKernel;
  #packets = 0;
  #cut = 0;

  constructor({ key, payloadBytes = DEFAULT_PAYLOAD_BYTES, kernel = 'wasm' }: PacketDigesterOptions) {
    checkPayloadBytes(payloadBytes);
    this.scheme = new SecretKey(key).scheme;
    this.payloadBytes = payloadBytes;
    const wasm = kernel === 'wasm' ? WasmDigests.create(key, payloadBytes) : null;
    this.#kernel = wasm ?? new ScriptDigests(this.scheme, payloadBytes);
  }

  /** Packets with a digest so far. */
  get packets(): number {
    return this.#packets;
  }

  /** Packets without a digest so far, because the capture cut bytes that count. */
  get cut(): number {
    return this.#cut;
  }

  /**
   * Yields the digests of a batch, in one piece unless the batch is very large, and those of its
   * sources if asked for. The arrays are valid until the next piece.
   */
  *digest(
    batch: PacketBatch,
    headers: HeaderBatch,
    { sources = false } = {},
  ): Generator<DigestBatch, void, undefined> {
    for (let from = 0; from < headers.count; from += MOST_ROWS) {
      const to = Math.min(headers.count, from + MOST_ROWS);
      const made: PacketDigests64 = this.#kernel.digest(batch, headers, from, to, sources);
      const { count, cut, words, rows, times, sourceWords, sourceTimes } = made;
      this.#packets += count;
      this.#cut += cut;
      if (count === 0 && sourceTimes.length === 0) continue;
      yield { hashes: { scheme: this.scheme, words, length: count }, rows, times, sourceWords, sourceTimes };
    }
  }
}

/** Throws a `RangeError` for a number of payload bytes that no digest has. */
function checkPayloadBytes(payloadBytes: number): void {
  if (Number.isInteger(payloadBytes) && payloadBytes >= 8 && payloadBytes <= MOST_PAYLOAD_BYTES) return;
  throw new RangeError(
    `Cannot use payloadBytes: expected an integer from 8 to ${MOST_PAYLOAD_BYTES}, got ${payloadBytes}`,
  );
}
