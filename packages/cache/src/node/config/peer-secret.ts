/**
 * The file with the secret that all nodes of a fleet share: a line of text, without white space at
 * both ends. `head -c 32 /dev/urandom | base64` writes a good one. While the operator changes the
 * secret, the file has two lines, and the node signs with the first (`FleetKeyring`).
 *
 * We refused a second `--peer-secret`: flags of a running process cannot change, but a file is read
 * again at each reload. Bytes that are no text are refused, because a line feed among them would
 * cut the secret in two.
 *
 * The configuration holds the name of the file and never the secret, so `--print-config` and the
 * list of processes do not show it. Workers get it from their primary over a channel that only the
 * two can read (`workers/fleet-messages.ts`).
 */

import { readFileSync, statSync } from 'node:fs';

/**
 * Length below which a secret is refused. 16 random bytes cannot be guessed; a shorter text is
 * usually a word, and one captured request lets an attacker try words without asking the node.
 */
const LEAST_BYTES = 16;

const MOST_SECRETS = 2;

/**
 * Reads the secrets, the preferred one first. Throws the file system's error, or a `RangeError` if
 * the file cannot be used.
 */
export function readPeerSecrets(file: string): readonly Uint8Array[] {
  const text = decode(readFileSync(file));
  const refuse = (expected: string, got: string | number) =>
    new RangeError(`Cannot take the secret in ${file}: expected ${expected}, got ${got}`);
  if (text === null || CONTROL.test(text)) throw refuse('one or two lines of text', 'other bytes');
  const lines = text.split('\n').map((line) => line.trim());
  const secrets = lines.filter((line) => line !== '').map((line) => new TextEncoder().encode(line));
  for (const { length } of secrets)
    if (length < LEAST_BYTES) throw refuse(`at least ${LEAST_BYTES} bytes`, length);
  if (secrets.length === 0) throw refuse(`at least ${LEAST_BYTES} bytes`, 0);
  if (secrets.length > MOST_SECRETS) throw refuse('one or two lines', secrets.length);
  if (new Set(lines.filter((line) => line !== '')).size < secrets.length)
    throw refuse('two different lines', 'one twice');
  return secrets;
}

/** Whether every user of this machine can read the file. Windows has no such mode bits. */
export function isReadableByAll(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & 0o004) !== 0;
}

/** Control characters that are no white space. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\x00-\x08\x0e-\x1f\x7f]/;

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
