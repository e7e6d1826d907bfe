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

export { CodedBits, type Coding, decodeBits, unpackStream } from './coding/bit-code.ts';
export { CompressedBloomFilter, type CompressedFilterOptions } from './coding/compressed-bloom-filter.ts';
export {
  type CompressOptions,
  codingOf,
  compressFrame,
  type ExpandOptions,
  expandFrame,
} from './coding/compressed-frame.ts';
export {
  type ApplyOptions,
  applyDelta,
  type DeltaOptions,
  deltaEnds,
  makeDelta,
  OtherSnapshotError,
} from './coding/delta.ts';
export {
  type BitsPlan,
  type CodedPiece,
  type Effort,
  encodeBits,
  encodePiece,
  joinPieces,
  pieceCount,
  planBits,
} from './coding/encode-bits.ts';
export { type FittedMessage, fitMessage } from './coding/fit-message.ts';
export { frameSum } from './coding/snapshot.ts';
export {
  applyListUpdate,
  joinListChanges,
  type ListChanges,
  listChanges,
  makeListUpdate,
  readListUpdate,
} from './sets/list-update.ts';
export { mixPosition, positionOf } from './sets/positions.ts';
export { SharedSets } from './sets/shared-sets.ts';
export { finishSteps, type Steps } from './sets/steps.ts';
export type { SyncOutcome, SyncStatus, SyncVerdict } from './sync/follower.ts';
export { Publisher, type PublisherOptions } from './sync/publisher.ts';
export {
  AT_REST,
  afterSending,
  type PendingChanges,
  SEND_LIMITS,
  type SendDecision,
  type SendLimits,
  type SendPace,
  shouldSend,
} from './sync/send-pacing.ts';
export { type PublishOptions, SetPublisher, type SetPublisherOptions } from './sync/set-publisher.ts';
export { type PositionChange, SetSubscriber, type SetSubscriberOptions } from './sync/set-subscriber.ts';
export { SnapshotPublisher, type SnapshotPublisherOptions } from './sync/snapshot-publisher.ts';
export {
  Subscriber,
  type SubscriberOptions,
  type Summary,
  type SummaryStructure,
} from './sync/subscriber.ts';
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
} from './sync/sync-message.ts';

import type { SyncOutcome, SyncVerdict } from './sync/follower.ts';

/** @deprecated Use `SyncOutcome`, which is the same type under an unambiguous name. */
export type Outcome = SyncOutcome;

/** @deprecated Use `SyncVerdict`, which is the same type under an unambiguous name. */
export type Verdict = SyncVerdict;
