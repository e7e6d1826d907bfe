import { expect, test } from 'vitest';
import { peerAddress } from './peer-address.ts';

test('peerAddress reads names, IPv4 and IPv6, with and without a port', () => {
  const read = (address: string) => {
    const { isTls, host, hostname, port } = peerAddress(address);
    return [isTls, host, hostname, port];
  };
  expect(read('http://b.example:3129')).toEqual([false, 'b.example:3129', 'b.example', 3129]);
  expect(read('https://B.example/')).toEqual([true, 'b.example', 'b.example', 443]);
  expect(read('http://10.0.0.2')).toEqual([false, '10.0.0.2', '10.0.0.2', 80]);
  expect(read('https://[2001:db8::1]:3129')).toEqual([true, '[2001:db8::1]:3129', '2001:db8::1', 3129]);
});

test('peerAddress refuses everything else', () => {
  for (const address of [
    '',
    'b.example:3129',
    'ftp://b.example',
    'http://b.example/path',
    'http://b.example?x',
    'http://b.example#x',
    'http://user@b.example',
    'http://',
  ])
    expect(() => peerAddress(address), address).toThrow(
      `Cannot use the address of a neighbour: expected http(s)://host:port, got ${JSON.stringify(address)}`,
    );
});
