import { describe, expect, test } from 'vitest';
import { normalizeAddress } from './normalize-address.ts';

/** Texts as people and programs write them, and the one spelling of each. */
const CASES: readonly (readonly [text: string, address: string | null, why: string])[] = [
  ['ann@example.org', 'ann@example.org', 'plain'],
  [' ann@example.org\r\n', 'ann@example.org', 'white space'],
  ['Ann@Example.ORG', 'ann@example.org', 'letters'],
  ['Ann Smith <Ann@example.org>', 'ann@example.org', 'a name before it'],
  ['"Smith, Ann <x@y>" <ann@example.org>', 'ann@example.org', 'a name with brackets'],
  ['<ann@example.org> (work)', 'ann@example.org', 'a comment after it'],
  ['mailto:ann@example.org?subject=hi', 'ann@example.org', 'a link'],
  ['MAILTO:ann%2Bshop@example.org', 'ann+shop@example.org', 'a link with an escape'],
  ['mailto:%zz@example.org', '%zz@example.org', 'a link with a broken escape'],
  ['ann@example.org.', 'ann@example.org', 'the final dot of the DNS'],
  ['ann+shop@example.org', 'ann+shop@example.org', 'a tag stays'],
  ['a.n.n@gmail.com', 'a.n.n@gmail.com', 'dots stay'],
  ['"ann"@example.org', 'ann@example.org', 'quotes that are not needed'],
  ['"a\\nn"@example.org', 'ann@example.org', 'a backslash that is not needed'],
  ['"Ann Smith"@example.org', '"ann smith"@example.org', 'quotes that are needed'],
  ['"a@b"@example.org', '"a@b"@example.org', 'an @ in quotes'],
  ['"a\\"b"@example.org', '"a\\"b"@example.org', 'a quote in quotes'],
  ['jörg@example.org', 'jörg@example.org', 'letters beyond ASCII'],
  ['jo\u0308rg@example.org', 'jörg@example.org', 'a letter and its accent as two characters'],
  ['JÖRG@example.org', 'jörg@example.org', 'upper case beyond ASCII'],
  ['ann@Bücher.example', 'ann@xn--bcher-kva.example', 'a domain beyond ASCII'],
  ['ann@xn--bcher-kva.example', 'ann@xn--bcher-kva.example', 'the same in ASCII'],
  ['ann@例え.jp', 'ann@xn--r8jz45g.jp', 'a domain in Japanese'],
  ['root@localhost', 'root@localhost', 'a name without a dot'],
  ['ann@[192.0.2.1]', 'ann@[192.0.2.1]', 'an address in the place of a domain'],
  ['ann@[IPv6:2001:DB8::1]', 'ann@[ipv6:2001:db8::1]', 'an address of IPv6'],
  ["o'hara@example.org", "o'hara@example.org", 'an apostrophe'],
  ['_dmarc@_x.example.org', '_dmarc@_x.example.org', 'underscores'],
  ['', null, 'nothing'],
  ['ann', null, 'no @'],
  ['@example.org', null, 'nothing before the @'],
  ['ann@', null, 'nothing after the @'],
  ['ann@.', null, 'a dot after the @'],
  ['ann smith@example.org', null, 'a space without quotes'],
  ['ann..smith@example.org', null, 'two dots'],
  ['.ann@example.org', null, 'a dot at the beginning'],
  ['ann@exa mple.org', null, 'a space in the domain'],
  ['ann@example..org', null, 'an empty label'],
  ['ann@-example.org', null, 'a label that begins with a hyphen'],
  ['ann@example.org/path', null, 'a path'],
  ['ann@example.org:25', null, 'a port'],
  ['ann@127.1', null, 'digits that a parser of URLs would complete'],
  ['a\u0000nn@example.org', null, 'a control character'],
  ['"a\nb"@example.org', null, 'a line break in quotes'],
  [`${'a'.repeat(320)}@example.org`, null, 'too long'],
  [`ann@${'a'.repeat(64)}.org`, null, 'a label that is too long'],
  ['<>', null, 'the sender of a bounce'],
];

describe('normalizeAddress', () => {
  test.each(CASES)('%j becomes %j: %s', (text, address) => {
    expect(normalizeAddress(text)).toBe(address);
  });

  test('is idempotent', () => {
    for (const [, address] of CASES) if (address !== null) expect(normalizeAddress(address)).toBe(address);
  });
});
