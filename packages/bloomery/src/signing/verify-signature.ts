/**
 * The check of a signature, before anything that it is about is downloaded or unpacked.
 *
 * What it promises. A statement is returned only if one of the keys signed it, for this name, with
 * an epoch that is not below those that the caller has seen. A caller keeps the last statement that
 * it accepted and passes it as `last`; then an older publication is refused as stale, and a second
 * one with the same epoch and other contents as a conflict.
 *
 * What it does not do: notice that a newer publication is withheld. An attacker between publisher
 * and client can repeat the last one for as long as it likes. A publisher whose epochs are times
 * lets its clients set a limit by `atLeastEpoch`.
 */

import { type AbortOptions, throwIfAborted } from '../keys/abort.ts';
import { checkOptions } from '../keys/check-options.ts';
import { checkInteger } from '../math/checks.ts';
import {
  hexOf,
  PUBLIC_KEY_BYTES,
  type SignEd25519,
  sameBytes,
  type VerifyEd25519,
  webVerify,
} from './signature-crypto.ts';
import { SignatureError } from './signature-error.ts';
import { encodeSignature, readSignature, type Statement, signedMessage } from './statement.ts';

export interface VerifySignatureOptions extends AbortOptions {
  /** The keys that may have signed, 32 bytes each (`readPublicKey`). */
  readonly keys: readonly Uint8Array[];
  /** The name that the statement must have. Default '': a statement without a name. */
  readonly name?: string | undefined;
  /** The lowest epoch that is accepted. Default 0. */
  readonly atLeastEpoch?: number | undefined;
  /** The last statement that was accepted under this name. */
  readonly last?: Statement | undefined;
  /** Ed25519 in the place of the platform's. */
  readonly verify?: VerifyEd25519 | undefined;
}

/**
 * Returns the statement of a signature that holds. Throws a `SignatureError` otherwise, and a
 * `FrameError` for bytes that are no signature.
 */
export async function verifySignature(
  bytes: Uint8Array,
  options: VerifySignatureOptions,
): Promise<Statement> {
  checkOptions('verifySignature', options, ['keys', 'name', 'atLeastEpoch', 'last', 'verify', 'signal']);
  const { keys, name = '', atLeastEpoch = 0, last, verify = webVerify, signal } = options;
  checkKeys(keys);
  checkInteger('atLeastEpoch', atLeastEpoch);
  const { statement, message, signature } = readSignature(bytes);
  let signed = false;
  for (const key of keys) {
    throwIfAborted(signal);
    signed ||= (await verify(key, message, signature)) === true;
  }
  throwIfAborted(signal);
  if (!signed) {
    const expected = keys.length === 1 ? 'the key' : `one of ${keys.length} keys`;
    throw new SignatureError(
      'forged',
      `Cannot trust the signature: expected one made by ${expected}, got another`,
    );
  }
  checkName(statement, name);
  checkEpoch(statement, atLeastEpoch, last);
  return statement;
}

/** Signs a statement. Returns the bytes of the signature. */
export async function signStatement(
  statement: Statement,
  sign: SignEd25519,
  options: AbortOptions = {},
): Promise<Uint8Array> {
  checkOptions('signStatement', options, ['signal']);
  throwIfAborted(options.signal);
  const signature = await sign(signedMessage(statement));
  throwIfAborted(options.signal);
  return encodeSignature(statement, signature);
}

function checkKeys(keys: readonly Uint8Array[]): void {
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new TypeError('Cannot verify a signature: expected keys to be an array of one or more');
  }
  for (const key of keys) {
    if (key instanceof Uint8Array && key.length === PUBLIC_KEY_BYTES) continue;
    throw new TypeError(
      `Cannot verify a signature: expected keys of ${PUBLIC_KEY_BYTES} bytes (readPublicKey), got ${key?.length}`,
    );
  }
}

function checkName(statement: Statement, name: string): void {
  if (statement.name === name) return;
  const shown = (text: string) => (text === '' ? 'no name' : `the name ${JSON.stringify(text)}`);
  throw new SignatureError(
    'name',
    `Cannot trust the signature: expected ${shown(name)}, got ${shown(statement.name)}`,
  );
}

function checkEpoch({ epoch, sha256 }: Statement, atLeast: number, last: Statement | undefined): void {
  const least = Math.max(atLeast, last?.epoch ?? 0);
  if (epoch < least) {
    throw new SignatureError(
      'stale',
      `Cannot trust the signature: expected epoch ${least} or later, got ${epoch}`,
    );
  }
  if (last !== undefined && epoch === last.epoch && !sameBytes(sha256, last.sha256)) {
    throw new SignatureError(
      'conflict',
      `Cannot trust the signature: expected contents ${hexOf(last.sha256)} for epoch ${epoch}, got ${hexOf(sha256)}`,
    );
  }
}
