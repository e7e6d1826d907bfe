import { createHash } from 'node:crypto';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { PackumentScanner } from './packument-scanner.ts';

const SRI = `sha512-${createHash('sha512').update('a').digest('base64')}`;
const HEX = createHash('sha512').update('a').digest('hex');

function scan(text: string | Uint8Array, pieceBytes = Number.POSITIVE_INFINITY): [string, string][] {
  const found: [string, string][] = [];
  const scanner = new PackumentScanner((reference, { hex }) => found.push([reference, hex]));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.add(bytes.subarray(at, at + pieceBytes));
  return found;
}

const dist = (tarball: string, integrity = SRI) => ({
  shasum: '0',
  tarball,
  integrity,
  signatures: [{ sig: 'x' }],
});

test('the digests of all versions are found, in pieces of any length', () => {
  const text = JSON.stringify({
    _id: 'a',
    name: 'a"\\ü',
    'dist-tags': { latest: '2.0.0' },
    versions: {
      '1.0.0': { name: 'a', dist: dist('https://r/a/-/a-1.tgz'), scripts: { a: '[{' } },
      '2.0.0': { keywords: ['dist', '}'], dist: dist('https://r/a/-/ü "2".tgz', `sha1-x ${SRI}?a`) },
      '3.0.0': { dist: { tarball: 'https://r/a/-/a-3.tgz' } },
      '4.0.0': { dist: dist('https://r/a/-/a-4.tgz', 'sha512-short') },
    },
    readme: JSON.stringify({ versions: { '1.0.0': { dist: dist('https://r/forged.tgz') } } }),
  });
  const expected = [
    ['https://r/a/-/a-1.tgz', HEX],
    ['https://r/a/-/ü "2".tgz', HEX],
  ];
  for (const length of [1, 2, 3, 7, 64, 1e9]) expect(scan(text, length), String(length)).toEqual(expected);
  expect(scan(JSON.stringify(JSON.parse(text), null, 2))).toEqual(expected);
});

test('the document of one version has its digest at the top', () => {
  expect(scan(JSON.stringify({ name: 'a', version: '1.0.0', dist: dist('a.tgz') }))).toEqual([
    ['a.tgz', HEX],
  ]);
});

test('objects with these names at other places do not count', () => {
  const version = { dist: dist('x') };
  for (const document of [
    { name: 'a', versions: { one: { deep: version } } },
    { name: 'a', other: { one: version } },
    { name: 'a', versions: [version] },
    { name: 'a', versions: { one: { dist: [dist('x')] } } },
    [{ name: 'a', dist: dist('x') }],
  ])
    expect(scan(JSON.stringify(document)), JSON.stringify(document)).toEqual([]);
});

test('a document that is no packument is not read on', () => {
  const scanner = new PackumentScanner(() => {});
  scanner.add(Buffer.from('{"rows":['));
  expect(scanner.isOver).toBe(true);
  const deep = new PackumentScanner(() => {});
  deep.add(Buffer.from(`{"name":${'['.repeat(100)}`));
  expect(deep.isOver).toBe(true);
});

test('damaged and random documents never throw, and give no digest of a cut string', () => {
  const text = Buffer.from(
    JSON.stringify({ name: 'a', versions: { one: { dist: dist('https://r/a.tgz') } } }),
  );
  for (let end = 0; end < text.length; end++)
    for (const [reference] of scan(text.subarray(0, end))) expect(reference).toBe('https://r/a.tgz');
  const random = new Random(1);
  for (let round = 0; round < 2000; round++) {
    const damaged = Buffer.from(text);
    for (let flips = 0; flips < 3; flips++) damaged[random.below(damaged.length)] = random.below(256);
    scan(damaged, 1 + random.below(50));
  }
});
