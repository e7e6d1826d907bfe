/** Inputs that were damaged on purpose, from a fixed seed, and the checks that all of them meet. */

import {
  CaptureDecoder,
  CaptureError,
  HeaderBatch,
  HeaderDecoder,
  PacketBatch,
} from '../../src/capture/index.ts';

/** Numbers from 0 to `below - 1` from a fixed seed (xorshift32). */
export function numbersFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const WORDS = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x10000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/** A damaged copy of one of the inputs: up to eight flips, numbers, cuts, repetitions, mixtures. */
export function mutate(inputs: readonly Uint8Array[], next: (below: number) => number): Uint8Array {
  let bytes = inputs[next(inputs.length)].slice();
  for (let i = next(8); i >= 0 && bytes.length > 4; i--) {
    const at = next(bytes.length);
    switch (next(7)) {
      case 0:
        bytes[at] ^= 1 << next(8);
        break;
      case 1:
        bytes[at] = next(256);
        break;
      case 2:
        if (at + 4 <= bytes.length) {
          new DataView(bytes.buffer).setUint32(at, WORDS[next(WORDS.length)], next(2) === 0);
        }
        break;
      case 3:
        if (at + 2 <= bytes.length) {
          new DataView(bytes.buffer).setUint16(at, WORDS[next(WORDS.length)] & 0xffff, next(2) === 0);
        }
        break;
      case 4:
        bytes = bytes.slice(0, at + 1);
        break;
      case 5:
        bytes.copyWithin(at, next(bytes.length));
        break;
      default: {
        const other = inputs[next(inputs.length)];
        bytes.set(other.subarray(0, bytes.length - at), at);
      }
    }
  }
  return bytes;
}

const batch = new PacketBatch(5);
const headers = new HeaderBatch(batch.capacity);

/**
 * Decodes a capture with everything turned on and checks that each packet lies in its memory.
 * Returns the packets and the code of the typed error, if there was one. Any other error is thrown
 * on.
 */
export function decodeHostile(bytes: Uint8Array, chunkBytes: number): { packets: number; code: string } {
  const decoder = new CaptureDecoder();
  const headerDecoder = new HeaderDecoder({ tunnels: ['gre', 'vxlan', 'ip'], joinFragments: true });
  let packets = 0;
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      decoder.push(bytes.subarray(at, at + chunkBytes));
      while (decoder.next(batch)) {
        headerDecoder.decode(batch, headers);
        checkRows();
        packets += batch.count;
      }
    }
    decoder.end();
    return { packets, code: '' };
  } catch (error) {
    if (!(error instanceof CaptureError)) throw error;
    if (!(error.offset >= 0 && error.offset <= bytes.length)) {
      throw new Error(`Cannot accept an error: expected an offset in the input, got ${error.offset}`);
    }
    return { packets, code: error.code };
  }
}

function checkRows(): void {
  for (let row = 0; row < batch.count; row++) {
    const end = batch.offset[row] + batch.capturedLength[row];
    const isInside = end <= batch.bytes.length && batch.nanoseconds[row] < 1e9;
    const hasHeader = headers.status[row] !== 0 || headers.ipOffset[row] + 20 <= end;
    if (!isInside || !hasHeader)
      throw new Error(`Cannot accept a packet: expected it in its memory, got row ${row}`);
  }
}
