/**
 * The secrets of a collector, each in a file that only its user may read: the key of its digests
 * and the token of the clients that may ask. Both are made at the first start.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '@bloomery/files';
import { readKeyBytes } from '../files/secret-key-file.ts';
import { UsageError } from '../usage-error.ts';

/** The key of the digests, 16 bytes. Without it the tables in the folder say nothing. */
export function collectorKey(folder: string): Uint8Array {
  const path = join(folder, 'key');
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeAtomically(path, randomBytes(16), { force: false, mode: 0o600 });
  }
  return readKeyBytes(path);
}

/** The token from a file that the user names, or from the folder. */
export function collectorToken(folder: string, named: string | undefined): { token: string; path: string } {
  const path = named ?? join(folder, 'token');
  if (named === undefined && !existsSync(path)) {
    const text = `${randomBytes(24).toString('base64url')}\n`;
    writeAtomically(path, Buffer.from(text), { force: false, mode: 0o600 });
  }
  return { token: readToken(path), path };
}

/** The token in a file: one line of at least 16 characters. */
export function readToken(path: string): string {
  const token = readFileSync(path, 'utf8').trim();
  if (/^[\x21-\x7e]{16,}$/.test(token)) return token;
  throw new UsageError(`${path} holds no token: expected one line of at least 16 characters without spaces`);
}
