/**
 * Digests of pages (docs/spec/annotations.md): the id that tells pages apart in answers, and the
 * prefix of it that a question contains.
 *
 * A private group uses HMAC under its key in the place of SHA-256, so that a question about its
 * pages tells an observer without the key nothing that it could test a URL against.
 */

import { SecretKey } from 'bloomery';

/** The bytes of a page's id and of a group's key. */
const ID_BYTES = 32;

/** Each prefix is shared by at least this many pages on average when a list is at its capacity. */
const PAGES_PER_PREFIX = 16;

const MOST_PREFIX_BITS = 20;

/** The id of the page with this normalized URL, in a group with this key, or in a public one. */
export async function pageId(url: string, groupKey?: Uint8Array | null): Promise<Uint8Array> {
  const message = new TextEncoder().encode(`bloomery annotations 1\n${url}`);
  if (groupKey !== undefined && groupKey !== null) return hmac(groupKey, message);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', message));
}

/** The secret key of a group's list: without the key of the group, a list cannot be asked. */
export async function listKey(groupKey: Uint8Array): Promise<SecretKey> {
  const digest = await hmac(groupKey, new TextEncoder().encode('bloomery annotations list 1'));
  return new SecretKey(digest.subarray(0, 16));
}

/** The number of bits of a page's id in a question about a list of this capacity. */
export function prefixBits(capacity: number): number {
  const shared = Math.floor(Math.log2(Math.max(1, capacity) / PAGES_PER_PREFIX));
  return Math.max(0, Math.min(MOST_PREFIX_BITS, shared));
}

/** The first bits of an id, as a text of zeros and ones. */
export function prefixOf(id: Uint8Array, bits: number): string {
  let text = '';
  for (let i = 0; i < bits; i++) text += (id[i >>> 3] >>> (7 - (i & 7))) & 1;
  return text;
}

/** The smallest and the largest id that begin with a prefix. */
export function idsWithPrefix(prefix: string): { readonly least: Uint8Array; readonly most: Uint8Array } {
  const [least, most] = [new Uint8Array(ID_BYTES), new Uint8Array(ID_BYTES).fill(255)];
  for (let i = 0; i < prefix.length; i++) {
    const mask = 128 >>> (i & 7);
    if (prefix[i] === '1') least[i >>> 3] |= mask;
    else most[i >>> 3] &= ~mask;
  }
  return { least, most };
}

async function hmac(key: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  if (key.length !== ID_BYTES) {
    throw new RangeError(`Cannot use the key of a group: expected ${ID_BYTES} bytes, got ${key.length}`);
  }
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', Uint8Array.from(key), algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, Uint8Array.from(message)));
}
