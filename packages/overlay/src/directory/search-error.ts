/** The errors of a search that callers catch. */

export type SearchErrorCode =
  /** The query has no word to search for, or too many. */
  | 'query'
  /** A message of another peer cannot be read, or contradicts itself. */
  | 'answer'
  /** A peer asks more often than this one allows. */
  | 'rate'
  /** The file of an invitation cannot be used. */
  | 'invitation';

export class SearchError extends Error {
  override readonly name = 'SearchError';
  readonly code: SearchErrorCode;

  constructor(code: SearchErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
