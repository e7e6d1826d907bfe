import { expect, test } from 'vitest';
import { closeTo } from './close-to.mjs';
import { refusalsOf } from './planted-source.mjs';

test('toBeCloseTo without digits is refused', () => {
  expect(refusalsOf(closeTo, '// Exact.\nexpect(a).toBeCloseTo(1);')).toEqual([
    '2: Cannot accept toBeCloseTo: expected a number of digits, got none',
  ]);
});

test('toBeCloseTo with digits has a comment above or behind it', () => {
  expect(refusalsOf(closeTo, '\nexpect(a).toBeCloseTo(1, 12);')).toEqual([
    '2: Cannot accept toBeCloseTo: expected a comment that states its error bound, got none',
  ]);
  expect(refusalsOf(closeTo, '// Rounded once.\nexpect(a).toBeCloseTo(1, 12);')).toEqual([]);
  expect(refusalsOf(closeTo, 'expect(a).toBeCloseTo(1, 12); // rounded once')).toEqual([]);
  expect(refusalsOf(closeTo, '// Rounded once.\nexpect(\n  a,\n).toBeCloseTo(1, 12);')).toEqual([]);
});

test('a comment serves the statements that follow directly, and no others', () => {
  const two = '// Rounded once.\nexpect(a).toBeCloseTo(1, 12);\nexpect(b).toBeCloseTo(\n  1, 12);\n';
  expect(refusalsOf(closeTo, `${two}expect(c).toBeCloseTo(1, 12);`)).toEqual([]);
  expect(refusalsOf(closeTo, `${two}f();\nexpect(c).toBeCloseTo(1, 12);`)).toHaveLength(1);
});

test('expect.closeTo is the same', () => {
  expect(refusalsOf(closeTo, 'expect(a).toEqual({ b: expect.closeTo(1) });')).toHaveLength(1);
});
