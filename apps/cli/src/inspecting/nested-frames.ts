/** The frames inside a frame: stages, generations, levels. docs/spec/frame.md, "Filters in a frame". */

export interface NestedFrame {
  /** Where it begins in the outer frame, and where it ends. */
  readonly start: number;
  readonly end: number;
}

/** Of a whole plain frame that was decoded before, so its lengths are right; none for the other structures. */
export function nestedFrames(frame: Uint8Array): NestedFrame[] {
  const first = PAYLOAD_STARTS[frame[5]];
  if (first === undefined) return [];
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const frames: NestedFrame[] = [];
  for (let at = first; at < frame.length - CHECKSUM; ) {
    const start = at + NOTE + LENGTH;
    const length = view.getUint32(at + NOTE, true) + 2 ** 32 * view.getUint16(at + NOTE + 4, true);
    frames.push({ start, end: start + length });
    at = start + length;
  }
  return frames;
}

/** By the number of the structure: 16 bytes, and its parameters. */
const PAYLOAD_STARTS: Record<number, number> = { 9: 16 + 37, 10: 16 + 19, 11: 16 + 7 };
const NOTE = 6;
const LENGTH = 6;
const CHECKSUM = 4;
