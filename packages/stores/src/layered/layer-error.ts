/** The errors of layers. Callers distinguish them by `code`. */

export type LayerErrorCode =
  /** The log is damaged at a place that cannot be the torn end of an unfinished change. */
  | 'damaged'
  /** A file of the folder is not a log, or was written by a later version. */
  | 'format'
  /** The log belongs to another base, or the base was changed by another program. */
  | 'other-base'
  /** The base cannot be read or replaced. */
  | 'base'
  /** A key or a value is larger than the log takes. */
  | 'limit'
  /** An earlier failure left the state of the log unknown; it has to be opened again. */
  | 'failed'
  /** The layer is closed, or was opened for reading only. */
  | 'closed'
  /** The base cannot do this: list its records, or be replaced. */
  | 'unable';

export class LayerError extends Error {
  override readonly name = 'LayerError';
  readonly code: LayerErrorCode;
  /** The byte of the file at which damage was found; undefined for other errors. */
  readonly offset: number | undefined;

  constructor(code: LayerErrorCode, message: string, options: ErrorOptions & { offset?: number } = {}) {
    const { offset, ...rest } = options;
    super(message, rest);
    this.code = code;
    this.offset = offset;
  }
}
