/**
 * Reasons why two spell checkers disagree about a word, as far as they can be told from outside.
 */

import type { Speller } from '../../packages/stores/dist/dictionaries/spelling/index.js';

export interface Kind {
  readonly kind: string;
  readonly words: string[];
  /** Whether it is the filters' rate that shows. */
  readonly slip: boolean;
}

export function kindsOf(
  ours: ReadonlySet<string>,
  theirs: ReadonlySet<string>,
  distinct: ReadonlySet<string>,
  speller: Speller,
  forms: ReadonlySet<string>,
): Kind[] {
  const kinds = new Map<string, Kind>();
  const add = (kind: string, word: string, slip: boolean) => {
    if (!kinds.has(kind)) kinds.set(kind, { kind, words: [], slip });
    kinds.get(kind)?.words.push(word);
  };
  for (const word of theirs) {
    if (ours.has(word)) continue;
    const base = word.replace(/['’][sS]$/, '');
    if (!distinct.has(word)) add('hunspell alone sees this as a word', word, false);
    else if (!speller.check(word)) add('only in an address or a path, which is skipped', word, false);
    else if (base !== word && isForm(base, forms)) add("unseen: 's after a word that has none", word, false);
    else add(`unseen: a false positive, ${caseOf(word)}`, word, true);
  }
  for (const word of ours) if (!theirs.has(word)) add('called misspelt here, not by hunspell', word, false);
  return [...kinds.values()].sort((a, b) => b.words.length - a.words.length);
}

function isForm(word: string, forms: ReadonlySet<string>): boolean {
  const small = word.toLowerCase();
  return (
    forms.has(word) ||
    forms.has(small) ||
    (word === word.toUpperCase() && forms.has(small[0].toUpperCase() + small.slice(1)))
  );
}

function caseOf(word: string): string {
  if (word === word.toLowerCase()) return 'in small letters';
  return word === word.toUpperCase() ? 'in capitals' : 'with a capital';
}
