import { expect, test } from 'vitest';
import { parseMulticastGroup } from './multicast-group.ts';

test('parseMulticastGroup() reads groups of IPv4 and IPv6', () => {
  expect(parseMulticastGroup('239.192.0.7:3130')).toEqual({
    text: '239.192.0.7:3130',
    group: '239.192.0.7',
    port: 3130,
    family: 'udp4',
  });
  expect(parseMulticastGroup('[ff15::b100]:65535')).toMatchObject({
    group: 'ff15::b100',
    port: 65_535,
    family: 'udp6',
  });
});

test('parseMulticastGroup() refuses other addresses, and ports that are none', () => {
  for (const text of [
    '',
    '239.192.0.7',
    '10.0.0.1:3130',
    '240.0.0.1:3130',
    '239.192.0.7:0',
    '239.192.0.7:65536',
    '[fe80::1]:3130',
    'ff15::1:3130',
    '[239.192.0.7]:3130',
    'group.example:3130',
  ])
    expect(() => parseMulticastGroup(text)).toThrow(/^Cannot use a multicast group: expected .+, got "/);
});

test('parseMulticastGroup() gives one text to all ways to write a group, which macs cover', () => {
  for (const text of ['[ff15::b100]:3130', '[FF15:0:0::B100]:3130', '[ff15::b100%eth0]:03130'])
    expect(parseMulticastGroup(text).text).toBe('[ff15::b100]:3130');
  expect(parseMulticastGroup('239.192.0.7:03130').text).toBe('239.192.0.7:3130');
});
