/**
 * Errors in filter files, in words that name the cause and the remedy. The frame of a keyed filter
 * holds a check value of its secret, never the secret, so a wrong secret differs from a missing
 * one.
 */

import { FrameError } from 'bloomery';
import type { FormatError } from 'bloomery/formats';
import { UsageError } from '../usage-error.ts';

/** Runs `work`, and turns an error in the frame into an error that names the file. */
export function naming<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw fileError(path, error);
  }
}

/** The error to show for an unreadable file. */
export function fileError(path: string, error: FrameError | FormatError): UsageError {
  return new UsageError(`${path}: ${explain(error)}`, { cause: error });
}

function explain({ code, message }: FrameError | FormatError): string {
  if (code === 'truncated') return `the file is cut off: ${message}`;
  if (code === 'checksum') return `the file was damaged: ${message}`;
  return code === 'key' ? explainKey(message) : message;
}

function explainKey(message: string): string {
  if (/got none/.test(message)) return 'the filter is keyed; --key-file names the file with the secret';
  if (/expected no key/.test(message)) return 'the filter is not keyed; leave out --key-file';
  const [, given, own] = /expected siphash-2-4\/([0-9a-f]+), got ([0-9a-f]+)/.exec(message) ?? [];
  if (own === undefined) return message;
  return (
    'the filter was built with another secret than the one in --key-file ' +
    `(check values ${own} and ${given}); name the file with its own secret`
  );
}
