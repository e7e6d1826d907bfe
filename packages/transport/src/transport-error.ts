/**
 * The error of a request that brought no answer. Callers distinguish the reasons by `code`: most go
 * on without the neighbour, and `clock` and `refused` are for the operator to mend.
 */

export type TransportErrorCode =
  /** No answer came within the deadline. */
  | 'timeout'
  /** The caller's signal ended the request. */
  | 'aborted'
  /** No connection, or it broke before the whole answer had come. */
  | 'unreachable'
  /** This transport, or the neighbour's, is closed. */
  | 'closed'
  /** The address names no configured neighbour, or this node itself. */
  | 'peer'
  /** The neighbour serves no such topic. */
  | 'topic'
  /** The request or its answer is longer than a message may be. */
  | 'size'
  /** The neighbour already works on as many requests as it accepts. */
  | 'busy'
  /** The neighbour did not accept the signature: the two nodes have different secrets. */
  | 'refused'
  /** The neighbour did not accept the certificate of this node, or the name in it. */
  | 'certificate'
  /** The clocks of the two nodes differ by more than the window of signatures. */
  | 'clock'
  /** The neighbour has seen this very request before. */
  | 'replayed'
  /** The two nodes have no version of the protocol in common. */
  | 'version'
  /** The answer does not carry the signature of a node that knows the secret. */
  | 'damaged'
  /** The neighbour's service threw an error. */
  | 'failed';

export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly code: TransportErrorCode;
  /** The address of the neighbour. */
  readonly peer: string;

  constructor(code: TransportErrorCode, peer: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.peer = peer;
  }
}
