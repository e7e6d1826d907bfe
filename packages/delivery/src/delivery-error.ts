/**
 * The error of bytes or requests from a peer that a delivery cannot use. Bytes from a peer are
 * untrusted input: sizes are checked before anything is allocated on their word.
 */

export type DeliveryErrorCode =
  | 'malformed' // bytes that no correct peer sends
  | 'version' // bytes of a later version
  | 'limit' // more blocks, symbols or bytes than the caller allows
  | 'digest' // all that the sources have is another file
  | 'sources' // no source has the file, or none answers any more
  | 'origin' // the origin has no such file, or sends no ranges
  | 'exists' // another file is at the place already
  | 'changed'; // the file changed while it was served

export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  readonly code: DeliveryErrorCode;

  /** `what` completes "Cannot", as in "read a sketch". */
  constructor(code: DeliveryErrorCode, what: string, reason: string, options?: ErrorOptions) {
    super(`Cannot ${what}: ${reason}`, options);
    this.code = code;
  }
}
