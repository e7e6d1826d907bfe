/**
 * The usual ways in which a word is made to look like a password, undone: digits and marks at the
 * ends (`word12`, `Word1!`), characters that look like letters (`p4$$w0rd`), and the word
 * backwards. A password is refused if any of the texts that come out is on the list.
 *
 * How. Up to six digits or marks are taken off the ends, in every division between the two ends,
 * because a digit at an end may stand for a letter (`h3ll0`). Each rest is asked as it is and with
 * its look-alikes replaced, once with i and once with l for 1 and !, and all of these backwards.
 * That is at most 6 texts for each of 28 divisions, 168 lookups compared with 713 for the
 * neighbours of 12 characters over the letters. The builder counts them when it sizes the filter,
 * so the promised rate of mistaken refusals holds.
 *
 * Six characters are the limit because more would not be decoration: `word` followed by eight
 * random digits is a fair password. A rest of fewer than `nearMinimum` characters is not asked,
 * because otherwise three-letter words would refuse random passwords.
 *
 * What is not undone: two manglings of kinds that are not listed here, two words joined, a word
 * written twice, an edit in addition to a mangling.
 */

/** The lengths of the words to ask for, in characters. */
interface WordLengths {
  readonly shortest: number;
  readonly longest: number;
}

/** Returns the texts that manglings of a word may have come from, without the password itself. */
export function unmangled(password: string, { shortest, longest }: WordLengths): Set<string> {
  const texts = new Set<string>();
  const characters = [...password];
  const { length } = characters;
  const front = decorations(characters);
  const back = decorations(characters.toReversed());
  for (let start = 0; start <= front; start++) {
    for (let end = 0; end <= back && start + end <= MOST_STRIPPED; end++) {
      const left = length - start - end;
      if (left < shortest || left > longest) continue;
      const rest = characters.slice(start, length - end);
      for (const letters of [rest, withLetters(rest, 'i'), withLetters(rest, 'l')]) {
        texts.add(letters.join(''));
        texts.add(letters.toReversed().join(''));
      }
    }
  }
  texts.delete(password);
  return texts;
}

/** The most texts that `unmangled` returns for a password of `length` characters. */
export function mostUnmangled(length: number, { shortest, longest }: WordLengths): number {
  let most = 0;
  for (let stripped = 0; stripped <= MOST_STRIPPED; stripped++) {
    const left = length - stripped;
    // Characters can be divided between the two ends in `stripped + 1` ways; 6 texts for each.
    if (left >= shortest && left <= longest) most += 6 * (stripped + 1) - (stripped === 0 ? 1 : 0);
  }
  return most;
}

/** The most texts for a password of up to `length` characters. */
export function mostUnmangledUpTo(length: number, lengths: WordLengths): number {
  let most = 0;
  for (let size = 0; size <= length; size++) most = Math.max(most, mostUnmangled(size, lengths));
  return most;
}

/** Number of digits and marks at the beginning, up to the limit. */
function decorations(characters: readonly string[]): number {
  let count = 0;
  while (count < MOST_STRIPPED && count < characters.length && DECORATION.test(characters[count])) count++;
  return count;
}

/** Replaces look-alikes. `one` stands for characters that look like i and like l. */
function withLetters(characters: readonly string[], one: 'i' | 'l'): string[] {
  return characters.map((character) =>
    ONES.includes(character) ? one : (LOOK_ALIKES[character] ?? character),
  );
}

/** The most characters that are taken off the ends. */
export const MOST_STRIPPED = 6;
const DECORATION = /^[\p{N}\p{P}\p{S}\s]$/u;
const ONES = ['1', '!', '|'];
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  '0': 'o',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '6': 'g',
  '7': 't',
  '8': 'b',
  '9': 'g',
  '@': 'a',
  $: 's',
  '+': 't',
  '(': 'c',
  '\u20ac': 'e',
};
