/**
 * Positions of a key's bits in the frame of a filter, for programs that change a file without
 * reading all of it.
 *
 * A `BloomFilter` or a `BlockedBloomFilter` is written as an array of bits, and a key changes a few
 * of them. The first bytes of the frame (28 at most) say where. `readFrameLayout` reads them, and
 * `bitOffsets` gives for each key the places of the bits that `add` would set, counted from the
 * first bit of the frame. Bit i of a frame is bit i % 8 of byte i / 8. The checksum is the XOR of
 * one number per page (frame.ts). So a page that changes from `old` to `new` changes the checksum
 * by `pageSum(page, old) ^ pageSum(page, new)`, whatever the other pages contain:
 *
 // Head: the first 64 bytes of a file, say.
 *     const layout = readFrameLayout(head);
 // Page: floor(bit / 8 / layout.pageLength).
 *     for (const bit of layout.bitOffsets(['So What'])) …
 *     // OR the bits into their pages, write those back, and the checksum at layout.end
 *
 * What it promises. The bits are the ones that `add` sets, in both kernels, because the same
 * functions compute them: the probes of kernel/bits/classic.ts and kernel/bits/blocked.ts take the
 * function that sets a bit as an argument, and here that function records the place instead. The
 * result is byte for byte the same as loading, adding and encoding.
 *
 * What it costs. Measured with the hashing, on a busy machine: 50 to 80 ns per place. Eight bytes
 * per place: 56 per key at 1 %.
 *
 * What it does not do: read or check the rest. A frame that was damaged before stays damaged, and
 * its checksum stays wrong by the same amount, so the damage is neither found nor hidden. In
 * counters, lists and coded frames a key's bits have no fixed place, or more than one bit changes
 * there. They are refused with a `FrameError`.
 */

import type { HashScheme } from '../hashing/hash-scheme.ts';
import type { SecretKey } from '../hashing/secret-key.ts';
import { parquetHash } from '../hashing/xxh64-scheme.ts';
import { chunkHashes, countOf, eachChunk, type KeyBatch } from '../kernel/batches/batch.ts';
import { BLOCK_BITS, blockedAdd, SPLIT_BLOCK_BITS, splitBlockAdd } from '../kernel/bits/blocked.ts';
import { classicAdd, type SetBit } from '../kernel/bits/classic.ts';
import { CHUNK_KEYS } from '../kernel/wasm/chunk.ts';
import { checkOptions } from '../keys/check-options.ts';
import { BLOCKED_LAYOUTS, BLOOM_LAYOUTS } from '../math/layouts.ts';
import { CHECKSUM, FrameError, PAGE, pageSum } from './envelope.ts';
import { CODED, checkParameters, type FrameKind, kindAmong, readHead, readScheme } from './frame.ts';
import { BLOCKED_FRAME, BLOOM_FRAME } from './frame-kinds.ts';

/**
 * Description of a whole frame, read from its first bytes. Offsets and lengths are in bytes unless
 * their names say bits.
 */
export interface FrameLayout {
  readonly structure: 'BloomFilter' | 'BlockedBloomFilter';
  readonly layout: 'classic' | 'partitioned' | 'blocked' | 'split-block';
  /** The number of bits, m. */
  readonly bits: number;
  /** The number of blocks of a BlockedBloomFilter; undefined for a BloomFilter. */
  readonly blocks: number | undefined;
  /** The number of places per key, k. */
  readonly hashes: number;
  readonly capacity: number | undefined;
  readonly scheme: HashScheme;
  /** Offset of the payload. */
  readonly start: number;
  /** End of the payload, where the checksum begins, which has four bytes, little-endian. */
  readonly end: number;
  /** Length of the whole frame. */
  readonly length: number;
  /** Length of each page of the checksum except the last, which ends at `end`. */
  readonly pageLength: number;
  readonly pageCount: number;
  /**
   * The bits of the frame that adding these keys sets: `hashes` places per key, in the order of the
   * keys. Some may be the same.
   */
  bitOffsets(keys: KeyBatch): Float64Array;
  /**
   * The number that a page contributes to the checksum by XOR: an unsigned 32-bit number.
   * `contents` is exactly that page.
   */
  pageSum(page: number, contents: Uint8Array): number;
}

export interface FrameLayoutOptions {
  /** The secret key of a keyed filter. */
  readonly key?: SecretKey | undefined;
}

/**
 * Reads the first bytes of a frame. 28 are enough; more are ignored. Throws a `FrameError` if they
 * are invalid.
 */
export function readFrameLayout(head: Uint8Array, options: FrameLayoutOptions = {}): FrameLayout {
  checkOptions('readFrameLayout', options, ['key']);
  const kind = kindAmong([EITHER_FRAME, BLOCKED_FRAME], head);
  const { variant, parameters, start } = readHead(kind, head);
  if (variant >= CODED) throw new FrameError('payload', 6, 'expected a plain payload, got a coded one');
  const end = start + Math.ceil(kind.payloadBits(variant, parameters) / 8);
  const blocked = kind === BLOCKED_FRAME;
  const scheme = readScheme(head, options.key);
  const layout = (blocked ? BLOCKED_LAYOUTS : BLOOM_LAYOUTS)[variant];
  checkParameters(layout !== 'split-block' || scheme === parquetHash(), `layout ${layout} and ${scheme.id}`);

  const [size, hashes, capacity] = parameters;
  const bits = blocked ? size * (layout === 'blocked' ? BLOCK_BITS : SPLIT_BLOCK_BITS) : size;
  const pageCount = Math.ceil(end / PAGE);
  return {
    structure: blocked ? 'BlockedBloomFilter' : 'BloomFilter',
    layout,
    bits,
    blocks: blocked ? size : undefined,
    hashes,
    capacity: capacity || undefined,
    scheme,
    start,
    end,
    length: end + CHECKSUM,
    pageLength: PAGE,
    pageCount,
    bitOffsets: (keys) => bitOffsets(keys, scheme, prober(layout, size, hashes), hashes, 8 * start),
    pageSum: (page, contents) => {
      const length = Number.isInteger(page) && page >= 0 ? Math.min(PAGE, end - page * PAGE) : 0;
      if (!(length > 0))
        throw new RangeError(
          `Cannot sum the page: expected a number from 0 to ${pageCount - 1}, got ${page}`,
        );
      if (contents.length !== length) {
        throw new RangeError(`Cannot sum page ${page}: expected ${length} bytes, got ${contents.length}`);
      }
      return pageSum(page, contents) >>> 0;
    },
  };
}

/** Sets the bits of a key, given by its hash, as the filter's own `add` would. */
type Probe = (low: number, high: number, set: SetBit) => void;

function prober(layout: FrameLayout['layout'], size: number, k: number): Probe {
  switch (layout) {
    case 'classic':
      return (low, high, set) => classicAdd(NO_WORDS, low, high, size, 0, k, set);
    case 'partitioned':
      return (low, high, set) => classicAdd(NO_WORDS, low, high, size / k, size / k, k, set);
    case 'blocked':
      return (low, high, set) => blockedAdd(NO_WORDS, low, high, size, k, set);
    case 'split-block':
      return (low, high, set) => splitBlockAdd(NO_WORDS, low, high, size, set);
  }
}

function bitOffsets(
  keys: KeyBatch,
  scheme: HashScheme,
  probe: Probe,
  hashes: number,
  base: number,
): Float64Array {
  let places = new Float64Array(hashes * (countOf(keys) || CHUNK_KEYS));
  let used = 0;
  const note: SetBit = (_, word, mask) => {
    // A word's number times 32 can exceed 2^32, so we must not shift here.
    places[used++] = base + 32 * word + 31 - Math.clz32(mask);
    return false;
  };
  eachChunk(keys, scheme, (count, wasm) => {
    if (used + hashes * count > places.length) {
      const larger = new Float64Array(Math.max(2 * places.length, used + hashes * count));
      larger.set(places);
      places = larger;
    }
    const words = chunkHashes(wasm);
    for (let i = 0; i < count; i++) probe(words[2 * i], words[2 * i + 1], note);
  });
  return used === places.length ? places : places.slice(0, used);
}

/** An empty array, because the probes only report which words they would change. */
const NO_WORDS = /* @__PURE__ */ new Uint32Array(0);
/** Named for its error message: `expected 1 (BloomFilter) or 2 (BlockedBloomFilter), got 3`. */
const EITHER_FRAME: FrameKind = { ...BLOOM_FRAME, name: 'BloomFilter) or 2 (BlockedBloomFilter' };
