/**
 * The terms of a text: the words by which documents are compared.
 *
 * The rule is simple and the same everywhere. The text is normalised (NFKC) and put into lower
 * case. A term is a run of letters, marks and decimal digits; an apostrophe between two of them
 * belongs to it ("don't", "l'été"). Scripts that do not separate words (Chinese, Japanese, Thai,
 * Lao, Khmer, Burmese) give each two characters in a row, and a single one if it stands alone.
 *
 * We refused `Intl.Segmenter`: it knows the words of these scripts, but by dictionaries that change
 * with the version of Node, so the same two documents would be more alike on one machine than on
 * another. There are no stop words and no stems, since both would need the language.
 */

/** The distinct terms of a text. */
export function termsOf(text: string): Set<string> {
  const terms = new Set<string>();
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(RUNS)) {
    if (UNSPACED.test(run)) addPairs(run, terms);
    else terms.add(run.replaceAll('’', "'"));
  }
  return terms;
}

function addPairs(run: string, terms: Set<string>): void {
  const characters = [...run];
  if (characters.length === 1) terms.add(run);
  for (let i = 1; i < characters.length; i++) terms.add(characters[i - 1] + characters[i]);
}

const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
const SCRIPT = SCRIPTS.map((name) => `\\p{Script=${name}}`).join('');
/** A character of a word, in a script with spaces. */
const LETTER = `(?![${SCRIPT}])[\\p{L}\\p{M}\\p{Nd}]`;
const RUNS = new RegExp(`[${SCRIPT}]+|(?:${LETTER})+(?:['’](?:${LETTER})+)*`, 'gu');
const UNSPACED = new RegExp(`^[${SCRIPT}]`, 'u');
