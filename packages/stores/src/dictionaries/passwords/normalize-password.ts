/**
 * The form in which a password and a word are compared. Its code points are the characters that
 * edit distance counts.
 *
 * The first step is NFKC, so that text that looks the same becomes the same: composed and
 * decomposed letters, full-width forms, ligatures. The second step is case folding, code point by
 * code point. If a string were folded as a whole, its sigmas would depend on their places in the
 * word, and a change of one letter would change its neighbour. ECMAScript has no case folding;
 * lower, upper and lower case again gives the same result ('ß' and 'ẞ' both become 'ss'; without
 * the first lower case 'ẞ' would stay different, because it is its own upper case), except that the
 * dotless 'ı' becomes 'i'. The third step is NFKC again, because folding may leave something to
 * compose. The set of letters depends on the runtime's Unicode version.
 *
 * U+FFFF, which is not a character, is reserved for the filter as its wildcard. In a password it
 * becomes U+FFFD, and so does a lone surrogate, which has no UTF-8.
 */

export interface NormalizeOptions {
  /** Whether upper and lower case differ. Default false. */
  readonly caseSensitive?: boolean;
}

/** Stands for any one character. It cannot occur in the result of `normalizePassword`. */
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
