import { describe, expect, it } from 'vitest';
import { matchesVaried, variedBy } from './vary.ts';

/** Whether a response to `first` with that Vary may answer `second`. */
function matches(vary: string, first: string[], second: string[]): boolean {
  const varied = variedBy(['Vary', vary], first);
  return varied !== null && matchesVaried(varied, second);
}

describe('Vary (RFC 9111, 4.1)', () => {
  it('is kept sorted, in lower case, with null for what was absent', () => {
    expect(variedBy(['Vary', 'Foo, Accept', 'vary', 'foo'], ['Foo', '1'])).toEqual([
      ['accept', null],
      ['foo', '1'],
    ]);
    expect(variedBy([], ['Foo', '1'])).toEqual([]);
    expect(variedBy(['Vary', ''], ['Foo', '1'])).toEqual([]);
  });

  it.each(['*', '*, *', ', *', '*, Foo', 'Foo, *', 'Foo Bar', 'Foo;q=1', '"Foo"'])(
    '%j never matches',
    (vary) => {
      expect(variedBy(['Vary', vary], ['Foo', '1'])).toBeNull();
    },
  );

  it('of absurdly many names never matches', () => {
    const names = (count: number) => Array.from({ length: count }, (_, i) => `x-${i}`).join();
    expect(variedBy(['Vary', names(64)], [])).toHaveLength(64);
    expect(variedBy(['Vary', names(65)], [])).toBeNull();
  });

  it('on several lines is one list', () => {
    expect(variedBy(['Vary', '', 'Vary', '*'], [])).toBeNull();
  });

  it.each<[string, string[], string[], boolean]>([
    ['Foo', ['Foo', '1'], ['Foo', '1'], true],
    ['Foo', ['Foo', '1'], ['Foo', '2'], false],
    ['Foo', ['Foo', '1'], [], false],
    ['Foo', [], ['Foo', '1'], false],
    ['Foo', [], [], true],
    ['Foo', ['Foo', ''], [], false],
    ['Foo', ['Foo', 'a'], ['foo', 'A'], false],
    ['Foo', ['Foo', '1'], ['Foo', '1', 'Bar', '2'], true],
    ['Foo, Bar, Baz', ['Foo', '1', 'Baz', '3'], ['Baz', '3', 'Foo', '1'], true],
    // Lines are joined, white space around commas goes.
    ['Foo', ['Foo', '1, 2'], ['Foo', '1', 'Foo', '2'], true],
    ['Foo', ['Foo', '1,2'], ['Foo', ' 1, 2 '], true],
    ['Foo', ['Foo', '1,2'], ['Foo', '2,1'], false],
    ['Foo', ['Foo', '"a, b"'], ['Foo', '"a,b"'], false],
    ['User-Agent', ['User-Agent', 'X (KHTML, like Y)'], ['User-Agent', 'X (KHTML,like Y)'], false],
    ['Cookie', ['Cookie', 'a=1, b'], ['Cookie', 'a=1,b'], false],
    // Fields whose definition says what means the same (RFC 9110, 12.4.2, 12.5.3, 12.5.4).
    ['Accept-Language', ['Accept-Language', 'en, de'], ['Accept-Language', ' DE ,   eN'], true],
    [
      'Accept-Language',
      ['Accept-Language', 'en;q=0.50, de;q=1.0'],
      ['Accept-Language', 'de,en; q=0.5'],
      true,
    ],
    ['Accept-Language', ['Accept-Language', 'en, de'], ['Accept-Language', 'en, de;q=0.5'], false],
    ['Accept-Language', ['Accept-Language', 'en, de'], ['Accept-Language', 'fr;q=0.5, de'], false],
    ['Accept-Encoding', ['Accept-Encoding', 'gzip, br'], ['Accept-Encoding', 'br;q=1,x-gzip'], true],
    ['Accept-Encoding', ['Accept-Encoding', 'gzip'], ['Accept-Encoding', 'gzip;q=0'], false],
    ['Accept-Encoding', ['Accept-Encoding', 'gzip'], ['Accept-Encoding', 'gzip;q=1.5'], false],
    ['Accept-Encoding', ['Accept-Encoding', ''], [], false],
  ])('%s: %j and %j: %s', (vary, first, second, matching) => {
    expect(matches(vary, first, second)).toBe(matching);
    expect(matches(vary, second, first)).toBe(matching);
  });

  it('stays right when its memory of weighted lists overflows', () => {
    const asked = (value: string) => ['Accept-Encoding', value];
    let wrong = 0;
    for (let i = 0; i < 700; i++) {
      if (!matches('Accept-Encoding', asked(`x${i};q=0.5, a`), asked(`a,x${i};q=0.5`))) wrong++;
      if (matches('Accept-Encoding', asked(`x${i};q=0.5, a`), asked(`a,x${i + 1};q=0.5`))) wrong++;
    }
    expect(wrong).toBe(0);
    const long = 'a,'.repeat(500);
    expect(matches('Accept-Encoding', ['Accept-Encoding', long], ['Accept-Encoding', `${long} `])).toBe(true);
  });
});
