import { describe, expect, it } from 'vitest';
import {
  combinedValue,
  fieldValue,
  fieldValues,
  isToken,
  listMembers,
  trimmed,
  withoutFields,
} from './fields.ts';

const headers = ['Host', 'a', 'ACCEPT', 'x', 'accept', 'y', 'Cookie', ''];

describe('fields', () => {
  it('finds names in any case (RFC 9110, 5.1)', () => {
    expect(fieldValue(headers, 'accept')).toBe('x');
    expect(fieldValues(headers, 'accept')).toEqual(['x', 'y']);
    expect(combinedValue(headers, 'accept')).toBe('x, y');
    expect(fieldValue(headers, 'cookie')).toBe('');
    expect(fieldValue(headers, 'absent')).toBeUndefined();
    expect(combinedValue(headers, 'absent')).toBeUndefined();
  });

  it('does not find a value where a name is asked for', () => {
    expect(fieldValue(['a', 'range', 'b', 'c'], 'range')).toBeUndefined();
    expect(fieldValue(['odd'], 'odd')).toBeUndefined();
  });

  it('leaves out fields and keeps order and case', () => {
    expect(withoutFields(headers, new Set(['accept']))).toEqual(['Host', 'a', 'Cookie', '']);
  });

  it.each([
    ['a, b,,c ,', ['a', 'b', 'c']],
    ['"a, b", c', ['"a, b"', 'c']],
    ['"a\\", b", c', ['"a\\", b"', 'c']],
    // A quote without an end hides nothing (RFC 9110, 5.6.1.2 asks recipients to be robust).
    ['a, "b, c', ['a', '"b', 'c']],
    ['', []],
    [' , ,', []],
  ])('cuts %j into %j', (value, members) => {
    expect(listMembers(value)).toEqual(members);
  });

  it('knows tokens and white space', () => {
    expect(trimmed(' \t a b \t')).toBe('a b');
    expect(trimmed('\u00a0a')).toBe('\u00a0a');
    expect(isToken("a!#$%&'*+-.^_`|~9")).toBe(true);
    for (const bad of ['', 'a b', 'a,b', 'a"', 'é', 'a\0']) expect(isToken(bad)).toBe(false);
  });
});
