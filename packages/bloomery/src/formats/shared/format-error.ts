/**
 * The error for an invalid foreign file. Other systems' readers hang, crash or allocate gigabytes
 * on bad bytes (google/guava#8463, hashlookup/fleur#10). Here it is always this error, thrown
 * before anything is allocated.
 */

import type { ForeignFormat } from './foreign-formats.ts';

/**
 * The reason why a file was refused, for callers that treat an unreadable filter as "maybe" and
 * continue.
 */
export type FormatErrorCode =
  | 'truncated' // fewer bytes than the header asks for
  | 'trailing' // bytes after the end
  | 'not-this-format' // the bytes are something else
  | 'version' // a version or variant that is not known here
  | 'parameters' // parameters that no filter of this format has
  | 'payload' // bits that contradict the parameters
  | 'limit'; // possibly valid, but larger than `maxBytes`

export class FormatError extends Error {
  override readonly name = 'FormatError';
  readonly format: ForeignFormat;
  readonly code: FormatErrorCode;
  /** The offset in the bytes where the error was detected. */
  readonly offset: number;

  constructor(format: ForeignFormat, code: FormatErrorCode, offset: number, message: string) {
    super(`Cannot read ${format} filter: ${message} (at byte ${offset})`);
    this.format = format;
    this.code = code;
    this.offset = offset;
  }
}
