/**
 * Bodies whose every byte follows from their path, so that an answer can be checked at any offset,
 * in any process. A path names its size: `/layer-50000000` has 50,000,000 bytes. Each word is a mix
 * of the path's seed and the word's number, so a piece at a wrong offset, or of another object,
 * differs in nearly every word.
 */

import { mix } from './chaos-world.ts';

/** Bodies that were used last are kept, because comparing takes a fifth of the time of making. */
const MOST_BYTES = 160_000_000;
const kept = new Map<string, Buffer>();
let keptBytes = 0;

/** Path of the object with this name and size. */
export function knownPath(name: string, bytes: number): string {
  return `/${name}-${bytes}`;
}

/** Size of the object with this path, or null if the path names none. */
export function knownSize(path: string): number | null {
  const size = /^\/[\w/.~]+-(\d{1,9})$/.exec(path)?.[1];
  return size === undefined ? null : Number(size);
}

/** The whole body of a path that names one. */
export function knownBody(path: string): Buffer {
  const known = kept.get(path);
  if (known !== undefined) return known;
  const size = knownSize(path);
  if (size === null)
    throw new RangeError(`Cannot make a known body: expected a path that ends in -<bytes>, got ${path}`);
  let seed = 17;
  for (let at = 0; at < path.length; at++) seed = mix(seed * 31 + path.charCodeAt(at));
  const words = new Uint32Array(Math.ceil(size / 4));
  for (let i = 0; i < words.length; i++) words[i] = mix(seed + i);
  const body = Buffer.from(words.buffer, 0, size);
  kept.set(path, body);
  keptBytes += size;
  for (const [old, bytes] of kept) {
    if (keptBytes <= MOST_BYTES || old === path) break;
    kept.delete(old);
    keptBytes -= bytes.length;
  }
  return body;
}

/** Offset of the first byte of a piece that differs from the body, or null if all are right. */
export function firstWrongByte(path: string, offset: number, piece: Uint8Array): number | null {
  const body = knownBody(path);
  const expected = body.subarray(offset, offset + piece.length);
  if (expected.length === piece.length && expected.equals(piece)) return null;
  for (let at = 0; at < piece.length; at++) if (piece[at] !== expected[at]) return offset + at;
  return null;
}
