/** Checked reading of datagrams: a read past the end is a typed error that names its place. */

import { CaptureError } from '../capture-error.ts';

/** The subject of errors about datagrams. */
export const DATAGRAM = 'the flow export';

/** Throws unless `length` bytes lie between `at` and `end`. */
export function expectBytes(what: string, at: number, end: number, length: number): void {
  if (end - at >= length) return;
  const reason = `expected ${length} bytes of ${what}, got ${Math.max(0, end - at)}`;
  throw new CaptureError('malformed', DATAGRAM, reason, at);
}

/** An unsigned number of 1 to 8 bytes in network order; exact up to 2^53. Other lengths are 0. */
export function readUnsigned(view: DataView, at: number, length: number): number {
  switch (length) {
    case 4:
      return view.getUint32(at);
    case 8:
      return view.getUint32(at) * 4_294_967_296 + view.getUint32(at + 4);
    case 2:
      return view.getUint16(at);
    case 1:
      return view.getUint8(at);
    default: {
      if (length > 8) return 0;
      let value = 0;
      for (let i = 0; i < length; i++) value = value * 256 + view.getUint8(at + i);
      return value;
    }
  }
}

/** The time of an event that a device dates by its uptime, in milliseconds since 1970. */
export function uptimeToMs(exportMs: number, uptimeMs: number, eventMs: number): number {
  // Uptimes wrap after 49.7 days, so an event after the export was before the wrap.
  const age = (uptimeMs - eventMs) >>> 0;
  // Devices date a flow that ends with the export some milliseconds after it.
  return exportMs - (age > 0x8000_0000 ? age - 4_294_967_296 : age);
}
