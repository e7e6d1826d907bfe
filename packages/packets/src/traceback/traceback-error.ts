/**
 * The error of a question, a file or a topology that cannot be used. All of them come from outside,
 * so each way in which they can be wrong has a code. `digestd` sends the code to the client that
 * asked.
 */

export type TracebackErrorCode =
  /** The bytes are no IP packet. */
  | 'not-ip'
  /** The packet ends before the bytes that a digest is made from. */
  | 'packet-cut'
  /** The question has another shape than docs/spec/traceback.md says. */
  | 'question'
  /** The time window is empty, or longer than the limit. */
  | 'window'
  /** A file of tables that is torn, damaged or from another collector. */
  | 'table'
  /** A topology that contradicts itself. */
  | 'topology'
  /** The collector did not answer, or answered something else. */
  | 'silent';

export class TracebackError extends Error {
  override readonly name = 'TracebackError';
  readonly code: TracebackErrorCode;

  constructor(code: TracebackErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
