import { expect, test } from 'vitest';
import { ForwardedClients } from './forwarded-client.ts';

const clients = new ForwardedClients(['10.0.0.0/8', '::1']);

test.each<readonly [string, string, string[], string]>([
  ['an untrusted peer', '192.0.2.1', ['X-Forwarded-For', '198.51.100.7'], '192.0.2.1'],
  ['one balancer', '10.0.0.1', ['X-Forwarded-For', '198.51.100.7'], '198.51.100.7'],
  ['two balancers', '10.0.0.1', ['X-Forwarded-For', '198.51.100.7, 10.0.0.2'], '198.51.100.7'],
  ['a claim of the client', '10.0.0.1', ['X-Forwarded-For', '127.0.0.1, 198.51.100.7'], '198.51.100.7'],
  [
    'a claim in a line of its own',
    '10.0.0.1',
    ['X-Forwarded-For', '1.1.1.1', 'X-Forwarded-For', '2.2.2.2'],
    '2.2.2.2',
  ],
  ['a client among the balancers', '10.0.0.1', ['X-Forwarded-For', '10.9.9.9'], '10.9.9.9'],
  ['ports', '10.0.0.1', ['X-Forwarded-For', '198.51.100.7:1234'], '198.51.100.7'],
  ['IPv6 with a port', '::1', ['X-Forwarded-For', '[2001:db8::1]:80'], '2001:db8::1'],
  ['nothing', '10.0.0.1', [], '10.0.0.1'],
  ['garbage', '10.0.0.1', ['X-Forwarded-For', '198.51.100.7, <script>'], '10.0.0.1'],
  ['garbage before a balancer', '10.0.0.1', ['X-Forwarded-For', 'unknown, 10.0.0.3'], '10.0.0.3'],
  ['Forwarded', '10.0.0.1', ['Forwarded', 'for=1.1.1.1, proto=https;For="[2001:db8::1]:47"'], '2001:db8::1'],
  ['Forwarded without for', '10.0.0.1', ['Forwarded', 'for=1.1.1.1, proto=https'], '10.0.0.1'],
  ['both', '10.0.0.1', ['Forwarded', 'for=1.1.1.1', 'X-Forwarded-For', '2.2.2.2'], '2.2.2.2'],
])('ForwardedClients.clientOf: %s', (_name, peer, headers, expected) => {
  expect(clients.clientOf(peer, headers)).toBe(expected);
});

test('ForwardedClients.begin counts by client, and by prefix of IPv6', () => {
  const end = clients.begin('2001:db8::1', 2)!;
  expect(clients.begin('2001:db8::2', 2)).not.toBeNull();
  expect(clients.begin('2001:db8::3', 2)).toBeNull();
  expect(clients.begin('198.51.100.7', 2)).not.toBeNull();
  end();
  expect(clients.begin('2001:db8::3', 2)).not.toBeNull();
});
