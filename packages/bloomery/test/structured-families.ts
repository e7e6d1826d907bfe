/**
 * Families of keys as programs have them: counters, addresses, names that differ in one place. Key
 * i of a family differs from its other keys below 500,000. structured-keys.test.ts asks whether
 * filters keep their rate on them; `npm run bench:hashes` compares hashes on them.
 */

import type { Key } from '../src/keys/key.ts';

export const STRUCTURED_FAMILIES: Readonly<Record<string, (i: number) => Key>> = {
  'integers, one after the other': (i) => i,
  'integers far apart': (i) => i * 2 ** 21,
  'decimal strings': (i) => String(i),
  'hexadecimal strings': (i) => i.toString(16).padStart(16, '0'),
  'dotted addresses': (i) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`,
  'the same head': (i) => `https://example.org/a/rather/long/path/that/never/changes/${i}`,
  'the same tail': (i) => `${i}/a/rather/long/path/that/never/changes/index.html`,
  'one column of several blocks': (i) => bytesOf(64, (b) => new DataView(b.buffer).setUint32(36, i)),
  'two columns that move together': (i) =>
    bytesOf(64, (b) => {
      new DataView(b.buffer).setUint32(0, i);
      new DataView(b.buffer).setUint32(32, i);
    }),
  'two ones among two thousand zeros': (i) =>
    bytesOf(256, (b) => {
      b[(i % 1000) >> 3] = 1 << ((i % 1000) & 7);
      b[128 + (Math.floor(i / 1000) >> 3)] = 1 << (Math.floor(i / 1000) & 7);
    }),
  'lengths of a single letter': (i) =>
    'a'.repeat(1 + (i % 500)) + String.fromCharCode(98 + Math.floor(i / 500)),
};

function bytesOf(length: number, fill: (bytes: Uint8Array) => void): Uint8Array {
  const bytes = new Uint8Array(length);
  fill(bytes);
  return bytes;
}
