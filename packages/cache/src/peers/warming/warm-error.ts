/** The error of a warm-up that cannot begin or go on. Objects that were fetched stay stored. */

export type WarmErrorCode =
  | 'neighbour' // no such neighbour, or it is down
  | 'running' // another warm-up runs
  | 'unsupported' // this node, or the neighbour, has workers or no peers, or is an older version
  | 'busy' // the neighbour serves other warm-ups
  | 'gone' // the neighbour forgot the comparison: it was restarted, or this node was too slow
  | 'malformed' // an answer that no correct node gives
  | 'limit' // more bytes, turns or objects than are allowed
  | 'unreachable'; // no answer

export class WarmError extends Error {
  override readonly name = 'WarmError';
  readonly code: WarmErrorCode;

  constructor(code: WarmErrorCode, reason: string, options?: ErrorOptions) {
    super(`Cannot warm up: ${reason}`, options);
    this.code = code;
  }
}
