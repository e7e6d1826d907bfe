/** Every asynchronous function of the library ends with the reason of its signal. */

import { expect, test } from 'vitest';
import { BloomFilter } from '../../src/filters/bloom-filter.ts';
import { decodeFilterFrom } from '../../src/filters/filter-assembler.ts';
import { DcsoFilter } from '../../src/formats/dcso.ts';
import type { AbortSignalLike } from '../../src/keys/abort.ts';
import { unpackStream } from '../../src/wire/coding/bit-code.ts';
import { encodeBits } from '../../src/wire/coding/encode-bits.ts';

const reason = new Error('no longer wanted');

/** The platform's class: the library compiles without the types of any platform. */
const { AbortController } = globalThis as typeof globalThis & {
  AbortController: new () => { readonly signal: AbortSignalLike; abort(reason: unknown): void };
};

const aborted = () => {
  const stop = new AbortController();
  stop.abort(reason);
  return stop.signal;
};

const filter = BloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
const words = new Uint32Array(3000).map((_, i) => Math.imul(i, 0x9e3779b1));
const code = encodeBits(words, 32 * words.length);
const dcso = DcsoFilter.create({ capacity: 200_000, falsePositiveRate: 0.001 });

/** The bytes in two chunks. The signal is aborted after the first; the second never comes. */
async function* half(bytes: Uint8Array, stop: { abort(reason: unknown): void }) {
  yield bytes.subarray(0, bytes.length >> 1);
  stop.abort(reason);
  await new Promise(() => {});
}

async function unpacked(parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, signal: AbortSignalLike) {
  const pieces = [];
  for await (const piece of unpackStream(parts, 32 * words.length, { signal })) pieces.push(piece);
  return pieces;
}

test('decodeFilterFrom does not begin, and stops waiting for a chunk', async () => {
  await expect(decodeFilterFrom([filter.encode()], { signal: aborted() })).rejects.toBe(reason);
  const stop = new AbortController();
  await expect(decodeFilterFrom(half(filter.encode(), stop), { signal: stop.signal })).rejects.toBe(reason);
  const { signal } = new AbortController();
  expect(String(await decodeFilterFrom([filter.encode()], { signal }))).toBe(String(filter));
});

test('unpackStream does not begin, and stops waiting for a part', async () => {
  await expect(unpacked([code], aborted())).rejects.toBe(reason);
  const stop = new AbortController();
  await expect(unpacked(half(code, stop), stop.signal)).rejects.toBe(reason);
  expect(await unpacked([code], new AbortController().signal)).toEqual([words]);
});

test('DcsoFilter.encodeGzip does not begin, and stops while it compresses', async () => {
  await expect(dcso.encodeGzip({ signal: aborted() })).rejects.toBe(reason);
  const stop = new AbortController();
  const packing = dcso.encodeGzip({ signal: stop.signal });
  stop.abort(reason);
  await expect(packing).rejects.toBe(reason);
});

test('DcsoFilter.decodeMaybeGzip does not begin, and stops while it unpacks', async () => {
  const packed = await dcso.encodeGzip({ signal: new AbortController().signal });
  for (const bytes of [packed, dcso.encode()])
    await expect(DcsoFilter.decodeMaybeGzip(bytes, { signal: aborted() })).rejects.toBe(reason);
  const stop = new AbortController();
  const unpacking = DcsoFilter.decodeMaybeGzip(packed, { signal: stop.signal });
  stop.abort(reason);
  await expect(unpacking).rejects.toBe(reason);
  const { signal } = new AbortController();
  expect(String(await DcsoFilter.decodeMaybeGzip(packed, { signal, maxBytes: 2 ** 27 }))).toBe(String(dcso));
});
