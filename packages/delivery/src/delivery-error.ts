/**
 * The error of bytes or requests from a peer that a delivery cannot use. Bytes from a peer are
 * untrusted input: sizes are checked before anything is allocated on their word.
 */

export type DeliveryErrorCode =
  | 'malformed' // bytes that no correct peer sends
  | 'version' // bytes of a later version
  | 'limit'; // more blocks, symbols or bytes than the caller allows

export class DeliveryError extends Error {
  override readonly name = 'DeliveryError';
  readonly code: DeliveryErrorCode;

  /** `what` completes "Cannot", as in "read a sketch". */
  constructor(code: DeliveryErrorCode, what: string, reason: string) {
    super(`Cannot ${what}: ${reason}`);
    this.code = code;
  }
}
