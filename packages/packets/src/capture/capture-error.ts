/**
 * The error of a capture or a flow export that cannot be read on. Captures are untrusted input:
 * every way in which their bytes can be wrong ends in this class, with the byte at which it was
 * detected, and nothing is allocated on the word of a length that they declare.
 *
 * Packets before that byte are delivered first. So a caller that sums up packets keeps its sums,
 * and tells its user that the capture ended early.
 */

export type CaptureErrorCode =
  /** The first bytes are neither those of pcap nor those of pcapng. */
  | 'not-a-capture'
  /** The bytes are packed (gzip, zstd, xz, bzip2) and have to be unpacked first. */
  | 'packed'
  /** A version of the format that this release does not know. */
  | 'version'
  /** The bytes end in the middle of a record. */
  | 'truncated'
  /** A record contradicts itself or its file. */
  | 'malformed'
  /** A record is longer, or a file declares more interfaces, than the limits allow. */
  | 'limit';

/** The subject of errors about a file. */
export const CAPTURE = 'the capture';

export class CaptureError extends Error {
  override readonly name = 'CaptureError';
  readonly code: CaptureErrorCode;
  /** The byte of the (unpacked) input at which the fault was detected. */
  readonly offset: number;

  /** `subject` is the thing that was read, `reason` the expected and the found. */
  constructor(code: CaptureErrorCode, subject: string, reason: string, offset: number) {
    super(`Cannot read ${subject}: ${reason} (byte ${offset})`);
    this.code = code;
    this.offset = offset;
  }
}
