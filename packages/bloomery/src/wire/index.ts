/**
 * Filters as messages: coded frames, deltas, and the session that keeps a summary current.
 *
 * @example
 * ```ts
 * import { BloomFilter } from 'bloomery';
 * import { compressFrame, expandFrame } from 'bloomery/wire';
 *
 * const summary = new BloomFilter({ bits: 140_000, hashes: 2 });
 * const message = compressFrame(summary.encode());
 * BloomFilter.decode(expandFrame(message));
 * ```
 */

export { CodedBits, type Coding, decodeBits, unpackStream } from './bit-code.ts';
export { CompressedBloomFilter, type CompressedFilterOptions } from './compressed-bloom-filter.ts';
export {
  type CompressOptions,
  codingOf,
  compressFrame,
  type ExpandOptions,
  expandFrame,
} from './compressed-frame.ts';
export {
  applyDelta,
  type DeltaOptions,
  deltaEnds,
  frameSum,
  makeDelta,
  OtherSnapshotError,
} from './delta.ts';
export {
  type BitsPlan,
  type CodedPiece,
  type Effort,
  encodeBits,
  encodePiece,
  joinPieces,
  pieceCount,
  planBits,
} from './encode-bits.ts';
export { type FittedMessage, fitMessage } from './fit-message.ts';
export { Publisher, type PublisherOptions } from './publisher.ts';
export {
  type Outcome,
  Subscriber,
  type SubscriberOptions,
  type SyncStatus,
  type Verdict,
} from './subscriber.ts';
export {
  type DeltaMessage,
  type FullMessage,
  type Generation,
  type GenerationName,
  type HeartbeatMessage,
  type PublisherMessage,
  type RequestMessage,
  readSyncMessage,
  type SyncMessage,
  writeSyncMessage,
} from './sync-message.ts';
