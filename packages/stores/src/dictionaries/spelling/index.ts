/**
 * Spelling by filters: a dictionary of a language in tens of kilobytes.
 *
 * @example
 * ```ts
 * import { readFileSync } from 'node:fs';
 * import { decodeSpeller, encodeSpeller, spellerFromHunspell, wordsOf } from
 * '@bloomery/stores/spelling';
 *
 * const speller = spellerFromHunspell(readFileSync('en_US.dic'), readFileSync('en_US.aff'));
 * speller.check('necessary'); // true: maybe. false: certainly not in the dictionary
 * speller.suggest('neccessary'); // ['necessary']
 * const file = encodeSpeller(speller); // 400 kB
 * for (const { word, line, column } of wordsOf('Teh cat.')) if (!decodeSpeller(file).check(word))
 * console.log(line, column, word);
 * ```
 */

export { type AffixFile, type AffixRule, readAffixFile } from './affix-file.ts';
export { type DecodeSpellerOptions, decodeSpeller, encodeSpeller } from './dictionary-file.ts';
export { type DictionaryForm, HunspellDictionary } from './hunspell-dictionary.ts';
export { FrequencyCounter, type WordFrequencies } from './listing/word-frequency.ts';
export { maskMarkdown } from './markdown.ts';
export { Speller, type SpellerParts } from './speller.ts';
export { type SpellerOptions, spellerFromHunspell, spellerFromWordList } from './speller-builder.ts';
export type { Pair, SpellerTraits } from './speller-traits.ts';
export { SpellingError, type SpellingErrorCode } from './spelling-error.ts';
export { readWordList } from './word-list.ts';
export { type TextWord, WordScanner, type WordScannerOptions, wordsOf } from './word-scanner.ts';
