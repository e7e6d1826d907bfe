/**
 * Frames, the bytes of filters: parsing, checking, and reading and writing them in pieces.
 *
 * @example
 * ```ts
 * import { checkFrame, decodeFilter, decodeFilterFrom, frameChunks } from 'bloomery/frames';
 *
 * const { structure, parameters } = checkFrame(bytes); // throws a FrameError if a byte is wrong
 * const filter = decodeFilter(bytes); // reads any structure
 * for (const chunk of frameChunks(filter)) file.write(chunk);
 * const again = await decodeFilterFrom(createReadStream('filter.blm'));
 * ```
 */

export { type AnyFilter, type DecodeFilterOptions, decodeFilter } from './filters/decode-filter.ts';
export {
  type AssembleOptions,
  type DecodeFromOptions,
  decodeFilterFrom,
  FilterAssembler,
} from './filters/filter-assembler.ts';
export {
  candidatesOf,
  checkFrame,
  countersOf,
  type NestedFrame,
  nestedFrames,
  payloadOf,
} from './frames/check-frame.ts';
export type { CandidateRecord } from './frames/counter-kinds.ts';
export {
  CHECKSUM,
  checkChecksum,
  checkEnvelope,
  checkLength,
  checkSum,
  DELTA_MAGIC,
  decoding,
  FRAME_MAGIC,
  FrameError,
  type FrameErrorCode,
  hasMagic,
  type Magic,
  PAGE,
  pageSum,
  SIGNATURE_MAGIC,
  SYNC_MAGIC,
  VERSION,
  wholeSum,
  writeChecksum,
} from './frames/envelope.ts';
export { type FrameChunksOptions, frameChunks } from './frames/frame-chunks.ts';
export {
  canBeCoded,
  type FrameHash,
  type FrameHead,
  type FrameHeadOf,
  type FrameParameters,
  readFrameHead,
  type StructureName,
} from './frames/frame-head.ts';
export { type FrameLayout, type FrameLayoutOptions, readFrameLayout } from './frames/frame-layout.ts';
export { RunningChecksum } from './frames/running-checksum.ts';
export { withoutKey } from './frames/without-key.ts';
