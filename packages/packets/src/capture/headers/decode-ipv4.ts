/**
 * Decodes an IPv4 header (RFC 791) into a row of a `HeaderBatch`: options are skipped, and a
 * fragment after the first has no ports.
 */

import { type HeaderBatch, KEY_WORDS, MARK, STATUS } from './header-batch.ts';
import { readPorts } from './read-ports.ts';

const FRAGMENT_BITS = 0x3fff;
const FRAGMENT_OFFSET = 0x1fff;

/**
 * Decodes the header at `at` into row `row` and returns a `STATUS`. `end` is the end of the
 * captured bytes, `wireBytes` the length on the wire from `at` on.
 */
export function decodeIpv4(
  view: DataView,
  at: number,
  end: number,
  wireBytes: number,
  headers: HeaderBatch,
  row: number,
): number {
  if (end - at < 20) return STATUS.cut;
  const first = view.getUint32(at);
  const headerBytes = (first >>> 22) & 0x3c;
  if (first >>> 28 !== 4 || headerBytes < 20) return STATUS.malformed;
  let marks = 0;
  let length = first & 0xffff;
  if (length < headerBytes) {
    if (length !== 0) return STATUS.malformed;
    length = wireBytes;
    marks = MARK.lengthFromWire;
  }
  const protocol = view.getUint8(at + 9);
  const fragment = view.getUint16(at + 6) & FRAGMENT_BITS;
  const payload = at + headerBytes;
  let ports = 0;
  if (fragment !== 0) {
    marks |= MARK.fragment;
    headers.fragmentId[row] = view.getUint16(at + 4);
  }
  if ((fragment & FRAGMENT_OFFSET) !== 0) {
    marks |= MARK.laterFragment;
  } else {
    const read = readPorts(view, payload, Math.min(end, at + length), protocol);
    if (read < 0) marks |= MARK.noPorts;
    else ports = read;
  }
  const word = row * KEY_WORDS;
  const { keys } = headers;
  keys[word] = view.getUint32(at + 12);
  keys[word + 1] = view.getUint32(at + 16);
  keys[word + 2] = ports;
  keys[word + 3] = 0x400 | protocol;
  headers.version[row] = 4;
  headers.ipLength[row] = length;
  headers.ipOffset[row] = at;
  headers.payloadOffset[row] = payload;
  headers.marks[row] = marks;
  return STATUS.decoded;
}
