/** Errors as the user sees them: one line that a newcomer can act on. */

import { UsageError } from '../usage-error.ts';
import { colors } from './terminal.ts';

/** Prints an error: one line on standard error, `bloomery: error: …`. */
export function reportError(error: unknown): void {
  process.stderr.write(`bloomery: ${colors(2).red('error:')} ${describeError(error)}\n`);
  if (process.env.BLOOMERY_DEBUG) console.error(error);
}

/** Whether the error is about a file or an option, and not a fault of the program. */
export function isExpected(error: unknown): boolean {
  if (error instanceof UsageError) return true;
  const { code } = error as { code?: unknown };
  return error instanceof Error && typeof code === 'string' && Object.hasOwn(SYSTEM_ERRORS, code);
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof UsageError) return error.message;
  if (error instanceof RangeError && NO_MEMORY.test(error.message)) {
    return `not enough memory: this would be larger than fits in one piece here (${error.message})`;
  }
  const { code, path } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : SYSTEM_ERRORS[code];
  if (known !== undefined) return path === undefined ? known : `${path}: ${known}`;
  return error.message;
}

/** Messages of V8 when it cannot or will not allocate. */
const NO_MEMORY = /^(Invalid typed array length|Array buffer allocation failed|Invalid array buffer length)/;

const SYSTEM_ERRORS: Record<string, string> = {
  ENOENT: 'no such file or directory',
  EISDIR: 'is a directory, expected a file',
  ENOTDIR: 'a part of the path is not a directory',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the disk; nothing was changed',
  EDQUOT: 'the disk quota is used up; nothing was changed',
  EFBIG: 'the file would be larger than is allowed; nothing was changed',
  EMFILE: 'too many open files',
  ERR_FS_FILE_TOO_LARGE: 'the file is too large to be read at once',
};
