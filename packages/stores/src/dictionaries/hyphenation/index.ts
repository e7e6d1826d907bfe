/**
 * Hyphenation by rules, a filter of the exceptions and a dictionary on disk: the entry point
 * `@bloomery/stores/hyphenation`.
 */

export {
  exceptionFilter,
  type FindExceptionsRequest,
  type FoundExceptions,
  findExceptions,
  strongestPatterns,
} from './build-hyphenation.ts';
export { type DictionaryBytes, ExceptionDictionary, type Exceptions } from './exception-dictionary.ts';
export {
  FilteredHyphenator,
  type FilteredHyphenatorParts,
  type HyphenatedWord,
  type HyphenationCounts,
} from './filtered-hyphenator.ts';
export { encodeHyphenation, type HyphenationContent, openHyphenation } from './hyphenation-bytes.ts';
export { Hyphenator, type HyphenatorOptions, insertMarks, replaceWords, wordsOf } from './hyphenator.ts';
export { PatternError, type PatternFile, parsePatternFile, parseTruth } from './pattern-file.ts';
