/**
 * The entry point `@bloomery/stores/text`: an index of text that says which blocks cannot contain a
 * needle. Pure, for browsers too: bytes come through a port of ranges.
 */

export { createGramScanner } from './create-gram-scanner.ts';
export type { GramScanner } from './gram-scanner.ts';
export {
  DEFAULT_SCHEME,
  type ExtraRule,
  type GramScheme,
  needleBits,
  PRECISE_SCHEME,
} from './gram-scheme.ts';
export type { ByteRange, RangeSource, ReadRangesOptions } from './index-head.ts';
export type { Extent } from './index-layout.ts';
export type { LineAutomaton } from './line-automaton.ts';
export { type LinePattern, type LinePatternOptions, linePattern } from './line-pattern.ts';
export { type PatternSyntax, PatternSyntaxError } from './posix-pattern.ts';
export { NOTHING_REQUIRED, type RequiredText } from './required-text.ts';
export { type Candidate, TextIndex } from './text-index.ts';
export { TextIndexError, type TextIndexErrorCode } from './text-index-error.ts';
export { TextIndexWriter, type TextIndexWriterOptions } from './text-index-writer.ts';
