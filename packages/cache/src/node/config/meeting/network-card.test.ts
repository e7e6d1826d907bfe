import { expect, test } from 'vitest';
import { findCard } from './network-card.ts';

const address = (family: 'IPv4' | 'IPv6', text: string) =>
  ({ address: text, family, netmask: '', mac: '', internal: false, cidr: null, scopeid: 0 }) as never;

const CARDS = {
  lo: [address('IPv4', '127.0.0.1')],
  eth0: [address('IPv6', 'fe80::1'), address('IPv4', '10.0.0.2'), address('IPv6', 'fd00::2')],
  eth1: [address('IPv4', '10.1.0.2'), address('IPv4', '10.1.0.3')],
};

test('findCard() finds a card by its name, with the address that others can use', () => {
  expect(findCard('eth0', 'IPv4', CARDS)).toEqual({ name: 'eth0', address: '10.0.0.2' });
  expect(findCard('eth0', 'IPv6', CARDS)).toEqual({ name: 'eth0', address: 'fd00::2' });
});

test('findCard() finds a card by an address, of any family', () => {
  expect(findCard('10.1.0.3', 'IPv4', CARDS)).toEqual({ name: 'eth1', address: '10.1.0.3' });
  expect(findCard('10.0.0.2', 'IPv6', CARDS)).toEqual({ name: 'eth0', address: 'fd00::2' });
});

test('findCard() refuses a card that is not there, and one without the family', () => {
  expect(() => findCard('eth2', 'IPv4', CARDS)).toThrow('with the name or address eth2 and with IPv4');
  expect(() => findCard('eth1', 'IPv6', CARDS)).toThrow(
    'got lo (127.0.0.1), eth0 (fe80::1, 10.0.0.2, fd00::2)',
  );
});

test('findCard() knows the cards of this machine', () => {
  expect(findCard('127.0.0.1', 'IPv4').address).toBe('127.0.0.1');
});
