import { expect, test } from 'vitest';
import { announcedAddress, unannounced } from './announced-address.ts';

test('announcedAddress() is the address of the peer port as a URL, unless another one is given', () => {
  const listen = { host: '10.0.0.2', port: 3129, secure: false };
  expect(announcedAddress(listen, null)).toBe('http://10.0.0.2:3129');
  expect(announcedAddress({ host: 'fd00::2', port: 3129, secure: true }, null)).toBe(
    'https://[fd00::2]:3129',
  );
  expect(announcedAddress(listen, 'http://cache-a.internal:80')).toBe('http://cache-a.internal:80');
});

test('unannounced() says which settings tell the address of a node that listens on all', () => {
  const all = { host: '0.0.0.0', port: 3129, secure: false };
  expect(unannounced(all, null, false)).toMatch(/--peer-address does, such as http:\/\/10\.0\.0\.2:3129$/);
  expect(unannounced(all, null, true)).toMatch(/so does --peer-multicast-interface, such as eth0$/);
  expect(unannounced(all, 'http://10.0.0.2:3129', true)).toBe(null);
  expect(unannounced({ ...all, host: '10.0.0.2' }, null, true)).toBe(null);
  expect(unannounced(null, null, true)).toBe(null);
});
