import { hostname, networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { OwnHosts } from './own-hosts.ts';

test('OwnHosts has localhost, the machine, the configured names and the addresses of listeners', () => {
  const hosts = new OwnHosts({
    names: ['CDN.example', '203.0.113.5'],
    listen: ['127.0.0.1', '::1', '10.0.0.1'],
  });
  for (const host of ['localhost', 'LocalHost.', hostname(), 'cdn.example', 'cdn.EXAMPLE.', '203.0.113.5'])
    expect(hosts.has(host), host).toBe(true);
  for (const host of ['127.0.0.1', '[::1]', '10.0.0.1', '127.1', '[::ffff:10.0.0.1]'])
    expect(hosts.has(host), host).toBe(true);
  for (const host of ['', 'example', 'a.cdn.example', '127.0.0.2', '[::2]', '10.0.0.2', '1.2.3.4.5', '[::1'])
    expect(hosts.has(host), host).toBe(false);
});

test('OwnHosts has every address of the machine if a listener is on all of them', () => {
  for (const everywhere of ['::', '0.0.0.0']) {
    const hosts = new OwnHosts({ names: [], listen: [everywhere] });
    for (const list of Object.values(networkInterfaces()))
      for (const { address, family } of list ?? [])
        expect(hosts.has(family === 'IPv6' ? `[${address}]` : address), address).toBe(true);
    expect(hosts.has('127.200.0.1')).toBe(true);
    expect(hosts.has('198.51.100.7')).toBe(false);
  }
});
