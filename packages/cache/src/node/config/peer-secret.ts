/**
 * The file with the secret that all nodes of a fleet share: its bytes, without white space at both
 * ends, because editors and `echo` append a line feed. `head -c 32 /dev/urandom | base64` writes a
 * good one.
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

/** Reads the secret. Throws the file system's error, or a `RangeError` if it is too short. */
export function readPeerSecret(file: string): Uint8Array {
  const content = readFileSync(file);
  let begin = 0;
  let end = content.length;
  while (begin < end && isSpace(content[begin])) begin++;
  while (end > begin && isSpace(content[end - 1])) end--;
  if (end - begin < LEAST_BYTES)
    throw new RangeError(
      `Cannot take the secret in ${file}: expected at least ${LEAST_BYTES} bytes, got ${end - begin}`,
    );
  return new Uint8Array(content.subarray(begin, end));
}

/** Whether every user of this machine can read the file. Windows has no such mode bits. */
export function isReadableByAll(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & 0o004) !== 0;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}
