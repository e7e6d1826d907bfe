/** A file on a server that cannot be read. Messages name the address without its credentials. */

/**
 * - `unreachable`: no answer, after all attempts.
 * - `status`: an answer that is no success.
 * - `missing`: the server does not have the file, or does not show it to us.
 * - `protocol`: an answer that contradicts the question, or itself.
 * - `limit`: an answer that is larger than allowed.
 * - `no-ranges`: the server sends whole files only.
 * - `changed`: the file is another one than at the beginning of the search.
 */
export type RemoteErrorCode =
  | 'unreachable'
  | 'status'
  | 'missing'
  | 'protocol'
  | 'limit'
  | 'no-ranges'
  | 'changed';

export class RemoteError extends Error {
  override readonly name = 'RemoteError';
  readonly code: RemoteErrorCode;

  constructor(code: RemoteErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
