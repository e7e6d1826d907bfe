/**
 * What a password and a word are compared as: characters are the code points of this form, and edit distance counts them.
 *
 * NFKC first, so that what looks the same is the same: composed and decomposed letters, full-width forms, ligatures. Then
 * case folding, code point by code point: as a whole, a string would get its sigmas by their places in the word, and a
 * change of one letter would change its neighbour. ECMAScript has no folding; lower, upper and lower case again comes to the
 * same ('ß' and 'ẞ' both become 'ss'; without the first step 'ẞ' would stay apart, as it is its own upper case), except
 * that the dotless 'ı' becomes 'i'. Then NFKC again, because folding may leave something to compose. Which letters there
 * are is a matter of the runtime's Unicode version.
 *
 * U+FFFF, which is no character, is left to the filter as its wildcard; in a password it becomes U+FFFD, and so does half
 * of a surrogate pair, which has no UTF-8.
 */

export interface NormalizeOptions {
  /** Upper and lower case are told apart. Default false. */
  readonly caseSensitive?: boolean;
}

/** Stands for any one character. Cannot occur in what `normalizePassword` returns. */
export const WILDCARD = '\uffff';

export function normalizePassword(
  password: string,
  { caseSensitive = false }: NormalizeOptions = {},
): string {
  if (PRINTABLE_ASCII.test(password)) return caseSensitive ? password : password.toLowerCase();
  const composed = password.normalize('NFKC').replace(NO_CHARACTER, '\ufffd');
  if (caseSensitive) return composed;
  let folded = '';
  for (const character of composed) folded += character.toLowerCase().toUpperCase().toLowerCase();
  return folded.normalize('NFKC');
}

const PRINTABLE_ASCII = /^[ -~]*$/;
const NO_CHARACTER = /[\ud800-\udfff\uffff]/gu;
