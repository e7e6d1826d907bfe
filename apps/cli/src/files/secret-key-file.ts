/**
 * Reads the secret key of keyed filters from a file: 16 bytes, or 32 hexadecimal digits. The key is
 * never printed and never written into a filter.
 */

import { readFileSync } from 'node:fs';
import { SecretKey } from 'bloomery';
import { UsageError } from '../usage-error.ts';

export function readSecretKey(path: string): SecretKey {
  return new SecretKey(readKeyBytes(path));
}

/** The 16 bytes of the key. */
export function readKeyBytes(path: string): Uint8Array {
  const bytes = readFileSync(path);
  if (bytes.length === 16) return Uint8Array.from(bytes);
  const text = bytes.toString('latin1').trim();
  if (/^[0-9a-f]{32}$/i.test(text)) return Uint8Array.from(Buffer.from(text, 'hex'));
  throw new UsageError(
    `${path} is no key: expected 16 bytes or 32 hexadecimal digits, got ${bytes.length} bytes; make one with: head -c 16 /dev/urandom > ${path}`,
  );
}
