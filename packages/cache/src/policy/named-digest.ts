/**
 * The digest that a response body must have, as far as its name or its head says so.
 *
 * A URL counts only if the protocol behind it says that the digest is that of the bytes in the
 * response, and if the spelling leaves no other reading:
 *
 * - OCI registries: `/v2/<name>/blobs/sha256:<hex>` and `/v2/<name>/manifests/sha256:<hex>`, also
 *   with sha512. The digest is that of the blob or manifest, byte by byte.
 * - apt: `/by-hash/SHA256/<hex>` and `/by-hash/SHA512/<hex>` (Debian's RepositoryFormat,
 *   Acquire-By-Hash). MD5Sum and SHA1 are refused, because a forger can make two bodies with one
 *   such digest.
 *
 * We refused the following, because a right body could be taken for a wrong one:
 * - `/cas/<64 hex digits>` of Bazel: the digits are a SHA-256 or a BLAKE3, as the client chose, and
 *   the path does not say which.
 * - `/nar/<hash>.nar.xz` of Nix: caches name the file by its hash out of habit, and the format does
 *   not demand it.
 * - A long hexadecimal name anywhere else.
 *
 * Fields: `Repr-Digest` with sha-256 or sha-512 (RFC 9530, 3: "digests that are calculated using a
 * hashing algorithm applied to the entire selected representation data"). Representation data
 * includes the content coding, so the bytes are checked as they came. We left out `Content-Digest`,
 * which says the same about a complete response.
 */

import { combinedValue } from './fields.ts';
import type { FieldList } from './stored-response.ts';
import { parseDictionary } from './structured-dictionary.ts';

export type DigestAlgorithm = 'sha256' | 'sha512';

export interface NamedDigest {
  readonly algorithm: DigestAlgorithm;
  /** The digest in hexadecimal digits, lower case. */
  readonly hex: string;
}

const DIGEST_BYTES: { readonly [name in DigestAlgorithm]: number } = { sha256: 32, sha512: 64 };

/** The digest in the URL of a cache key, or null if the URL names none. */
export function digestInKey(key: string): NamedDigest | null {
  const query = key.indexOf('?');
  const path = query < 0 ? key : key.slice(0, query);
  const slash = path.lastIndexOf('/');
  const name = path.slice(slash + 1);
  const folder = path.slice(0, slash);
  const oci = /^(sha256|sha512)(?::|%3[Aa])([0-9a-f]+)$/.exec(name);
  if (oci !== null)
    return isRegistryFolder(folder) ? digestFromHex(oci[1] as DigestAlgorithm, oci[2]!) : null;
  if (folder.endsWith('/by-hash/SHA256')) return digestFromHex('sha256', name);
  if (folder.endsWith('/by-hash/SHA512')) return digestFromHex('sha512', name);
  return null;
}

/** Whether a folder is `…/v2/<name>/blobs` or `…/v2/<name>/manifests`. */
function isRegistryFolder(folder: string): boolean {
  const end = folder.endsWith('/blobs') ? '/blobs' : '/manifests';
  if (!folder.endsWith(end)) return false;
  const above = folder.slice(0, -end.length);
  const api = above.indexOf('/v2/', above.indexOf('://') + 3);
  return api >= 0 && api + '/v2/'.length < above.length;
}

/**
 * The digests in `Repr-Digest`. Other algorithms, and a field that cannot be read, give none: RFC
 * 9530, 3 allows a recipient to ignore any of them.
 */
export function reprDigests(headers: FieldList): NamedDigest[] {
  const text = combinedValue(headers, 'repr-digest');
  if (text === undefined) return [];
  const members = parseDictionary(text);
  const digests: NamedDigest[] = [];
  for (const algorithm of ['sha256', 'sha512'] as const) {
    const value = members?.get(algorithm.replace('sha', 'sha-'));
    if (typeof value !== 'object' || !('other' in value)) continue;
    const base64 = /^:([A-Za-z0-9+/]*={0,2}):$/.exec(value.other)?.[1];
    const digest = base64 === undefined ? null : digestFromBase64(algorithm, base64);
    if (digest !== null) digests.push(digest);
  }
  return digests;
}

/** A digest in base64, or null if it has the wrong length. */
export function digestFromBase64(algorithm: DigestAlgorithm, base64: string): NamedDigest | null {
  return digestFromHex(algorithm, hexOf(base64));
}

/** A digest in hexadecimal digits, or null if these are not the digits of one. */
export function digestFromHex(algorithm: DigestAlgorithm, hex: string): NamedDigest | null {
  return hex.length === 2 * DIGEST_BYTES[algorithm] && /^[0-9a-f]+$/.test(hex) ? { algorithm, hex } : null;
}

/** The bytes of a base64 text in hexadecimal digits. Characters of other alphabets end it. */
function hexOf(base64: string): string {
  let hex = '';
  let bits = 0;
  let count = 0;
  for (const char of base64) {
    const value = BASE64.indexOf(char);
    if (value < 0) break;
    bits = ((bits << 6) | value) & 0xfff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      hex += ((bits >> count) & 0xff).toString(16).padStart(2, '0');
    }
  }
  return hex;
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
