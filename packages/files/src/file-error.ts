/**
 * The errors of this package. Callers distinguish them by `code` and may show their own messages.
 * An error of the operating system is passed on as it is, because its code (`ENOSPC`, `EACCES`)
 * already says what callers need.
 */

export type FileErrorCode =
  /** A file exists at a place that should be free. */
  | 'exists'
  /** Another process holds the lock. */
  | 'held'
  /** The file ends before the bytes that were asked for. */
  | 'truncated'
  /**
   * A change is in its journal and could not be carried out; the next use of the file finishes it.
   */
  | 'unfinished'
  /** A change was interrupted, and this user may not write there to finish it. */
  | 'interrupted'
  /** Another process put another file in its place. */
  | 'replaced'
  /** The file changed during every attempt to read it. */
  | 'changing'
  /** The file is larger than memory can hold in one piece. */
  | 'size';

export class FileError extends Error {
  override readonly name: string = 'FileError';
  readonly code: FileErrorCode;
  /** The file that the error is about; empty if only its descriptor is known. */
  readonly path: string;

  constructor(code: FileErrorCode, path: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.path = path;
  }
}

/** The code of an error of the operating system, or of this package. */
export function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}
