/** What is wrong with a dictionary, ours or hunspell's: always this error, thrown before anything large is allocated. */

export type SpellingErrorCode =
  | 'encoding' // bytes that are not in the encoding which the dictionary declares, or an encoding that is not known
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
  /** The line of the source (from 1), or the byte of the file (from 0), where it was seen; undefined: nowhere in particular. */
  readonly at: number | undefined;

  constructor(code: SpellingErrorCode, message: string, at?: number, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.at = at;
  }
}
