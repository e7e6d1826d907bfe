/** The errors of signed publications. Callers distinguish them by `code`. */

export type SignatureErrorCode =
  /** The signature was not made by any of the keys, or its statement was changed. */
  | 'forged'
  /** The signature is for another name. */
  | 'name'
  /** The epoch is lower than one that the caller has seen or asks for. */
  | 'stale'
  /** The epoch was seen before, with other contents. */
  | 'conflict'
  /** The bytes are not those that the statement is about. */
  | 'contents'
  /** A leaf or its path does not lead to the root in the statement. */
  | 'proof'
  /** The bytes are no public key. */
  | 'key'
  /** The platform has no Ed25519, and the caller brought none. */
  | 'unsupported';

/**
 * A publication that must not be trusted, or cannot be checked. Bytes that are no signature at all
 * are a `FrameError`, as for all bytes of the library.
 */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';
  declare readonly code: SignatureErrorCode;

  constructor(code: SignatureErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
