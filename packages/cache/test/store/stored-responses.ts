/**
 * Responses and bodies for the tests of stores: made of a few numbers, so that each byte read can
 * be checked.
 */

import { expect } from 'vitest';
import { PEER_COPY } from '../../src/policy/freshness.ts';
import type { StoredResponse } from '../../src/policy/stored-response.ts';
import type { BodyReader, ResponseStore } from '../../src/store/response-store.ts';

export interface ResponseWish {
  readonly key: string;
  readonly bodyLength: number;
  /** Time of the response, and its name in the header. */
  readonly time: number;
  readonly varied?: StoredResponse['varied'];
  readonly headers?: readonly string[];
  /** Marks it as a copy that came from a neighbour. */
  readonly copy?: boolean;
}

export function storedResponse({
  key,
  bodyLength,
  time,
  varied = [],
  headers = [],
  copy = false,
}: ResponseWish): StoredResponse {
  return {
    key,
    status: 200,
    statusText: 'OK',
    headers: ['Content-Type', 'text/plain', 'ETag', `"${time}"`, ...headers],
    varied,
    requestTime: 1_700_000_000_000 + time,
    responseTime: 1_700_000_000_001 + time,
    initialAgeMs: 0,
    lifetimeMs: 60_000,
    flags: copy ? PEER_COPY : 0,
    staleWhileRevalidateMs: 0,
    staleIfErrorMs: 0,
    etag: `"${time}"`,
    lastModified: null,
    bodyLength,
    range: null,
  };
}

/** Bytes that depend on their place and on a seed: a mix-up of bodies or of places shows. */
export function bodyBytes(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = (seed * 2654435761 + 12345) >>> 0;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

/** Expects bytes to be equal. `toEqual` takes 100 times as long, and prints them all. */
export function expectBytes(got: Uint8Array, expected: Uint8Array, what = 'bytes'): void {
  if (Buffer.compare(got, expected) === 0) return;
  let at = 0;
  while (at < got.length && got[at] === expected[at]) at++;
  expect.fail(`${what}: ${got.length} of ${expected.length} bytes, different from byte ${at} on`);
}

/** All that a reader gives; it checks that no chunk is empty, and closes it. */
export async function readAll(reader: BodyReader): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  try {
    for (;;) {
      const chunk = await reader.next();
      if (chunk === null) break;
      if (chunk.length === 0) throw new Error('A reader gave an empty chunk');
      chunks.push(chunk);
    }
  } finally {
    reader.close();
  }
  return new Uint8Array(Buffer.concat(chunks));
}

export interface StoreWish extends ResponseWish {
  /** Bytes in a chunk; default: all in one. */
  readonly chunk?: number;
  readonly seed?: number;
}

/**
 * Stores a body made of its seed (default: its time), and gives what was stored and whether it was.
 */
export async function storeBody(
  store: ResponseStore,
  wish: StoreWish,
): Promise<{ response: StoredResponse; body: Uint8Array; kept: boolean }> {
  const body = bodyBytes(wish.bodyLength, wish.seed ?? wish.time);
  const writer = store.create(wish.key, wish.bodyLength);
  const chunk = wish.chunk ?? Math.max(1, body.length);
  for (let at = 0; at < body.length; at += chunk) await writer.write(body.slice(at, at + chunk));
  const response = storedResponse(wish);
  const kept = await writer.commit(response);
  return { response, body, kept };
}

export async function keysOf(store: ResponseStore): Promise<Set<string>> {
  const keys = new Set<string>();
  for await (const key of store.keys()) keys.add(key);
  return keys;
}

export const pause = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
