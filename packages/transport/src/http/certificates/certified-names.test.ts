import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { certifiedNames, namesIn } from './certified-names.ts';

test('namesIn takes the DNS names alone, and no wildcard', () => {
  const list = 'DNS:cache-a.example, IP Address:10.0.0.1, URI:spiffe://fleet/b, DNS:*.example, DNS:node_1';
  expect(namesIn(list)).toEqual(['cache-a.example', 'node_1']);
  expect(namesIn(undefined)).toEqual([]);
});

test('namesIn takes nothing from a list with a name that could be read in two ways', () => {
  expect(namesIn('DNS:a, DNS:"x, DNS:evil, y"')).toEqual([]);
});

test('certifiedNames gives no name to a connection without an accepted certificate', () => {
  expect(certifiedNames(null)).toBeNull();
  expect(certifiedNames(new Socket())).toBeNull();
  expect(certifiedNames(new TLSSocket(new Socket()))).toBeNull();
});
