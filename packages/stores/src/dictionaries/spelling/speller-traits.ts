/** What a speller knows of its language beside the words. All of it is written into the dictionary file. */

export interface SpellerTraits {
  /** As the dictionary names it, such as `en_US`; empty: not known. */
  readonly language: string;
  /** How many different forms the dictionary has, possessives left out. */
  readonly forms: number;
  /** Letters that suggestions try, the most likely first. */
  readonly alphabet: string;
  /** Characters beside letters that words are made of. */
  readonly wordCharacters: string;
  readonly conversions: readonly Pair[];
  readonly ignored: string;
  readonly replacements: readonly Pair[];
  /** Common endings: what is stripped and what is added. Relatives of a word are evidence that it is one. */
  readonly endings: readonly Pair[];
  /** Whether `'s` is accepted after every word. */
  readonly possessives: boolean;
  /** Whether there are words that are right only as they are written. */
  readonly keepCase: boolean;
  /** Whether there are words of mixed case, which are right in capitals. */
  readonly upperOnly: boolean;
  /** Whether there are words with a full stop at the end. */
  readonly dotted: boolean;
  /** Whether 1st, 22nd and 13th are words. */
  readonly ordinals: boolean;
  /** Whether hyphens join words. */
  readonly hyphens: boolean;
  /** Whether SS in capitals may be ß. */
  readonly sharpS: boolean;
  /** Whether the dictionary makes compounds, which are not in the filter. */
  readonly compounds: boolean;
}

export type Pair = readonly [from: string, to: string];
