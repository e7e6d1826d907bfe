/**
 * Facts that a speller knows about its language besides the words. All of them are written into the
 * dictionary file.
 */

export interface SpellerTraits {
  /** Name of the language in the dictionary, such as `en_US`; empty if it is unknown. */
  readonly language: string;
  /** Number of different forms in the dictionary, without possessives. */
  readonly forms: number;
  /** Characters besides letters that can be part of words. */
  readonly wordCharacters: string;
  readonly conversions: readonly Pair[];
  readonly ignored: string;
  /** Typical mistakes and what was meant, for suggestions. */
  readonly replacements: readonly Pair[];
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
