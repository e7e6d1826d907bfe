/**
 * Reads a filter from a frame that arrives in pieces: from a file in chunks, a stream, a response.
 *
 *     const filter = await decodeFilterFrom(createReadStream('words.blm'));
 *     const filter = await decodeFilterFrom(response.body, { maxBytes: 2 ** 33 });
 *
 * The bits of a BloomFilter and of a BlockedBloomFilter are written straight into the new filter,
 * chunk by chunk. So reading takes no memory besides the filter, and filters above 4 GiB can be
 * read (`decode` takes one Uint8Array, which has at most 2^32 elements in Node 20). The bytes of
 * the other structures are collected and then decoded.
 *
 * Untrusted input. A head of 28 bytes can declare 8 GiB. The size is compared with `maxBytes`
 * before anything is allocated; the default allows 128 MiB. No filter is returned half loaded:
 * length, checksum and unused bits are checked first.
 */

import { CODED_PAYLOAD } from '../frames/check-frame.ts';
import { CHECKSUM, checkLength, checkSum, refuse, viewOf } from '../frames/envelope.ts';
import { checkUnusedBits } from '../frames/frame.ts';
import { type FrameHead, frameHeadBytes, readFrameHead } from '../frames/frame-head.ts';
import { readFrameLayout } from '../frames/frame-layout.ts';
import { RunningChecksum } from '../frames/running-checksum.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import { BitStore } from '../kernel/bits/bit-store.ts';
import { type AbortOptions, untilAborted } from '../keys/abort.ts';
import { checkOptions } from '../keys/check-options.ts';
import { typeName } from '../keys/key.ts';
import { checkNumber } from '../math/checks.ts';
import { BlockedBloomFilter } from './blocked-bloom-filter.ts';
import { BloomFilter } from './bloom-filter.ts';
import { type AnyFilter, decodeFilter } from './decode-filter.ts';

export interface AssembleOptions {
  /** The secret key of a keyed filter. */
  readonly key?: SecretKey;
  /** Frames larger than this are refused. Default 128 MiB. */
  readonly maxBytes?: number;
}

/** `signal` ends the reading, even if the next chunk never comes. */
export interface DecodeFromOptions extends AssembleOptions, AbortOptions {}

/**
 * Reads a plain frame of any structure from chunks of any sizes. Throws a `FrameError` if the frame
 * is invalid.
 */
export async function decodeFilterFrom(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { signal, ...options }: DecodeFromOptions = {},
): Promise<AnyFilter> {
  const assembler = new FilterAssembler(options);
  const arriving = signal === undefined ? chunks : untilAborted(chunks, signal);
  for await (const chunk of arriving) assembler.push(chunk);
  return assembler.finish();
}

/** The same for callers that receive chunks, such as a sink: `push` each chunk, then `finish`. */
export class FilterAssembler {
  readonly #key: SecretKey | undefined;
  readonly #maxBytes: number;
  /** The first bytes, collected until the head is complete. */
  #first = new Uint8Array(0);
  #target: Target | undefined;

  constructor(options: AssembleOptions = {}) {
    checkOptions('FilterAssembler', options, ['key', 'maxBytes']);
    const { key, maxBytes = MAX_BYTES } = options;
    this.#key = key;
    this.#maxBytes = checkNumber('maxBytes', maxBytes, 0, Number.POSITIVE_INFINITY);
  }

  /** Takes the next bytes and copies them. After an error the assembler cannot be used any more. */
  push(chunk: Uint8Array): void {
    if (!(chunk instanceof Uint8Array)) {
      throw new TypeError(`Cannot assemble a filter: expected a Uint8Array, got ${typeName(chunk)}`);
    }
    if (this.#target !== undefined) {
      this.#target.add(chunk);
      return;
    }
    const first = new Uint8Array(this.#first.length + chunk.length);
    first.set(this.#first);
    first.set(chunk, this.#first.length);
    this.#first = first;
    if (first.length < frameHeadBytes(first)) return;
    this.#target = this.#open(first);
    this.#target.add(first);
    this.#first = new Uint8Array(0);
  }

  /** Returns the filter, once all bytes were pushed. */
  finish(): AnyFilter {
    if (this.#target === undefined) {
      // Reading fewer bytes than a head throws the right error. A whole head was refused by `push`.
      readFrameHead(this.#first);
      throw new TypeError('Cannot finish a filter: expected accepted chunks, got one that push refused');
    }
    return this.#target.finish();
  }

  #open(first: Uint8Array): Target {
    const head = readFrameHead(first);
    if (head.coded) refuse('payload', head.start, 'a plain payload', CODED_PAYLOAD);
    if (head.plainLength > this.#maxBytes)
      refuse('limit', head.start, `at most ${this.#maxBytes} bytes (maxBytes)`, head.plainLength);
    const key = this.#key === undefined ? {} : { key: this.#key };
    return head.structure === 'BloomFilter' || head.structure === 'BlockedBloomFilter'
      ? new BitsTarget(first, this.#key)
      : new WholeTarget(head, (bytes) => decodeFilter(bytes, key));
  }
}

/** 128 MiB, the same default as in `expandFrame`. */
const MAX_BYTES = 2 ** 27;

/** Receives the bytes of one frame, from its first byte on. */
interface Target {
  add(bytes: Uint8Array): void;
  finish(): AnyFilter;
}

/** Collects all bytes of a frame. */
class WholeTarget implements Target {
  readonly #bytes: Uint8Array;
  readonly #decode: (bytes: Uint8Array) => AnyFilter;
  #length = 0;

  constructor({ plainLength }: FrameHead, decode: (bytes: Uint8Array) => AnyFilter) {
    try {
      this.#bytes = new Uint8Array(plainLength);
    } catch (cause) {
      throw new RangeError(`Cannot allocate: expected ${plainLength} bytes`, { cause });
    }
    this.#decode = decode;
  }

  add(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length)
      checkLength(this.#length + bytes.length, this.#bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  finish(): AnyFilter {
    return this.#decode(this.#bytes.subarray(0, this.#length));
  }
}

/** Writes the bits of a frame to their place in a filter. */
class BitsTarget implements Target {
  readonly #layout: ReturnType<typeof readFrameLayout>;
  readonly #store: BitStore;
  readonly #sum = new RunningChecksum();
  readonly #written = new Uint8Array(CHECKSUM);
  #length = 0;

  constructor(head: Uint8Array, key: SecretKey | undefined) {
    this.#layout = readFrameLayout(head, { key });
    this.#store = BitStore.allocate(this.#layout.bits);
  }

  add(bytes: Uint8Array): void {
    const { start, end, length } = this.#layout;
    const at = this.#length;
    this.#length += bytes.length;
    if (this.#length > length) checkLength(this.#length, length);
    const summed = bytes.subarray(0, Math.max(0, end - at));
    this.#sum.add(summed);
    const payload = summed.subarray(Math.max(0, start - at));
    if (payload.length > 0) this.#store.setBytes(payload, Math.max(0, at - start));
    this.#written.set(bytes.subarray(summed.length), Math.max(0, at - end));
  }

  finish(): AnyFilter {
    const { layout, bits, blocks = 0, hashes, capacity, scheme, end, length } = this.#layout;
    checkLength(this.#length, length);
    checkSum(viewOf(this.#written).getUint32(0, true), this.#sum.value(), end);
    const bytes = Math.ceil(bits / 8);
    checkUnusedBits(this.#store.subarray(bytes - 1, bytes)[0], bits, end - 1);
    const shape = { hashes, capacity };
    if (layout === 'classic' || layout === 'partitioned')
      return new BloomFilter({ ...shape, layout, bits }, this.#store, scheme);
    return new BlockedBloomFilter({ ...shape, layout, blocks }, this.#store, scheme);
  }
}
