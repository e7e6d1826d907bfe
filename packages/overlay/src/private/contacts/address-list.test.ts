import { expect, test } from 'vitest';
import { parseAddressList } from './address-list.ts';

const CASES: readonly (readonly [value: string, addresses: readonly string[]])[] = [
  ['ann@example.org', ['ann@example.org']],
  ['ann@example.org, Bob <bob@example.org>', ['ann@example.org', 'bob@example.org']],
  ['"Smith, Ann" <ann@example.org>, "B \\"ob, x" <bob@example.org>', ['ann@example.org', 'bob@example.org']],
  ['ann@example.org (Ann, at work (now)), bob@example.org', ['ann@example.org', 'bob@example.org']],
  ['(x\\)y) ann@example.org', ['ann@example.org']],
  [
    'Friends: ann@example.org, Bob <bob@example.org>;, eve@example.org',
    ['ann@example.org', 'bob@example.org', 'eve@example.org'],
  ],
  ['undisclosed-recipients:;', []],
  ['<@relay.example,@other.example:ann@example.org>', ['ann@example.org']],
  ['ann@example.org; bob@example.org', ['ann@example.org', 'bob@example.org']],
  ['=?utf-8?q?J=C3=B6rg=2C_x?= <joerg@example.org>', ['joerg@example.org']],
  ['"x, y"@example.org', ['"x, y"@example.org']],
  ['<mailto:ann@example.org>, mailto:bob@example.org', ['ann@example.org', 'bob@example.org']],
  ['ann@[IPv6:2001:db8::1], <bob@[IPv6:2001:db8::2]>', ['ann@[ipv6:2001:db8::1]', 'bob@[ipv6:2001:db8::2]']],
  ['Ann\r\n\t<ann@example.org>', ['ann@example.org']],
  ['not an address, , <>, @', []],
  ['"unclosed <ann@example.org>', ['ann@example.org']],
  ['', []],
];

test.each(CASES)('%j has the addresses %j', (value, addresses) => {
  expect(parseAddressList(value)).toEqual(addresses);
});

test('a field of a million brackets ends within the time of a test', () => {
  expect(parseAddressList('(<"'.repeat(300_000))).toEqual([]);
  expect(parseAddressList(`${'<'.repeat(500_000)}ann@example.org`)).toHaveLength(0);
  expect(parseAddressList(`${'a:'.repeat(200_000)}ann@example.org`)).toEqual(['ann@example.org']);
  // These have colons that may belong to an address.
  expect(parseAddressList('mailto:'.repeat(140_000))).toEqual([]);
  expect(parseAddressList('[ipv6:'.repeat(160_000))).toEqual([]);
});
