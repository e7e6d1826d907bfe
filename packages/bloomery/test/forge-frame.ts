/** Frames that no filter writes: any parameters with any payload, under a right checksum. */

import { encodeFrame, type FrameContent, type FrameKind } from '../src/frames/frame.ts';

export function forgeFrame(kind: FrameKind, content: FrameContent<Uint8Array>): Uint8Array {
  return encodeFrame({ ...kind, payloadBits: () => 8 * content.payload.length }, content);
}
