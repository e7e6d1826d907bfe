/**
 * Public keys as people have them: a PEM file of openssl or of `bloomery sign --generate`, the same
 * in DER (44 bytes, SubjectPublicKeyInfo of RFC 8410), or the 32 bytes themselves.
 *
 * An Ed25519 key in SubjectPublicKeyInfo is always the same 12 bytes before the key, so there is no
 * parser of ASN.1 here. RFC 8410, section 3: "the parameters MUST be absent".
 */

import { platform } from '../keys/platform.ts';
import { PUBLIC_KEY_BYTES, sameBytes } from './signature-crypto.ts';
import { SignatureError } from './signature-error.ts';

/** Returns the 32 bytes of an Ed25519 key. Throws a `SignatureError` with the code `key`. */
export function readPublicKey(key: Uint8Array | string): Uint8Array {
  const bytes = typeof key === 'string' ? derOf(key) : key;
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(`Cannot read a public key: expected bytes or PEM text, got ${typeof key}`);
  }
  if (bytes.length === PUBLIC_KEY_BYTES) return bytes.slice();
  if (
    bytes.length === PREFIX.length + PUBLIC_KEY_BYTES &&
    sameBytes(bytes.subarray(0, PREFIX.length), PREFIX)
  ) {
    return bytes.slice(PREFIX.length);
  }
  throw wrong(`${bytes.length} others`);
}

function derOf(text: string): Uint8Array {
  const body = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]*)-----END PUBLIC KEY-----\s*$/.exec(text);
  if (body === null) {
    const label = /-----BEGIN ([A-Z0-9 ]{1,40})-----/.exec(text)?.[1];
    throw wrong(label === undefined ? 'other text' : `a ${label.toLowerCase()}`);
  }
  let binary: string;
  try {
    binary = platform.atob(body[1].replace(/\s+/g, ''));
  } catch {
    throw wrong('text that is not Base64');
  }
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function wrong(got: string): SignatureError {
  return new SignatureError(
    'key',
    `Cannot read a public key: expected an Ed25519 key as PEM (BEGIN PUBLIC KEY), 44 bytes of DER or 32 bytes, got ${got}`,
  );
}

/** SEQUENCE (42) { SEQUENCE (5) { OID 1.3.101.112 }, BIT STRING (33), no unused bits }. */
const PREFIX = /* @__PURE__ */ Uint8Array.of(0x30, 42, 0x30, 5, 0x06, 3, 0x2b, 0x65, 0x70, 0x03, 33, 0);
