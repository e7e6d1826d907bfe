/** The errors of text indexes. Callers distinguish them by `code`. */

export type TextIndexErrorCode =
  /** The bytes end before the parts that they announce. */
  | 'truncated'
  /** The bytes are no text index. */
  | 'not-an-index'
  /** A later version of Bloomery wrote the index. */
  | 'version'
  /** Parameters that no index has. */
  | 'parameters'
  /** The bytes were changed after they were written. */
  | 'checksum'
  /** Tables that contradict each other. */
  | 'payload';

/**
 * An index that cannot be read. A program that searches by an index reads the files whole instead:
 * no line is missed.
 */
export class TextIndexError extends Error {
  override readonly name = 'TextIndexError';
  readonly code: TextIndexErrorCode;
  /** The byte of the index at which the fault was noticed. */
  readonly offset: number;

  constructor(code: TextIndexErrorCode, offset: number, message: string) {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}
