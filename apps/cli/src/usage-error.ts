/**
 * An error that the user can fix. It is printed as one line, without a stack, and the exit code is
 * 2.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
