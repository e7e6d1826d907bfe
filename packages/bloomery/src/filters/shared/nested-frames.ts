/**
 * Several Bloom filters in the payload of one frame: how structures that are made of filters are written.
 *
 *     for each filter:
 *       6  note: a number that the structure keeps beside the filter, such as how many keys went in; 0 if none
 *       6  length of its frame
 *       …  its frame, as `BloomFilter.encode` writes it, checksum and all
 *
 * The filters repeat what the outer frame says (hash, seed); it costs some forty bytes a filter, and each of them can be
 * cut out and read on its own. What they repeat must agree: the reader refuses filters of another hash, and a
 * structure refuses what else contradicts it. Lengths are compared with the bytes at hand before a filter is read.
 */

import { FrameError } from '../../frames/frame.ts';
import type { HashScheme } from '../../hashing/hash-scheme.ts';
import type { SecretKey } from '../../hashing/secret-key.ts';
import { BloomFilter } from '../bloom-filter.ts';

export interface NestedFilter {
  readonly filter: BloomFilter;
  /** An integer from 0 to 2^48 - 1. */
  readonly note: number;
}

export function joinFilters(filters: readonly NestedFilter[]): Uint8Array<ArrayBuffer> {
  const frames = filters.map(({ filter }) => filter.encode());
  const bytes = new Uint8Array(frames.reduce((sum, frame) => sum + HEAD + frame.length, 0));
  let at = 0;
  for (const [i, frame] of frames.entries()) {
    write48(bytes, at, filters[i].note);
    write48(bytes, at + 6, frame.length);
    bytes.set(frame, at + HEAD);
    at += HEAD + frame.length;
  }
  return bytes;
}

export interface NestedContent {
  readonly payload: Uint8Array;
  /** Where in the outer frame the payload begins: errors carry offsets of that frame. */
  readonly start: number;
  readonly count: number;
  /** The hash of the outer frame, and the key that opened it. */
  readonly scheme: HashScheme;
  readonly key: SecretKey | undefined;
}

/** Reads `count` filters, which must fill the payload. `at` is where in the outer frame each of them begins. */
export function splitFilters(content: NestedContent): (NestedFilter & { readonly at: number })[] {
  const { payload, start, count, scheme, key } = content;
  const filters: (NestedFilter & { at: number })[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const left = payload.length - at - HEAD;
    const length = left < 0 ? 0 : read48(payload, at + 6);
    if (left < 0 || length > left) {
      throw new FrameError('payload', start + at, `filter ${i + 1} of ${count} goes beyond the payload`);
    }
    const frame = payload.subarray(at + HEAD, at + HEAD + length);
    const filter = within(start + at + HEAD, `filter ${i + 1} of ${count}`, () =>
      BloomFilter.decode(frame, key === undefined ? {} : { key }),
    );
    if (filter.scheme.id !== scheme.id) {
      const message = `expected filter ${i + 1} of ${count} by ${scheme.id}, got ${filter.scheme.id}`;
      throw new FrameError('payload', start + at + HEAD, message);
    }
    filters.push({ filter, note: read48(payload, at), at: start + at });
    at += HEAD + length;
  }
  if (at !== payload.length) {
    throw new FrameError(
      'payload',
      start + at,
      `${payload.length - at} bytes after the last of ${count} filters`,
    );
  }
  return filters;
}

/** Refuses what contradicts the rest of a frame. */
export function checkNested(sound: boolean, at: number, message: string): void {
  if (!sound) throw new FrameError('payload', at, message);
}

const HEAD = 12;

/** Runs a decoder of inner bytes; its errors then speak of the outer ones. */
function within<T>(offset: number, what: string, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    throw new FrameError(error.code, offset + error.offset, `${what}: ${error.message}`);
  }
}

function write48(bytes: Uint8Array, at: number, value: number): void {
  for (let i = 0, rest = value; i < 6; i++, rest = Math.floor(rest / 256)) bytes[at + i] = rest;
}

function read48(bytes: Uint8Array, at: number): number {
  let value = 0;
  for (let i = 5; i >= 0; i--) value = value * 256 + bytes[at + i];
  return value;
}
