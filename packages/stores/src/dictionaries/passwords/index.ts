/**
 * Passwords that must not be chosen, as a small file: the entry point `@bloomery/stores/passwords`.
 */

export { BlocklistBuilder, type BlocklistOptions, type SkippedWords } from './blocklist-builder.ts';
export { type NormalizeOptions, normalizePassword } from './normalize-password.ts';
export {
  PasswordBlocklist,
  type PasswordVerdict,
  type RefusalReason,
  type Verdict,
} from './password-blocklist.ts';
