/**
 * The error of a session that cannot go on. Bytes from the peer are untrusted input: every way in
 * which they can be wrong ends here, before anything is allocated on their word.
 */

export type ReconcileErrorCode =
  | 'malformed' // bytes that are no message, or values that no correct peer sends
  | 'unexpected' // a correct message at the wrong time
  | 'version' // a peer with a later version
  | 'limit' // more bytes, symbols or keys than the caller allows
  | 'exhausted' // all attempts failed
  | 'closed'; // the peer ended the stream in the middle

export class ReconcileError extends Error {
  override readonly name = 'ReconcileError';
  readonly code: ReconcileErrorCode;

  constructor(code: ReconcileErrorCode, reason: string) {
    super(`Cannot reconcile: ${reason}`);
    this.code = code;
  }
}

/** Throws the error of an option or a set that the caller gave: by default one of a wrong shape. */
export function wrongOption(
  expected: string,
  got: unknown,
  Kind: typeof TypeError | typeof RangeError = TypeError,
): never {
  throw new Kind(`Cannot reconcile: expected ${expected}, got ${got}`);
}

/** Throws a `ReconcileError` if there are more than the caller allows. */
export function checkLimit(most: number, got: number, what: string): void {
  if (got > most) throw new ReconcileError('limit', `expected at most ${most} ${what}, got ${got}`);
}

/** Throws a `ReconcileError` for bytes that no correct peer sends. */
export function refuse(expected: string, got: unknown, where: string): never {
  throw new ReconcileError('malformed', `expected ${expected}, got ${got} (${where})`);
}
