/**
 * The error for every fault in a dictionary, ours or hunspell's. It is thrown before anything large
 * is allocated.
 */

export type SpellingErrorCode =
  | 'encoding' // bytes that are invalid in the declared encoding, or an unknown encoding
  | 'affix' // a line of an .aff file that makes no sense
  | 'words' // a line of a .dic file or of a word list that makes no sense
  | 'empty' // no words at all
  | 'limit' // more than a dictionary can sensibly have
  | 'not-a-dictionary' // the magic is missing
  | 'version' // written by a later version
  | 'truncated' // fewer bytes than the head asks for
  | 'trailing' // bytes after the end
  | 'checksum' // the bytes were changed
  | 'content'; // parts that contradict each other

export class SpellingError extends Error {
  override readonly name = 'SpellingError';
  readonly code: SpellingErrorCode;
  /**
   * The line of the source (from 1), or the byte of the file (from 0), where the fault is;
   * undefined if it has no single place.
   */
  readonly at: number | undefined;

  constructor(code: SpellingErrorCode, message: string, at?: number, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.at = at;
  }
}
