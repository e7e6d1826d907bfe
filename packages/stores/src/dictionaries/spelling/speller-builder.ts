/**
 * Builds a speller from words. The forms are streamed. Only the hash of each form (8 bytes) and the
 * letter groups are kept, so that a language with ten million forms takes some hundred megabytes
 * for a moment, and English eight.
 *
 * If no rate is given, the fingerprints get as many bits as keep the file below `targetBytes` (100
 * kB), between 5 and 10. Below 5 too many misspellings pass, and more than 10 make no noticeable
 * difference. en_US gets 5, a rate of 1/32.
 */

import { BloomFilter, hashKey, hashKeys, type KeyHashes, StaticFilter } from 'bloomery';
import type { AffixFile } from './affix-file.ts';
import { isShortPair, MOST_PAIRS } from './dictionary-file.ts';
import { type DictionaryForm, HunspellDictionary } from './hunspell-dictionary.ts';
import { LetterGroupCollector } from './letter-groups.ts';
import { NormalForm } from './normal-form.ts';
import { KEEP_CASE, Speller, UPPER_ONLY } from './speller.ts';
import type { Pair, SpellerTraits } from './speller-traits.ts';
import { SpellingError } from './spelling-error.ts';
import { smallLetters, wordCase } from './word-case.ts';
import { readWordList } from './word-list.ts';

export interface SpellerOptions {
  /**
   * The rate at which a key that is not a word is accepted as one. A static filter rounds it down
   * to a power of two.
   */
  readonly falsePositiveRate?: number | undefined;
  readonly structure?: 'static' | 'bloom' | undefined;
  /** The language, such as `en_US`. The default is the language in the dictionary (LANG). */
  readonly language?: string | undefined;
  /** The language if neither `language` nor the dictionary gives one. */
  readonly fallbackLanguage?: string | undefined;
  /** The largest size of the file if no rate is given; see above. */
  readonly targetBytes?: number | undefined;
  /** Names of the sources in errors. */
  readonly names?: { readonly dic?: string; readonly aff?: string } | undefined;
}

/** Builds a speller from a hunspell dictionary, given as the bytes of its two files. */
export function spellerFromHunspell(dic: Uint8Array, aff: Uint8Array, options: SpellerOptions = {}): Speller {
  const dictionary = new HunspellDictionary(dic, aff, options.names);
  return buildSpeller(dictionary.forms(), dictionary.affixes, options, () =>
    dictionary.commonEndings(MOST_ENDINGS),
  );
}

/** Builds a speller from a plain word list. */
export function spellerFromWordList(list: Uint8Array, options: SpellerOptions = {}): Speller {
  return buildSpeller(readWordList(list, options.names?.dic), undefined, options, () => []);
}

function buildSpeller(
  forms: Iterable<DictionaryForm>,
  affixes: AffixFile | undefined,
  options: SpellerOptions,
  endings: () => readonly Pair[],
): Speller {
  const language = options.language ?? (affixes?.language || options.fallbackLanguage || '');
  const basic: SpellerTraits = {
    language,
    forms: 0,
    alphabet: '',
    wordCharacters: affixes?.wordCharacters ?? '',
    conversions: affixes?.conversions ?? [],
    ignored: affixes?.ignored ?? '',
    // They only help suggestions, so pairs that are too long or too many are left out.
    replacements: (affixes?.replacements ?? []).filter(isShortPair).slice(0, MOST_PAIRS),
    endings: [],
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
  const groups = seen.groups.groups();
  const common = seen.groups.common();
  const unsuggested = StaticFilter.from(seen.unsuggested, { fingerprintBits: 8, seed: UNSUGGESTED_SEED });
  const traits: SpellerTraits = {
    ...basic,
    forms: counted.size,
    alphabet: alphabetOf(affixes?.tryLetters ?? '', seen.letters),
    endings: endings(),
    possessives: rest.left,
    keepCase: seen.keepCase,
    upperOnly: seen.upperOnly,
    dotted: seen.dotted,
    ordinals: basic.compounds && seen.ordinal,
  };
  const other =
    groups.filter.encode().length + common.filter.encode().length + unsuggested.encode().length + METADATA;
  const room = (options.targetBytes ?? TARGET_BYTES) - other;
  return new Speller({
    words: filterOf(hashes, counted, room, options),
    groups,
    common,
    unsuggested,
    traits,
  });
}

function filterOf(
  hashes: KeyHashes,
  counted: StaticFilter,
  room: number,
  options: SpellerOptions,
): StaticFilter | BloomFilter {
  const { falsePositiveRate, structure = 'static' } = options;
  const most = Math.floor(room / counted.encode().length);
  const fingerprintBits = Math.min(MOST_BITS, Math.max(LEAST_BITS, most));
  if (structure === 'bloom') {
    const rate = falsePositiveRate ?? 2 ** -LEAST_BITS;
    const filter = BloomFilter.forCapacity({ capacity: counted.size, falsePositiveRate: rate });
    filter.addMany(hashes);
    return filter;
  }
  return StaticFilter.from(
    hashes,
    falsePositiveRate === undefined ? { fingerprintBits } : { falsePositiveRate },
  );
}

/** The facts to remember about the streamed forms. */
class SeenForms {
  readonly groups = new LetterGroupCollector();
  readonly unsuggested = new Set<string>();
  readonly letters = new Map<string, number>();
  keepCase = false;
  upperOnly = false;
  dotted = false;
  ordinal = false;
  readonly #traits: SpellerTraits;
  #count = 0;
  /** The words before `'s` in forms that end with it. */
  readonly #possessors = new Set<string>();

  constructor(traits: SpellerTraits) {
    this.#traits = traits;
  }

  /** Yields the keys for the filter, without possessives. */
  *keysOf(forms: Iterable<DictionaryForm>): Generator<string> {
    const { language } = this.#traits;
    const normal = new NormalForm(this.#traits);
    for (const { form: written, keepCase, noSuggest } of forms) {
      const form = normal.ofEntry(written);
      if (form === '') continue;
      const kind = wordCase(form);
      if (kind === 'small') this.groups.add(form);
      if (noSuggest) this.unsuggested.add(form);
      if (form === '1st') this.ordinal = true;
      if (form.endsWith('.')) this.dotted = true;
      // For counts, a sample of the forms of a large dictionary is enough.
      if (this.#count++ < ALL_COUNTED || this.#count % 8 === 0) {
        if (kind === 'small') this.groups.count(form);
        for (const letter of form) this.letters.set(letter, (this.letters.get(letter) ?? 0) + 1);
      }
      if (keepCase) {
        this.keepCase = true;
        yield KEEP_CASE + form;
        continue;
      }
      if (form.length > 2 && form.endsWith("'s")) {
        this.#possessors.add(form.slice(0, -2));
        continue;
      }
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

/**
 * The lower-case letters of words: those of TRY in their order, then the others, the most frequent
 * first.
 */
function alphabetOf(tryLetters: string, seen: ReadonlyMap<string, number>): string {
  const total = [...seen.values()].reduce((sum, count) => sum + count, 0);
  const frequent = [...seen]
    .filter(([, count]) => count > total * RARE_LETTER)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const common = new Set(frequent.map(([letter]) => letter.toLowerCase()));
  const letters = [...tryLetters.toLowerCase(), ...common].filter((letter) => common.has(letter));
  const small = letters.filter((letter) => /^[\p{L}\p{M}'-]$/u.test(letter));
  return [...new Set(small)].slice(0, MOST_ALPHABET).join('');
}

const ALL_COUNTED = 100_000;
const TARGET_BYTES = 100_000;
const LEAST_BITS = 5;
const MOST_BITS = 10;
/** Approximate size of the head and the traits of a file. */
const METADATA = 1500;
const MOST_ENDINGS = 12;
const MOST_ALPHABET = 64;
/**
 * Suggestions do not try letters that are rarer than this share, because each letter adds false
 * positives.
 */
const RARE_LETTER = 2e-4;
/** The share of words with possessives above which a rule is better. */
const LEAST_POSSESSIVES = 0.02;
const UNSUGGESTED_SEED = 8n;
