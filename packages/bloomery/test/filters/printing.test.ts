/** A structure prints itself in Node, and refuses to be cloned in Node and in Chromium. */

import { describe, expect, test } from 'vitest';
import { BloomFilter, FilterTable, HeavyHitters, SecretKey } from '../../src/index.ts';
import { INSPECT } from '../../src/keys/printing.ts';
import { CompressedBloomFilter } from '../../src/wire/index.ts';
import { SUBJECTS } from '../fuzz-subjects.ts';
import { SAMPLE_KEY, SAMPLES } from '../sample-filters.ts';

interface Environment {
  structuredClone(value: unknown): unknown;
  MessageChannel: new () => { port1: { postMessage(value: unknown): void; close(): void } };
}
const { structuredClone, MessageChannel } = globalThis as unknown as Environment;

const structures: [string, object][] = [
  ...Object.entries(SAMPLES).map(([name, make]): [string, object] => [name, make()]),
  ...SUBJECTS.map(({ name, file, decode }): [string, object] => [name, decode(file) as object]),
  ['FilterTable', new FilterTable({ rows: 64, hashes: 2, columns: 3 })],
  ['CompressedBloomFilter', new CompressedBloomFilter(new BloomFilter({ bits: 64, hashes: 2 }).encode())],
];

describe.each(structures)('%s', (_, structure) => {
  test('prints the line of toString', () => {
    const line = (structure as { [INSPECT]?: () => string })[INSPECT]?.();
    expect(line).toMatch(/^[A-Z]\w+\(.+\)$/);
    expect(line).toBe(String(structure));
  });

  test('cannot be cloned or posted, and the message names encode', () => {
    expect(() => structuredClone(structure)).toThrow(/use filter\.encode\(\).*could not be cloned/);
    expect(() => structuredClone({ nested: [structure] })).toThrow(/could not be cloned/);
    const { port1 } = new MessageChannel();
    expect(() => port1.postMessage(structure)).toThrow(/use filter\.encode\(\)/);
    port1.close();
  });

  test('is its parameters as JSON, without the symbol', () => {
    const bigints = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);
    expect(JSON.stringify(structure, bigints)).not.toMatch(/encode|Symbol/);
  });
});

test('a secret key cannot be cloned, and a keyed filter does not print it', () => {
  expect(() => structuredClone(new SecretKey(new Uint8Array(16)))).toThrow(/could not be cloned/);
  expect(SAMPLES.BloomFilter({ key: SAMPLE_KEY }).toString()).toMatch(/siphash-2-4\/[0-9a-f]+\)$/);
});

test('HeavyHitters as JSON names its hash', () => {
  const tracker = new HeavyHitters({ threshold: 0.1, width: 64, depth: 2, seed: 10 });
  expect(JSON.parse(JSON.stringify(tracker))).toEqual({ threshold: 0.1, scheme: 'forge64/a' });
});

test('the parameters can still be spread and compared', () => {
  const filter = new BloomFilter({ bits: 64, hashes: 3 });
  expect({ ...filter }).toMatchObject({ bits: 64, hashes: 3, layout: 'classic' });
  expect(filter.copy().scheme).toEqual(new BloomFilter({ bits: 64, hashes: 3 }).scheme);
});
