/**
 * The failures of a shared filter that a correct program meets. Callers distinguish them by `code`.
 */

export type SharedFilterErrorCode =
  /** The server cannot be reached, refuses the login or a command, or is not a master. */
  | 'unavailable'
  /** The server may evict keys, and the filter would be lost. */
  | 'eviction'
  /** The filter of this name has another hash, seed or secret key. */
  | 'scheme'
  /** There is no filter of this name, and the caller did not want to create one. */
  | 'missing'
  /** The server lost keys of a filter on the server. */
  | 'lost'
  /** More adds than the caller allows wait for the server. */
  | 'backlog'
  /** The time that the caller gave is over. */
  | 'timeout'
  /** The filter was closed. */
  | 'closed';

export class SharedFilterError extends Error {
  override readonly name = 'SharedFilterError';
  readonly code: SharedFilterErrorCode;

  constructor(code: SharedFilterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
