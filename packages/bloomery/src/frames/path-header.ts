/**
 * The bytes of a filter that travels in a packet (docs/spec/path-filter.md):
 *
 *     0  1  version, 1
 *     1  1  bytes of the filter, 1 to 255: m / 8
 *     2  1  bits that each node sets, 1 to 64: k
 *     3  1  high half: repetitions before the alarm, 1 to 15: r; low half: repetitions so far, below r
 *     4  1  nodes visited, 0 to 255
 *     5  1  0
 *     6  2  salt, little-endian
 *     8  …  the filter
 *
 * It is no frame. A frame's envelope, head and checksum take 27 bytes, more than the 8 to 32 bytes
 * of the filter itself, and every packet pays them at every hop. The packet around it has a length
 * and a checksum already (UDP's), and the header needs no hash scheme: each node compares the
 * filter with its own bits only, so nodes need not agree on a hash.
 *
 * Untrusted input is safe: the length is checked before anything is read, nothing is allocated, and
 * a filter with more ones than its nodes can have set is refused.
 */

import { MAX_PATH_HASHES, MAX_PATH_HOPS } from '../math/paths/path-alarm.ts';
import { decoding, refuse } from './envelope.ts';

/** The bytes before the filter. */
export const PATH_HEAD = 8;
const PATH_VERSION = 1;

export interface PathParameters {
  readonly bits: number;
  readonly hashes: number;
  readonly repeats: number;
  readonly salt: number;
}

/** A header for a packet that has visited no node yet. */
export function writePathHeader({ bits, hashes, repeats, salt }: PathParameters): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(PATH_HEAD + bits / 8);
  header.set([PATH_VERSION, bits / 8, hashes, repeats << 4, 0, 0, salt & 255, salt >> 8]);
  return header;
}

/** The header at the start of `packet`, as a view of it. Throws a `FrameError` if there is none. */
export function pathHeaderOf(packet: Uint8Array): Uint8Array {
  if (!(packet instanceof Uint8Array)) {
    throw new TypeError('Cannot decode path filter: expected a Uint8Array');
  }
  return decoding('path filter', () => checkPathHeader(packet));
}

function checkPathHeader(packet: Uint8Array): Uint8Array {
  if (packet.length > 0 && packet[0] !== PATH_VERSION) {
    refuse('version', 0, `version ${PATH_VERSION}`, packet[0]);
  }
  if (packet.length < PATH_HEAD) {
    refuse('truncated', packet.length, `at least ${PATH_HEAD} bytes`, packet.length);
  }
  const [, bytes, hashes, runs, hops, zero] = packet;
  const most = Math.min(8 * bytes, MAX_PATH_HASHES);
  if (bytes === 0) refuse('parameters', 1, 'at least 1 byte of filter', 0);
  if (hashes < 1 || hashes > most) refuse('parameters', 2, `from 1 to ${most} bits per node`, hashes);
  const run = runs & 15;
  if (runs >> 4 === 0) refuse('parameters', 3, 'at least 1 repetition before the alarm', 0);
  if (run >= runs >> 4) refuse('parameters', 3, `fewer than ${runs >> 4} repetitions so far`, run);
  if (zero !== 0) refuse('parameters', 5, 0, zero);
  const end = PATH_HEAD + bytes;
  if (packet.length < end) refuse('truncated', packet.length, `${end} bytes`, packet.length);
  const header = packet.subarray(0, end);
  const ones = onesOf(header.subarray(PATH_HEAD));
  const [fewest, highest] = [hops > 0 ? hashes : 0, (hops - run) * hashes];
  if (ones < fewest || ones > highest) {
    refuse('payload', PATH_HEAD, `${fewest} to ${Math.max(fewest, highest)} ones after ${hops} nodes`, ones);
  }
  return header;
}

/** The number of ones in a few bytes. */
function onesOf(bytes: Uint8Array): number {
  let ones = 0;
  for (let byte of bytes) for (; byte > 0; byte &= byte - 1) ones++;
  return ones;
}

export function headerBits(header: Uint8Array): number {
  return 8 * header[1];
}

export function headerHashes(header: Uint8Array): number {
  return header[2];
}

export function headerRepeats(header: Uint8Array): number {
  return header[3] >> 4;
}

export function headerSalt(header: Uint8Array): number {
  return header[6] | (header[7] << 8);
}

/** The number of nodes visited. */
export function headerHops(header: Uint8Array): number {
  return header[4];
}

/** The number of nodes in a row that changed nothing, up to the last one visited. */
export function headerRun(header: Uint8Array): number {
  return header[3] & 15;
}

/** Counts a node in the header. Returns true if the alarm is reached. */
export function countNode(header: Uint8Array, changed: boolean): boolean {
  const repeats = header[3] >> 4;
  const run = changed ? 0 : Math.min(repeats, (header[3] & 15) + 1);
  const isFull = header[4] === MAX_PATH_HOPS;
  if (!isFull) header[4]++;
  header[3] = (repeats << 4) | run;
  return run >= repeats || isFull;
}
