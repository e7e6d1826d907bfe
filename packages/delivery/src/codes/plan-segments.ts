/**
 * Content that is larger than one code, cut into segments of nearly equal numbers of blocks. Each
 * has a code of its own, so that memory and the dense part of the decoder stay bounded.
 */

import { MOST_BLOCKS } from './symbol-code.ts';

/** Blocks of a segment by default: 64 MiB in blocks of 16 KiB. */
const SEGMENT_BLOCKS = 4096;

export interface Segment {
  readonly from: number;
  readonly bytes: number;
}

/** Segments of at most `mostBlocks` blocks each, in order. */
export function planSegments(bytes: number, blockBytes: number, mostBlocks = SEGMENT_BLOCKS): Segment[] {
  if (!(Number.isSafeInteger(bytes) && bytes > 0 && Number.isInteger(blockBytes) && blockBytes > 0))
    throw new RangeError(
      `Cannot plan segments: expected positive numbers of bytes, got ${bytes} and ${blockBytes}`,
    );
  if (!(Number.isInteger(mostBlocks) && mostBlocks > 0 && mostBlocks <= MOST_BLOCKS))
    throw new RangeError(
      `Cannot plan segments: expected 1 to ${MOST_BLOCKS} blocks per segment, got ${mostBlocks}`,
    );
  const blocks = Math.ceil(bytes / blockBytes);
  const count = Math.ceil(blocks / mostBlocks);
  const starts = Array.from({ length: count + 1 }, (_, i) =>
    Math.min(bytes, Math.floor((i * blocks) / count) * blockBytes),
  );
  starts[count] = bytes;
  return starts.slice(0, -1).map((from, i) => ({ from, bytes: starts[i + 1] - from }));
}
