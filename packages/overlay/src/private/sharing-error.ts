/**
 * The error of shared sets that must not be made, combined or believed. A wrong option is a
 * `TypeError` or a `RangeError`, as everywhere.
 */

export type SharingErrorCode =
  | 'budget' // one more release would cost more privacy than the owner allowed
  | 'overfull' // a composite or a friend's filter that would answer "maybe" too often
  | 'malformed' // bytes that are no randomised or sealed filter
  | 'forged' // a sealed filter that another secret sealed, or that was changed
  | 'version' // bytes of a later version
  | 'limit'; // more bits or bytes than the caller allows

export class SharingError extends Error {
  override readonly name = 'SharingError';
  readonly code: SharingErrorCode;

  constructor(code: SharingErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
