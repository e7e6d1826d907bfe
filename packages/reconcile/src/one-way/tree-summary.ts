/**
 * The message of an approximate reconciliation tree: a Bloom filter of the leaves' values, and one
 * of the inner nodes' values.
 *
 *     0   4  'BLMT'
 *     4   1  version 1
 *     5   4  bytes of the first frame, little-endian
 *     9      frame of the filter of leaves, then frame of the filter of inner nodes
 *
 * Both frames are those of `BloomFilter` (docs/spec/frame.md), so sizes are checked against the
 * bytes at hand before anything is allocated, and checksums detect damage. The seed, or the check
 * value of the key, is in them. Reader and writer must hash alike, and `surelyMissing` refuses a
 * summary that was made with another seed.
 */

import { BloomFilter, type SecretKey } from 'bloomery';
import { ReconcileError, refuse } from '../reconcile-error.ts';

const MAGIC = [66, 76, 77, 84];
const VERSION = 1;
const HEAD_BYTES = 9;

export interface TreeDecodeOptions {
  /** The key, if the tree was built with one. */
  readonly key?: SecretKey;
  /** Limit on the bytes of the message. Default 256 MiB. */
  readonly maxBytes?: number;
}

export class TreeSummary {
  /** The values of the leaves, one per key. */
  readonly leaves: BloomFilter;
  /** The values of the inner nodes. */
  readonly inner: BloomFilter;

  /** @internal */
  constructor(leaves: BloomFilter, inner: BloomFilter) {
    this.leaves = leaves;
    this.inner = inner;
  }

  encode(): Uint8Array<ArrayBuffer> {
    const leaves = this.leaves.encode();
    const inner = this.inner.encode();
    const message = new Uint8Array(HEAD_BYTES + leaves.length + inner.length);
    message.set([...MAGIC, VERSION]);
    new DataView(message.buffer).setUint32(5, leaves.length, true);
    message.set(leaves, HEAD_BYTES);
    message.set(inner, HEAD_BYTES + leaves.length);
    return message;
  }

  /**
   * Reads a message. Throws a `ReconcileError` if it is none, and a `FrameError` if one of its
   * filters is damaged.
   */
  static decode(message: Uint8Array, options: TreeDecodeOptions = {}): TreeSummary {
    const { maxBytes = 2 ** 28, key } = options;
    const { length } = message;
    if (length > maxBytes)
      throw new ReconcileError('limit', `expected at most ${maxBytes} bytes, got ${length} (tree summary)`);
    if (length < HEAD_BYTES) refuse(`${HEAD_BYTES} bytes or more`, length, 'tree summary');
    if (MAGIC.some((byte, i) => message[i] !== byte)) refuse("'BLMT'", 'other bytes', 'tree summary');
    const view = new DataView(message.buffer, message.byteOffset, length);
    const version = view.getUint8(4);
    if (version !== VERSION)
      throw new ReconcileError('version', `expected version ${VERSION}, got ${version} (tree summary)`);
    const end = HEAD_BYTES + view.getUint32(5, true);
    if (end > length) refuse(`${end} bytes or more`, length, 'tree summary');
    const reading = key === undefined ? {} : { key };
    const leaves = BloomFilter.decode(message.subarray(HEAD_BYTES, end), reading);
    const inner = BloomFilter.decode(message.subarray(end), reading);
    if (leaves.scheme.id !== inner.scheme.id)
      refuse('two filters with one seed', `${leaves.scheme.id} and ${inner.scheme.id}`, 'tree summary');
    return new TreeSummary(leaves, inner);
  }
}
