import { expect, test } from 'vitest';
import { textTerms } from './text-terms.ts';

const termsOf = (text: string) => [...textTerms(text)].map(({ term }) => term);

test('textTerms leaves function words out, stems the others and drops accents', () => {
  expect(termsOf('The Résumés of running dogs')).toEqual(['resum', 'run', 'dog']);
  expect(termsOf("don't Peter's l’été")).toEqual(['peter', 'lete']);
});

test('textTerms counts the places of words that it leaves out', () => {
  expect([...textTerms('state of the art')].map(({ term, position }) => [term, position])).toEqual([
    ['state', 0],
    ['art', 3],
  ]);
});

test('textTerms gives the parts of an identifier and the whole', () => {
  const found = [...textTerms('call readFileSync(HTTPServer2)')];
  expect(found.map(({ term, position, isWhole }) => [term, position, isWhole])).toEqual([
    ['call', 0, false],
    ['readfilesync', 1, true],
    ['read', 1, false],
    ['file', 2, false],
    ['sync', 3, false],
    ['httpserver2', 4, true],
    ['http', 4, false],
    ['server', 5, false],
    ['2', 6, false],
  ]);
  expect(termsOf('snake_case kebab-case')).toEqual(['snake', 'case', 'kebab', 'case']);
});

test('textTerms names the characters that a word takes', () => {
  const text = 'über Räder';
  expect([...textTerms(text)].map(({ start, end }) => text.slice(start, end))).toEqual(['über', 'Räder']);
});

test('textTerms pairs the characters of scripts without spaces', () => {
  expect(termsOf('全文検索 と')).toEqual(['全文', '文検', '検索', 'と']);
});

test('textTerms leaves out words that are data, and takes any text in linear time', () => {
  expect(termsOf(`key ${'a1'.repeat(40)} end`)).not.toContain('a1'.repeat(40));
  expect(termsOf('\u0000\ud800 \u202e word')).toEqual(['word']);
  expect(termsOf(`${'x'.repeat(1_000_000)} end`)).toEqual(['end']);
});
