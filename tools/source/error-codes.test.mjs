import { expect, test } from 'vitest';
import { errorCodes } from './error-codes.mjs';
import { parseSource } from './parse-source.mjs';

/** @param {string} text */
function codes(text) {
  return errorCodes(parseSource('packages/a/src/x.ts', text));
}

test('errorCodes reads a value, a union and an alias', () => {
  expect(codes("class AError extends Error { readonly code = 'one'; }")).toEqual([
    { name: 'AError', codes: ['one'] },
  ]);
  expect(codes("class BError extends Error { readonly code: 'one' | 'two'; }")).toEqual([
    { name: 'BError', codes: ['one', 'two'] },
  ]);
  const alias =
    "type Code = 'one' | 'two'; export class CError extends Error { declare readonly code: Code; }";
  expect(codes(alias)).toEqual([{ name: 'CError', codes: ['one', 'two'] }]);
});

test('errorCodes leaves out other classes, and errors without a code of their own', () => {
  expect(codes('class Scheme { readonly code: number; } class DError extends Error { path = 1; }')).toEqual(
    [],
  );
});

test('errorCodes refuses a code that it cannot read', () => {
  expect(() => codes('class EError extends Error { readonly code: string; }')).toThrow(
    'Cannot read the codes of EError: expected a union of texts (packages/a/src/x.ts:1)',
  );
});
