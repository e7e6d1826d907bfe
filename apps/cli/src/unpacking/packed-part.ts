/**
 * The results of unpacking that all formats share: parts of the text, ends of members, and faults.
 */

export type PackedPart =
  | { readonly kind: 'data'; readonly bytes: Uint8Array }
  /**
   * A member of a gzip file or a frame of a zstd file ended before this byte of the packed file.
   */
  | { readonly kind: 'member'; readonly end: number };

/**
 * - `gzip`, `zstd`: the packed bytes are damaged or cut off.
 * - `zstd-dictionary`: a frame needs a dictionary that is not in the file.
 * - `zstd-window`: a frame needs more memory than is allowed.
 * - `short`: the file ends before the place that an index names.
 */
export type UnpackErrorCode = 'gzip' | 'zstd' | 'zstd-dictionary' | 'zstd-window' | 'short';

/** A packed file that cannot be unpacked to its end. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError';
  readonly code: UnpackErrorCode;

  constructor(code: UnpackErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
