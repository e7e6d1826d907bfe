/**
 * Builds a speller from words. The forms are streamed into the filter, which keeps only the hash of
 * each (8 bytes) and the letter groups. The list for suggestions keeps the forms themselves, up to
 * two million; for a language with more forms, it has only the words that no rule made from
 * another.
 *
 * The default rate is 0.1 %, 10 bits per word. At 1/32, which kept en_US below 100 kB, 6 % of the
 * words that hunspell flags in a text went unseen.
 */

import { BloomFilter, hashKey, hashKeys, type KeyHashes, StaticFilter } from 'bloomery';
import type { AffixFile } from './affix-file.ts';
import { isShortPair, MOST_PAIRS } from './dictionary-file.ts';
import { type DictionaryForm, HunspellDictionary } from './hunspell-dictionary.ts';
import { LetterGroupCollector } from './letter-groups.ts';
import { englishFrequencies, type WordFrequencies } from './listing/word-frequency.ts';
import { CodedWords } from './listing/word-list-code.ts';
import { type ListedWord, WordTrie } from './listing/word-trie.ts';
import { NormalForm } from './normal-form.ts';
import { KEEP_CASE, Speller, UPPER_ONLY } from './speller.ts';
import type { SpellerTraits } from './speller-traits.ts';
import { SpellingError } from './spelling-error.ts';
import { smallLetters, wordCase } from './word-case.ts';
import { readWordList } from './word-list.ts';

export interface SpellerOptions {
  /**
   * The rate at which a key that is not a word is accepted as one. Default 0.1 %. A static filter
   * rounds it down to a power of two.
   */
  readonly falsePositiveRate?: number | undefined;
  readonly structure?: 'static' | 'bloom' | undefined;
  /** The language, such as `en_US`. The default is the language in the dictionary (LANG). */
  readonly language?: string | undefined;
  /** The language if neither `language` nor the dictionary gives one. */
  readonly fallbackLanguage?: string | undefined;
  /**
   * How common words are, to order suggestions. The default is a table for English, and nothing for
   * other languages.
   */
  readonly frequencies?: WordFrequencies | undefined;
  /** Names of the sources in errors. */
  readonly names?: { readonly dic?: string; readonly aff?: string } | undefined;
}

/** Builds a speller from a hunspell dictionary, given as the bytes of its two files. */
export function spellerFromHunspell(dic: Uint8Array, aff: Uint8Array, options: SpellerOptions = {}): Speller {
  const dictionary = new HunspellDictionary(dic, aff, options.names);
  return buildSpeller(dictionary.forms(), dictionary.affixes, options);
}

/** Builds a speller from a plain word list. */
export function spellerFromWordList(list: Uint8Array, options: SpellerOptions = {}): Speller {
  return buildSpeller(readWordList(list, options.names?.dic), undefined, options);
}

function buildSpeller(
  forms: Iterable<DictionaryForm>,
  affixes: AffixFile | undefined,
  options: SpellerOptions,
): Speller {
  const language = options.language ?? (affixes?.language || options.fallbackLanguage || '');
  const basic: SpellerTraits = {
    language,
    forms: 0,
    wordCharacters: affixes?.wordCharacters ?? '',
    conversions: affixes?.conversions ?? [],
    ignored: affixes?.ignored ?? '',
    // They only help suggestions, so pairs that are too long or too many are left out.
    replacements: (affixes?.replacements ?? []).filter(isShortPair).slice(0, MOST_PAIRS),
    possessives: false,
    keepCase: false,
    upperOnly: false,
    dotted: false,
    ordinals: false,
    hyphens: affixes?.breaksAtHyphens ?? true,
    sharpS: affixes?.sharpS ?? false,
    compounds: affixes?.compounds ?? false,
  };
  const seen = new SeenForms(basic);
  const plain = hashKeys(seen.keysOf(forms));
  const rest = seen.possessivesWithout(plain);
  const hashes = joined(plain, hashKeys(rest.alone));
  if (hashes.length === 0)
    throw new SpellingError('empty', `${options.names?.dic ?? 'the dictionary'} has no words`);
  const counted = StaticFilter.from(hashes, { fingerprintBits: 1 });
  const traits: SpellerTraits = {
    ...basic,
    forms: counted.size,
    possessives: rest.left,
    keepCase: seen.keepCase,
    upperOnly: seen.upperOnly,
    dotted: seen.dotted,
    ordinals: basic.compounds && seen.ordinal,
  };
  const frequencies = options.frequencies ?? (/^en(_|-|$)/.test(language) ? englishFrequencies() : new Map());
  return new Speller({
    words: filterOf(hashes, counted.size, options),
    groups: seen.groups.groups(),
    list: new CodedWords(WordTrie.from(seen.listed(rest, frequencies))),
    traits,
  });
}

function filterOf(hashes: KeyHashes, size: number, options: SpellerOptions): StaticFilter | BloomFilter {
  const { falsePositiveRate = DEFAULT_RATE, structure = 'static' } = options;
  if (structure === 'static') return StaticFilter.from(hashes, { falsePositiveRate });
  const filter = BloomFilter.forCapacity({ capacity: size, falsePositiveRate });
  filter.addMany(hashes);
  return filter;
}

/** The facts to remember about the streamed forms. */
class SeenForms {
  readonly groups = new LetterGroupCollector();
  keepCase = false;
  upperOnly = false;
  dotted = false;
  ordinal = false;
  readonly #traits: SpellerTraits;
  /** The forms that may be suggested, without possessives, and whether rules made them. */
  #forms: { form: string; derived: boolean }[] = [];
  /** Whether forms that rules make are too many to be listed. */
  #stemsOnly = false;
  /** Words that are right, but never suggested. */
  readonly #hidden = new Set<string>();
  /** The words before `'s` in forms that end with it. */
  readonly #possessors = new Set<string>();

  constructor(traits: SpellerTraits) {
    this.#traits = traits;
  }

  /** Yields the keys for the filter, without possessives. */
  *keysOf(forms: Iterable<DictionaryForm>): Generator<string> {
    const { language } = this.#traits;
    const normal = new NormalForm(this.#traits);
    for (const { form: written, keepCase, noSuggest, derived } of forms) {
      const form = normal.ofEntry(written);
      if (form === '') continue;
      const kind = wordCase(form);
      if (kind === 'small') this.groups.add(form);
      if (noSuggest) this.#hidden.add(form);
      if (form === '1st') this.ordinal = true;
      if (form.endsWith('.')) this.dotted = true;
      if (keepCase) {
        this.keepCase = true;
        this.#list(form, derived);
        yield KEEP_CASE + form;
        continue;
      }
      if (form.length > 2 && form.endsWith("'s")) {
        this.#possessors.add(form.slice(0, -2));
        continue;
      }
      this.#list(form, derived);
      if (kind === 'mixed') {
        this.upperOnly = true;
        yield UPPER_ONLY + smallLetters(form, language);
      }
      yield form;
    }
  }

  /**
   * Separates the possessives. Those whose word is in the dictionary are left to the rule; the
   * others (`alone`) are entered as words. If there are few possessives, there is no rule, and all
   * of them are entered as words.
   */
  possessivesWithout(hashes: KeyHashes): { alone: string[]; left: boolean } {
    const words = new BigUint64Array(hashes.words.slice().buffer).sort();
    const alone: string[] = [];
    const all: string[] = [];
    for (const word of this.#possessors) {
      all.push(`${word}'s`);
      const { low, high } = hashKey(word);
      if (!includes(words, (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0))) alone.push(`${word}'s`);
    }
    const left = all.length - alone.length > hashes.length * LEAST_POSSESSIVES;
    const kept = left ? alone : all;
    const mixed = kept.filter((word) => wordCase(word) === 'mixed');
    if (mixed.length > 0) this.upperOnly = true;
    const { language } = this.#traits;
    return { alone: [...kept, ...mixed.map((word) => UPPER_ONLY + smallLetters(word, language))], left };
  }

  /** Yields the words for suggestions, with those of `possessivesWithout`. */
  *listed(
    { alone, left }: { readonly alone: readonly string[]; readonly left: boolean },
    frequencies: WordFrequencies,
  ): Generator<ListedWord> {
    const possessors = left ? this.#possessors : new Set<string>();
    for (const { form } of this.#forms) {
      if (this.#hidden.has(form)) continue;
      const possessive = possessors.has(form) && !this.#hidden.has(`${form}'s`);
      yield { word: form, frequency: frequencies.get(form) ?? 0, possessive };
    }
    for (const word of alone) {
      if (word.startsWith(UPPER_ONLY) || this.#hidden.has(word)) continue;
      yield { word, frequency: frequencies.get(word) ?? 0, possessive: false };
    }
  }

  #list(form: string, derived: boolean): void {
    if (this.#stemsOnly && derived) return;
    if (this.#forms.push({ form, derived }) <= MOST_LISTED || this.#stemsOnly) return;
    this.#stemsOnly = true;
    this.#forms = this.#forms.filter((listed) => !listed.derived);
  }
}

/** Whether a sorted list has a value. */
function includes(list: BigUint64Array, value: bigint): boolean {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] < value) low = middle + 1;
    else high = middle;
  }
  return list[low] === value;
}

function joined(a: KeyHashes, b: KeyHashes): KeyHashes {
  const words = new Int32Array(a.words.length + b.words.length);
  words.set(a.words);
  words.set(b.words, a.words.length);
  return { scheme: a.scheme, words, length: a.length + b.length };
}

const DEFAULT_RATE = 0.001;
const MOST_LISTED = 2_000_000;
/** The share of words with possessives above which a rule is better. */
const LEAST_POSSESSIVES = 0.02;
