/**
 * The Bloom filter in a sync message of Automerge: the changes that the sender has since the last
 * common heads (Kleppmann, Howard: arXiv 2012.00472).
 *
 *     varint  entries: number of change hashes in the filter
 *     varint  bits per entry (Automerge writes 10)
 *     varint  probes per entry (7)
 *             the bits: ceil(entries · bits per entry / 8) bytes, least significant bit first
 *
 * A filter of nothing has no bytes at all. Parameters travel in the message, so we take any that
 * fit the bytes at hand. A change hash is a SHA-256, and the probes come from its first 12 bytes
 * without further hashing: x, y and z are three words of 32 bits, little-endian, modulo the bits;
 * each probe is x, then x += y and y += z ("triple hashing").
 *
 * It stands here and not among the formats of the library: it is a part of a message and no file,
 * its keys are change hashes alone, and its use is the question of this package. With 7 probes of
 * 10 bits, about 1 % of the changes that the sender lacks seem to be there. Automerge asks for
 * them in a later message, by `need`.
 */

import { ReconcileError, refuse } from '../reconcile-error.ts';
import { ByteReader } from '../wire/byte-reader.ts';
import { ByteWriter } from '../wire/byte-writer.ts';

const HASH_BYTES = 32;
const WHERE = 'Automerge filter';
/** More probes than this only cost time. */
const MOST_PROBES = 64;

export interface AutomergeFilterOptions {
  /** Limit on the bytes of the filter. Default 256 MiB. */
  readonly maxBytes?: number;
}

export class AutomergeSyncFilter {
  /** Number of change hashes in the filter. */
  readonly entries: number;
  readonly bitsPerEntry: number;
  readonly probes: number;
  readonly #bits: Uint8Array;

  private constructor(entries: number, bitsPerEntry: number, probes: number, bits: Uint8Array) {
    this.entries = entries;
    this.bitsPerEntry = bitsPerEntry;
    this.probes = probes;
    this.#bits = bits;
  }

  /** A filter of these change hashes with Automerge's parameters. */
  static of(hashes: Iterable<Uint8Array>): AutomergeSyncFilter {
    const list = Array.from(hashes);
    const filter = new AutomergeSyncFilter(
      list.length,
      10,
      7,
      new Uint8Array(Math.ceil((10 * list.length) / 8)),
    );
    for (const hash of list) filter.#probe(hash, true);
    return filter;
  }

  /** Reads the bytes of a filter. Throws a `ReconcileError` if they are none. */
  static decode(bytes: Uint8Array, { maxBytes = 2 ** 28 }: AutomergeFilterOptions = {}): AutomergeSyncFilter {
    if (bytes.length > maxBytes)
      throw new ReconcileError('limit', `expected at most ${maxBytes} bytes, got ${bytes.length} (${WHERE})`);
    if (bytes.length === 0) return AutomergeSyncFilter.of([]);
    const reader = new ByteReader(bytes, WHERE);
    const entries = reader.varint(2 ** 32 - 1);
    const bitsPerEntry = reader.varint(2 ** 32 - 1);
    const probes = reader.varint(2 ** 32 - 1);
    if (probes > MOST_PROBES) refuse(`at most ${MOST_PROBES} probes`, probes, WHERE);
    const length = Math.ceil((entries * bitsPerEntry) / 8);
    if (entries > 0 && (length === 0 || probes === 0))
      refuse('bits and probes for the entries', `${bitsPerEntry} bits and ${probes} probes`, WHERE);
    const bits = reader.take(length);
    reader.end();
    return new AutomergeSyncFilter(entries, bitsPerEntry, probes, bits.slice());
  }

  /** True if the sender may have the change, false if it certainly lacks it. */
  has(hash: Uint8Array): boolean {
    return this.#bits.length > 0 && this.#probe(hash, false);
  }

  encode(): Uint8Array<ArrayBuffer> {
    if (this.entries === 0) return new Uint8Array(0);
    const writer = new ByteWriter().varint(this.entries).varint(this.bitsPerEntry).varint(this.probes);
    return writer.bytes(this.#bits).finish();
  }

  /** Sets the bits of a change hash, or says whether all of them are set. */
  #probe(hash: Uint8Array, adds: boolean): boolean {
    if (!(hash instanceof Uint8Array) || hash.length !== HASH_BYTES)
      throw new TypeError(`Cannot use the change hash: expected ${HASH_BYTES} bytes, got ${hash?.length}`);
    const bits = this.#bits;
    const modulus = 8 * bits.length;
    const view = new DataView(hash.buffer, hash.byteOffset, 12);
    let x = view.getUint32(0, true) % modulus;
    let y = view.getUint32(4, true) % modulus;
    const z = view.getUint32(8, true) % modulus;
    for (let i = 0; i < this.probes; i++) {
      const at = Math.floor(x / 8);
      if (adds) bits[at] |= 1 << (x % 8);
      else if ((bits[at] & (1 << (x % 8))) === 0) return false;
      x = (x + y) % modulus;
      y = (y + z) % modulus;
    }
    return true;
  }
}
