import { expect, test } from 'vitest';
import { parseNatsUrl } from './nats-url.ts';

test('parseNatsUrl() reads servers, user and password, and shows neither of the latter', () => {
  expect(parseNatsUrl('nats://10.0.0.5')).toEqual({
    servers: ['10.0.0.5:4222'],
    isTls: false,
    user: null,
    password: null,
    token: null,
    shown: 'nats://10.0.0.5:4222',
  });
  const named = parseNatsUrl('tls://ann:s%40crt@n1.example:4443,tls://[::1]:4444');
  expect(named).toMatchObject({ user: 'ann', password: 's@crt', token: null, isTls: true });
  expect(named.servers).toEqual(['n1.example:4443', '[::1]:4444']);
  expect(named.shown).toBe('tls://n1.example:4443,tls://[::1]:4444');
  expect(parseNatsUrl('nats://t0ken@n1')).toMatchObject({ token: 't0ken', user: null });
});

test('parseNatsUrl() refuses other texts without repeating them', () => {
  for (const text of ['', 'n1:4222', 'http://n1', 'nats://n1/path', 'nats://', 'nats://a:s3cret@n1,tls://n2'])
    expect(() => parseNatsUrl(text)).toThrow(
      /^Cannot use the address of a NATS server: expected [^@]+, got another text$/,
    );
});
