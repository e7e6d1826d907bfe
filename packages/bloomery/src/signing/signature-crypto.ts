/**
 * SHA-256 and Ed25519 for the other files of this room. The library has no implementation of its
 * own. The platform's Web Crypto API has both: in Node 20, and in browsers since Chrome 137,
 * Firefox 129 and Safari 17 (mdn/browser-compat-data). A caller on an older browser passes in the
 * function that is missing, from a library that it trusts. Signing is always passed in, so the
 * library never sees a private key.
 */

import { type AbortOptions, throwIfAborted } from '../keys/abort.ts';
import { platform, type SubtleCryptoLike } from '../keys/platform.ts';
import { SignatureError } from './signature-error.ts';

/** SHA-256 of the bytes: 32 bytes. */
export type Sha256 = (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array>;

/** Whether the 64 bytes of a signature are those of the key (32 bytes) for the message. */
export type VerifyEd25519 = (
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
) => boolean | Promise<boolean>;

/** Signs a message by Ed25519. Returns the 64 bytes of the signature. */
export type SignEd25519 = (message: Uint8Array) => Uint8Array | Promise<Uint8Array>;

export interface DigestOptions extends AbortOptions {
  /** SHA-256 in the place of the platform's. */
  readonly sha256?: Sha256 | undefined;
}

/** SHA-256 by the given function, or by the platform. */
export async function digestOf(bytes: Uint8Array, options: DigestOptions): Promise<Uint8Array> {
  throwIfAborted(options.signal);
  const digest = await (options.sha256 ?? webSha256)(bytes);
  throwIfAborted(options.signal);
  if (!(digest instanceof Uint8Array) || digest.length !== SHA256_BYTES) {
    throw new TypeError(`Cannot use sha256: expected ${SHA256_BYTES} bytes, got ${digest?.length}`);
  }
  return digest;
}

/** SHA-256 of the platform. */
export async function webSha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await subtle('SHA-256').digest('SHA-256', bytes));
}

/** Ed25519 of the platform. */
export async function webVerify(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const api = subtle('Ed25519');
  let key: object;
  try {
    key = await api.importKey('raw', publicKey, ED25519, false, ['verify']);
  } catch (error) {
    // Browsers say NotSupportedError for the algorithm and DataError for bytes that are no key.
    if ((error as Error)?.name === 'DataError') return false;
    throw unsupported('Ed25519', `a platform that refuses it: ${(error as Error)?.message}`);
  }
  return api.verify(ED25519, key, signature, message);
}

function subtle(what: string): SubtleCryptoLike {
  const api = platform.crypto?.subtle;
  if (api === undefined) throw unsupported(what, 'none, as in pages that did not come over HTTPS');
  return api;
}

function unsupported(what: string, got: string): SignatureError {
  return new SignatureError(
    'unsupported',
    `Cannot verify: expected crypto.subtle with ${what}, or a function in the options, got ${got}`,
  );
}

/** Whether two byte arrays are the same. Nothing here is secret, so the time may tell where. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export const SHA256_BYTES = 32;
export const SIGNATURE_BYTES = 64;
export const PUBLIC_KEY_BYTES = 32;
const ED25519 = { name: 'Ed25519' };
