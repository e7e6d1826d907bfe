/**
 * Decodes an IPv6 header (RFC 8200) and the extension headers after it into a row of a
 * `HeaderBatch`. The protocol of the flow is the first one that is no extension header.
 *
 * A packet whose chain of extension headers is cut keeps its addresses, the number of the header
 * that could not be read as its protocol, and the mark `noPorts`. ESP hides what follows it, so it
 * is the protocol itself.
 */

import { type HeaderBatch, KEY_WORDS, MARK, STATUS } from './header-batch.ts';
import { readPorts } from './read-ports.ts';

const HOP_BY_HOP = 0;
const ROUTING = 43;
const FRAGMENT = 44;
const AUTHENTICATION = 51;
const NO_NEXT_HEADER = 59;
const DESTINATION_OPTIONS = 60;
const MOBILITY = 135;
const HOST_IDENTITY = 139;
const SHIM6 = 140;

/**
 * Decodes the header at `at` into row `row` and returns a `STATUS`. `end` is the end of the
 * captured bytes, `wireBytes` the length on the wire from `at` on.
 */
export function decodeIpv6(
  view: DataView,
  at: number,
  end: number,
  wireBytes: number,
  headers: HeaderBatch,
  row: number,
): number {
  if (end - at < 40) return STATUS.cut;
  if (view.getUint8(at) >>> 4 !== 6) return STATUS.malformed;
  let marks = 0;
  let length = 40 + view.getUint16(at + 4);
  let next = view.getUint8(at + 6);
  if (length === 40 && next !== NO_NEXT_HEADER && wireBytes > 40) {
    length = wireBytes;
    marks = MARK.lengthFromWire;
  }
  const stop = Math.min(end, at + length);
  let payload = at + 40;
  let isWhole = true;
  while (isExtension(next)) {
    if (stop - payload < 8) {
      isWhole = false;
      break;
    }
    const following = view.getUint8(payload);
    if (next === FRAGMENT) {
      marks |= MARK.fragment;
      headers.fragmentId[row] = view.getUint32(payload + 4);
      if ((view.getUint16(payload + 2) & 0xfff8) !== 0) marks |= MARK.laterFragment;
      // The two reserved bits and the M bit decide nothing here: an atomic fragment (offset 0, no
      // more fragments, RFC 6946) carries its ports like any first fragment.
    }
    const units = view.getUint8(payload + 1);
    if (next === FRAGMENT) payload += 8;
    else payload += next === AUTHENTICATION ? (units + 2) * 4 : (units + 1) * 8;
    next = following;
    if ((marks & MARK.laterFragment) !== 0) break;
  }
  let ports = 0;
  if ((marks & MARK.laterFragment) === 0) {
    const read = isWhole ? readPorts(view, payload, stop, next) : -1;
    if (read < 0) marks |= MARK.noPorts;
    else ports = read;
  }
  const word = row * KEY_WORDS;
  const { keys } = headers;
  for (let i = 0; i < 8; i++) keys[word + i] = view.getUint32(at + 8 + 4 * i);
  keys[word + 8] = ports;
  keys[word + 9] = 0x600 | next;
  headers.version[row] = 6;
  headers.ipLength[row] = length;
  headers.ipOffset[row] = at;
  headers.payloadOffset[row] = payload;
  headers.marks[row] = marks;
  return STATUS.decoded;
}

function isExtension(next: number): boolean {
  switch (next) {
    case HOP_BY_HOP:
    case ROUTING:
    case FRAGMENT:
    case AUTHENTICATION:
    case DESTINATION_OPTIONS:
    case MOBILITY:
    case HOST_IDENTITY:
    case SHIM6:
      return true;
    default:
      return false;
  }
}
