/** The errors of routing that callers catch. */

export type RouteErrorCode =
  /** A message of another node cannot be read. */
  | 'message'
  /** The node is closed. */
  | 'closed';

export class RouteError extends Error {
  override readonly name = 'RouteError';
  readonly code: RouteErrorCode;

  constructor(code: RouteErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
