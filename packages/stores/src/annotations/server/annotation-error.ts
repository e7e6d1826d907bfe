/** The errors of annotations. Callers distinguish them by `code`, and HTTP answers carry it. */

export type AnnotationErrorCode =
  /** The URL is none that takes notes, or is not in its normal form. */
  | 'url'
  /** The text of a note is empty, too long, or no text. */
  | 'text'
  /** A name, an id or another field has a wrong form. */
  | 'field'
  /** There is no such group, user, note or file. */
  | 'not-found'
  /** A user, a group or a note of this name or id exists already, with other contents. */
  | 'exists'
  /** The token is missing or unknown. */
  | 'token'
  /** This user may not do this. */
  | 'forbidden'
  /** The page has as many notes as it may have. */
  | 'full'
  /** The prefix of a question has another length than the group's list allows. */
  | 'prefix'
  /** The limit of requests is reached; `Retry-After` says when to come back. */
  | 'rate'
  /** The file of the database is no database of annotations, or of a later version. */
  | 'format';

export class AnnotationError extends Error {
  override readonly name = 'AnnotationError';
  readonly code: AnnotationErrorCode;

  constructor(code: AnnotationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
