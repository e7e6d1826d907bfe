/**
 * The error of an intersection that cannot go on. Bytes from the peer are untrusted input: every
 * way in which they can be wrong ends here, before anything is allocated on their word.
 */

export type IntersectionErrorCode =
  | 'malformed' // bytes that no correct peer sends, such as a point that is no point
  | 'version' // a peer with a later version
  | 'mismatch' // two initiators, two responders, or sides that want to reveal different things
  | 'limit' // a larger set than the caller allows
  | 'unexpected' // bytes after the end, or a result that was asked for too early
  | 'closed'; // the peer ended the stream in the middle

export class IntersectionError extends Error {
  override readonly name = 'IntersectionError';
  readonly code: IntersectionErrorCode;

  constructor(code: IntersectionErrorCode, reason: string) {
    super(`Cannot intersect: ${reason}`);
    this.code = code;
  }
}

/** Throws an `IntersectionError` for bytes that no correct peer sends. */
export function refuse(expected: string, got: unknown, where: string): never {
  throw new IntersectionError('malformed', `expected ${expected}, got ${got} (${where})`);
}
