import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { arrayLiteral, canonicalPart, familyOf, keyText, literalBytes } from './join-key.ts';

describe('keyText', () => {
  test('different keys of several columns have different texts', () => {
    const random = new Random(2);
    const seen = new Map<string, string>();
    for (let round = 0; round < 20_000; round++) {
      const parts = Array.from({ length: 2 }, () =>
        Array.from({ length: random.below(4) }, () => random.pick([...'1:a2'])).join(''),
      );
      const text = keyText(parts)!;
      const known = seen.get(text);
      if (known !== undefined) expect(known).toBe(JSON.stringify(parts));
      seen.set(text, JSON.stringify(parts));
    }
  });

  test('a key with a NULL is null', () => {
    expect([keyText([null]), keyText(['a', null]), keyText(['a', ''])]).toEqual([null, null, '1:a0:']);
  });
});

describe('canonicalPart', () => {
  const part = (type: Parameters<typeof canonicalPart>[0], value: string) =>
    canonicalPart(type, value, 'here');

  test('integers lose signs and zeros, and stay within 64 bits', () => {
    expect(part('integer', '-0042')).toBe('-42');
    expect(part('integer', '9223372036854775807')).toBe('9223372036854775807');
    for (const value of ['9223372036854775808', '1.0', '', '1e3', '0x1'])
      expect(() => part('integer', value)).toThrow('expected a key of type integer');
  });

  test('texts stay as they are, without NUL', () => {
    expect(part('text', ' A ')).toBe(' A ');
    expect(() => part('text', 'a\0')).toThrow('expected a key of type text, got a NUL character (here)');
  });

  test('byteas are hexadecimal', () => {
    expect(part('bytea', '\\xAB')).toBe('\\xab');
    for (const value of ['ab', '\\xa', '\\xzz']) expect(() => part('bytea', value)).toThrow('type bytea');
  });
});

test('familyOf knows no inherited names', () => {
  expect([familyOf('varchar'), familyOf('numeric'), familyOf('toString')]).toEqual([
    'text',
    undefined,
    undefined,
  ]);
});

test('literalBytes is the size of arrayLiteral', () => {
  expect(arrayLiteral('integer', ['1', '-2'])).toBe('{1,-2}');
  expect(arrayLiteral('text', ['a"b', 'c\\d', 'NULL', ''])).toBe('{"a\\"b","c\\\\d","NULL",""}');
  const texts = ['a"b', 'c\\d', 'é😀', '', '\\\\""'];
  for (const [type, parts] of [
    ['text', texts],
    ['bytea', ['\\x', '\\x00ff']],
    ['integer', ['12345', '-1']],
  ] as const) {
    const bytes = parts.reduce((sum, one) => sum + literalBytes(type, one), 0);
    // Two braces, and no comma after the last key.
    expect(Buffer.byteLength(arrayLiteral(type, parts))).toBe(bytes + 1);
  }
});
