import { describe, expect, it } from 'vitest';
import { parseDictionary } from './structured-dictionary.ts';

const read = (text: string) => {
  const members = parseDictionary(text);
  return members === null ? null : Object.fromEntries(members);
};

describe('dictionaries (RFC 9651, 4.2.2)', () => {
  it.each([
    ['', {}],
    ['a', { a: true }],
    ['max-age=60, no-store', { 'max-age': 60, 'no-store': true }],
    ['  a=1 ,\t b=-2', { a: 1, b: -2 }],
    ['a=1, a=2', { a: 2 }],
    ['a=?0, b=?1', { a: false, b: true }],
    ['a="x, \\"y\\" \\\\", b=tok/en:*', { a: { string: 'x, "y" \\' }, b: { token: 'tok/en:*' } }],
    ['a=60;x;y="z";w=1.5, b;q', { a: 60, b: true }],
    ['a=1.5', { a: { other: '1.5' } }],
    ['a=(1 "two" three;p);q', { a: { other: '(1 "two" three;p)' } }],
    ['a=:aGk=:', { a: { other: ':aGk=:' } }],
    ['a=@1659578233', { a: { other: '@1659578233' } }],
    ['*k=999999999999999', { '*k': 999999999999999 }],
  ])('reads %j', (text, members) => {
    expect(read(text)).toEqual(members);
  });

  it.each([
    'MaX-aGe=60',
    'max-age =60',
    'max-age= 60',
    'max-age=60, &&&&&',
    'a,',
    ',a',
    'a,,b',
    'a b',
    'a=',
    'a="x',
    'a="\\x"',
    'a="é"',
    'a=1.',
    'a=1.2345',
    'a=1234567890123456',
    'a=-',
    'a=?2',
    'a=(1 2',
    'a=(1"x")',
    'a=:x',
    'a=@1.5',
    'a;=1',
    'a;B',
    '1a',
    'a\0',
    "a='1'",
  ])('refuses all of %j', (text) => {
    expect(read(text)).toBeNull();
  });
});
