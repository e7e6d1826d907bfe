import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { ipPacket } from '../../test/loops/build-capture.ts';
import { forwardPacket } from './forward-packet.ts';
import { ForwardingTable } from './forwarding-table.ts';

test('ForwardingTable takes the longest prefix that holds the destination', () => {
  const table = new ForwardingTable<string>();
  const routes = [
    '0.0.0.0/0',
    '10.0.0.0/8',
    '10.77.0.0/16',
    '10.77.0.9/32',
    '10.77.128.0/17',
    '::/0',
    '2001:db8::/33',
  ];
  for (const route of routes) table.add(route, route);
  const of = (...bytes: number[]) => table.find(Uint8Array.from(bytes));
  expect(of(9, 9, 9, 9)).toBe('0.0.0.0/0');
  expect(of(10, 1, 0, 0)).toBe('10.0.0.0/8');
  expect(of(10, 77, 0, 8)).toBe('10.77.0.0/16');
  expect(of(10, 77, 0, 9)).toBe('10.77.0.9/32');
  expect(of(10, 77, 200, 0)).toBe('10.77.128.0/17');
  expect(of(0x20, 1, 0xd, 0xb8, 0x7f, ...new Array(11).fill(0))).toBe('2001:db8::/33');
  expect(of(0x20, 1, 0xd, 0xb8, 0x80, ...new Array(11).fill(0))).toBe('::/0');
  table.add('10.77.0.9/32', 'other');
  expect(of(10, 77, 0, 9)).toBe('other');
});

test('ForwardingTable agrees with a comparison bit by bit', () => {
  const random = new Random(1);
  for (let round = 0; round < 200; round++) {
    const table = new ForwardingTable<number>();
    const routes = Array.from({ length: 10 }, () => ({
      word: (random.bits() & 0xc0c00003) >>> 0,
      bits: random.below(33),
    }));
    for (const [i, { word, bits }] of routes.entries()) table.add(`${dotted(word)}/${bits}`, i);
    const asked = (random.bits() & 0xc0c00003) >>> 0;
    const prefix = (word: number, bits: number) => word.toString(2).padStart(32, '0').slice(0, bits);
    let best = -1;
    for (const [i, { word, bits }] of routes.entries())
      if (prefix(word, bits) === prefix(asked, bits) && bits >= (routes[best]?.bits ?? 0)) best = i;
    expect(table.find(Uint8Array.from(dotted(asked).split('.'), Number))).toBe(best < 0 ? undefined : best);
  }
});

test('ForwardingTable refuses text that is no prefix', () => {
  const table = new ForwardingTable<number>();
  for (const text of [
    '10.0.0.0',
    '10.0.0/8',
    '10.0.0.256/8',
    '10.0.0.0/33',
    '10.0.0.0/8/9',
    '010.0.0.0/8',
    '1::2::3/64',
    '::/129',
    'x/8',
    '::1/',
  ])
    expect(() => table.add(text, 0), text).toThrow('Cannot add a route: expected a prefix');
});

test('forwardPacket lowers the TTL, and the checksum stays right', () => {
  const table = tableOf('10.77.0.0/16', '2001:db8::/32');
  for (let id = 0; id < 3000; id++) {
    const packet = ipPacket({ id: id * 21, ttl: 2 + (id % 250), timeS: 0, source: id & 255 });
    const before = packet[8];
    expect(forwardPacket(packet, table)).toEqual({ port: '10.77.0.0/16' });
    expect(packet[8]).toBe(before - 1);
    expect(sumOf(packet.subarray(0, 20)), `packet ${id}`).toBe(0xffff);
  }
  const packet = ipPacket({ version: 6, id: 1, ttl: 9, timeS: 0 });
  expect(forwardPacket(packet, table)).toEqual({ port: '2001:db8::/32' });
  expect(packet[7]).toBe(8);
});

test('forwardPacket drops packets without a route, without TTL, and bytes that are none', () => {
  const table = tableOf('10.77.0.0/16');
  const packet = ipPacket({ id: 1, ttl: 64, timeS: 0 });
  expect(forwardPacket(packet, new ForwardingTable())).toEqual({ drop: 'no-route' });
  expect(forwardPacket(ipPacket({ id: 1, ttl: 1, timeS: 0 }), table)).toEqual({ drop: 'ttl' });
  expect(forwardPacket(ipPacket({ id: 1, ttl: 0, timeS: 0 }), table)).toEqual({ drop: 'ttl' });
  for (let length = 0; length < packet.length; length++)
    expect(forwardPacket(packet.slice(0, length), table)).toEqual({ drop: 'malformed' });
  const random = new Random(2);
  for (let round = 0; round < 2000; round++) {
    const bytes = random.bytes(random.below(80));
    const decision = forwardPacket(bytes, table);
    expect('drop' in decision || decision.port === '10.77.0.0/16').toBe(true);
  }
});

test('forwardPacket leaves link-local packets on their link', () => {
  const table = tableOf('0.0.0.0/0', '::/0');
  const of = (version: 4 | 6, at: number, ...bytes: number[]) => {
    const packet = ipPacket({ version, id: 1, ttl: 64, timeS: 0 });
    packet.set(bytes, at);
    return forwardPacket(packet, table);
  };
  for (const at of [8, 24]) {
    expect(of(6, at, 0xfe, 0x80)).toEqual({ drop: 'no-route' });
    expect(of(6, at, 0xfe, 0xbf)).toEqual({ drop: 'no-route' });
    expect(of(6, at, 0xfe, 0xc0)).toEqual({ port: '::/0' });
  }
  for (const at of [12, 16]) {
    expect(of(4, at, 169, 254)).toEqual({ drop: 'no-route' });
    expect(of(4, at, 169, 253)).toEqual({ port: '0.0.0.0/0' });
  }
  // Multicast that may not leave the link: all routers, and all hosts.
  expect(of(6, 24, 0xff, 0x02)).toEqual({ drop: 'no-route' });
  expect(of(6, 24, 0xff, 0x05)).toEqual({ port: '::/0' });
  expect(of(4, 16, 224, 0, 0, 5)).toEqual({ drop: 'no-route' });
  expect(of(4, 16, 224, 0, 1, 5)).toEqual({ port: '0.0.0.0/0' });
});

function tableOf(...prefixes: string[]): ForwardingTable<string> {
  const table = new ForwardingTable<string>();
  for (const prefix of prefixes) table.add(prefix, prefix);
  return table;
}

function dotted(word: number): string {
  return [24, 16, 8, 0].map((shift) => (word >>> shift) & 255).join('.');
}

/** The sum of a header's words, which is 0xffff if its checksum is right (RFC 1071). */
function sumOf(header: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < header.length; i += 2) sum += (header[i] << 8) | header[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}
