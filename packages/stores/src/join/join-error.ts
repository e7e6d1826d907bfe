/** The errors of joins. Callers distinguish them by `code`. */

export type JoinErrorCode =
  /** The server's hash functions or its encoding are not those of the port. */
  | 'hash'
  /** A table or a column that does not exist. */
  | 'column'
  /** A column whose type cannot be a key, or two columns whose types differ. */
  | 'type'
  /** A column whose collation calls unequal texts equal. */
  | 'collation'
  /** A value that is not of the type of its column. */
  | 'value'
  /** A filter that was built for other keys, or by another hash. */
  | 'filter'
  /** A file that is not CSV or JSON lines, or has no such field. */
  | 'file';

export class JoinError extends Error {
  override readonly name = 'JoinError';
  readonly code: JoinErrorCode;

  constructor(code: JoinErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
