/**
 * Operations of one built library that are compared, by subject. Each gets its keys before the
 * clock starts.
 */

import { pathToFileURL } from 'node:url';
import { flatStrings, keyText, type Packed } from '../shared/keys.ts';

export const SUBJECTS = ['BloomFilter', 'BlockedBloomFilter', 'coding'] as const;
export type SubjectName = (typeof SUBJECTS)[number];

/** One timed call, which treats `units` keys (or bytes, for frames and codes). */
export interface Operation {
  readonly name: string;
  readonly unit: 'key' | 'byte';
  readonly units: number;
  readonly run: () => unknown;
}

type Library = typeof import('../../packages/bloomery/dist/index.js');
type Wire = typeof import('../../packages/bloomery/dist/wire/index.js');

const CAPACITY = 1_000_000;
const SAMPLE = 1 << 13;

/** `folder` is the root of a built checkout. */
export async function operationsOf(subject: SubjectName, folder: string): Promise<Operation[]> {
  const dist = `${pathToFileURL(folder).href}/packages/bloomery/dist`;
  if (subject === 'coding') return codingOperations((await import(`${dist}/wire/index.js`)) as Wire);
  return filterOperations(subject, (await import(`${dist}/index.js`)) as Library);
}

function filterOperations(subject: 'BloomFilter' | 'BlockedBloomFilter', library: Library): Operation[] {
  const Filter = library[subject];
  const options = { capacity: CAPACITY, falsePositiveRate: 0.01 };
  const full = Filter.forCapacity(options);
  const scratch = Filter.forCapacity(options);
  for (let start = 0; start < CAPACITY; start += 1 << 18) {
    full.addMany(packed(start, Math.min(1 << 18, CAPACITY - start)));
  }
  scratch.addMany(packed(0, 1 << 18));
  const [stored, heldOut] = [packed(4096, SAMPLE), packed(2 ** 31, SAMPLE)];
  const [storedText, heldOutText] = [flatStrings(stored), flatStrings(heldOut)];
  const frame = full.encode();
  const each = (keys: readonly string[], call: (key: string) => unknown) => () => {
    let found = 0;
    for (const key of keys) if (call(key) === true) found++;
    return found;
  };
  const keys = (name: string, run: () => unknown): Operation => ({ name, unit: 'key', units: SAMPLE, run });
  const bytes = (name: string, run: () => unknown): Operation => ({
    name,
    unit: 'byte',
    units: frame.length,
    run,
  });
  return [
    keys(
      'add, one string',
      each(storedText, (key) => scratch.add(key)),
    ),
    keys(
      'has, one stored string',
      each(storedText, (key) => full.has(key)),
    ),
    keys(
      'has, one other string',
      each(heldOutText, (key) => full.has(key)),
    ),
    keys('addMany, strings', () => scratch.addMany(storedText)),
    keys('hasMany, strings', () => full.hasMany(storedText)),
    keys('addMany, packed', () => scratch.addMany(stored)),
    keys('hasMany, packed', () => full.hasMany(stored)),
    bytes('encode', () => full.encode()),
    bytes('decode', () => Filter.decode(frame)),
  ];
}

/**
 * A megabit at the densities that matter: a sparse delta, a summary tuned for the wire, a full
 * filter.
 */
function codingOperations({ encodeBits, decodeBits }: Wire): Operation[] {
  const bits = 1_000_000;
  return [0.01, 0.1, 0.5].flatMap((density) => {
    const words = randomBits(bits, density);
    return (['small', 'fast'] as const).flatMap((method) => {
      const code = encodeBits(words, bits, method);
      const at = `${method}, ${100 * density} % ones`;
      const operation = { unit: 'byte' as const, units: bits / 8 };
      return [
        { ...operation, name: `encodeBits ${at}`, run: () => encodeBits(words, bits, method) },
        { ...operation, name: `decodeBits ${at}`, run: () => decodeBits(code, bits) },
      ];
    });
  });
}

function packed(start: number, count: number): Packed {
  const texts = Array.from({ length: count }, (_, i) => keyText('url', start + i));
  const offsets = new Uint32Array(count + 1);
  for (let i = 0; i < count; i++) offsets[i + 1] = offsets[i] + texts[i].length;
  return { bytes: new Uint8Array(Buffer.from(texts.join(''), 'latin1')), offsets };
}

/** Independent bits from a fixed linear congruential generator. */
function randomBits(bits: number, density: number): Uint32Array {
  const words = new Uint32Array(Math.ceil(bits / 32));
  let state = 1;
  for (let i = 0; i < bits; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    if (state < density * 2 ** 32) words[i >>> 5] |= 1 << (i & 31);
  }
  return words;
}
