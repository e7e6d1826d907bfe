/**
 * A sorted list of tags in the code of Elias and Fano. The responder sends the initiator's tags in
 * this form if only their number may be learnt: sorting removes the order, which would tell the
 * initiator which of its keys are common.
 *
 * The upper floor(log2 n) bits of each tag are coded in unary as differences, the others are
 * written out. That takes at most 2 bits per tag for the upper part, and its length depends on n
 * and on the length of the tags alone. 1000 tags of 8 bytes take 7064 bytes instead of 8000.
 */

import { refuse } from './intersection-error.ts';

/** Bits of a tag that are coded in unary. */
function upperBits(count: number): number {
  return count <= 1 ? 0 : 31 - Math.clz32(count);
}

/** Bytes of the coded list. */
export function sortedTagsBytes(count: number, tagBytes: number): number {
  if (count === 0) return 0;
  const upper = upperBits(count);
  return Math.ceil((count + 2 ** upper) / 8) + Math.ceil((count * (8 * tagBytes - upper)) / 8);
}

/** Codes tags of `tagBytes` bytes each. They are compared as big-endian numbers. */
export function encodeSortedTags(tags: readonly Uint8Array[], tagBytes: number): Uint8Array {
  const sorted = tags.map(toNumber).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const upper = upperBits(sorted.length);
  const lower = 8 * tagBytes - upper;
  const bytes = new Uint8Array(sortedTagsBytes(sorted.length, tagBytes));
  const lowerStart = 8 * Math.ceil((sorted.length + 2 ** upper) / 8);
  sorted.forEach((tag, i) => {
    setBit(bytes, i + Number(tag >> BigInt(lower))); // a one after as many zeros as its upper part
    for (let bit = 0; bit < lower; bit++) {
      if ((tag >> BigInt(bit)) & 1n) setBit(bytes, lowerStart + i * lower + bit);
    }
  });
  return bytes;
}

/** Reads `count` tags, as big-endian numbers in ascending order. */
export function decodeSortedTags(bytes: Uint8Array, count: number, tagBytes: number): bigint[] {
  const upper = upperBits(count);
  const lower = 8 * tagBytes - upper;
  const upperEnd = count + 2 ** upper;
  const lowerStart = 8 * Math.ceil(upperEnd / 8);
  const tags: bigint[] = [];
  if (count === 0) return tags;
  for (let at = 0; at < lowerStart; at++) {
    if (!getBit(bytes, at)) continue;
    const i = tags.length;
    if (i === count || at >= upperEnd || at - i >= 2 ** upper)
      refuse(`${count} sorted tags`, 'more', 'the tags');
    let tag = BigInt(at - i);
    for (let bit = lower - 1; bit >= 0; bit--) {
      tag = (tag << 1n) | (getBit(bytes, lowerStart + i * lower + bit) ? 1n : 0n);
    }
    if (i > 0 && tag < tags[i - 1]) refuse('sorted tags', 'unsorted ones', 'the tags');
    tags.push(tag);
  }
  if (tags.length !== count) refuse(`${count} sorted tags`, tags.length, 'the tags');
  for (let at = lowerStart + count * lower; at < 8 * bytes.length; at++) {
    if (getBit(bytes, at)) refuse('zeros after the last tag', 'a one', 'the tags');
  }
  return tags;
}

/** A tag as a big-endian number. */
export function toNumber(tag: Uint8Array): bigint {
  let value = 0n;
  for (const byte of tag) value = (value << 8n) | BigInt(byte);
  return value;
}

function setBit(bytes: Uint8Array, at: number): void {
  bytes[at >>> 3] |= 1 << (at & 7);
}

function getBit(bytes: Uint8Array, at: number): boolean {
  return ((bytes[at >>> 3] >> (at & 7)) & 1) === 1;
}
