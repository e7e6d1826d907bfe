import { expect, test } from 'vitest';
import { metadataOriginMap, parseMetadataOrigin } from './metadata-origin.ts';

test('parseMetadataOrigin takes two origins, in the form that cache keys have', () => {
  expect(parseMetadataOrigin('https://Registry.example:443/=http://files.example:8080')).toEqual([
    'https://registry.example',
    'http://files.example:8080',
  ]);
});

test.each([
  '',
  'https://a.example',
  'https://a.example=',
  'https://a.example=b',
  'https://a.example=https://b.example/x',
  'https://a.example=ftp://b.example',
  'https://a=https://b=https://c',
])('parseMetadataOrigin refuses %j', (text) => {
  expect(() => parseMetadataOrigin(text)).toThrow(/expected https:.*, got /);
});

test('metadataOriginMap gathers all origins of files', () => {
  const map = metadataOriginMap([
    ['https://a', 'https://b'],
    ['https://a', 'https://c'],
  ]);
  expect(map).toEqual(new Map([['https://a', new Set(['https://b', 'https://c'])]]));
});
