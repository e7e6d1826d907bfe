import { describe, expect, it } from 'vitest';
import { requestFieldsToForward, responseFieldsToForward, withoutConnectionFields } from './forwarding.ts';
import { DEFAULT_POLICY } from './policy-options.ts';

const options = { ...DEFAULT_POLICY, name: 'Our cache' };

describe('forwarding (RFC 9110, 7.6)', () => {
  it('leaves behind what is about the connection', () => {
    const headers = [
      ['Host', 'a'],
      ['Connection', 'keep-alive, X-Hop'],
      ['Keep-Alive', 'timeout=5'],
      ['x-hop', '1'],
      ['TE', 'trailers'],
      ['Trailer', 'x'],
      ['Transfer-Encoding', 'chunked'],
      ['Upgrade', 'h2c'],
      ['HTTP2-Settings', 'x'],
      ['Proxy-Connection', 'close'],
      ['Proxy-Authorization', 'secret'],
      ['Expect', '100-continue'],
      ['Accept', 'x'],
    ].flat();
    expect(requestFieldsToForward(headers, options)).toEqual([
      'Host',
      'a',
      'Accept',
      'x',
      'Via',
      '1.1 Our-cache',
    ]);
  });

  it('lets Connection take away nothing that others must see', () => {
    const headers = [
      'Connection',
      'Cache-Control, Authorization, Vary, Host',
      'Cache-Control',
      'no-store',
      'Host',
      'a',
    ];
    expect(requestFieldsToForward(headers, options).slice(0, 4)).toEqual([
      'Cache-Control',
      'no-store',
      'Host',
      'a',
    ]);
  });

  it('takes away what Connection names when a request comes in, before the policy sees it', () => {
    const fields = ['Host', 'a', 'User-Agent', 'close', 'X-Tenant', '7', 'X-Other', '1', 'Cookie', 'a=b'];
    // Nearly all requests: the same list, not a copy.
    for (const usual of [
      [],
      ['Connection', 'keep-alive'],
      ['connection', 'close'],
      ['CONNECTION', 'Upgrade'],
    ]) {
      const headers = [...usual, ...fields];
      expect(withoutConnectionFields(headers)).toEqual(headers);
      if (usual[1] !== 'Upgrade') expect(withoutConnectionFields(headers)).toBe(headers);
    }
    const named = ['Connection', 'keep-alive', ...fields, 'cOnnection', 'x-tenant,, X-Absent , COOKIE, host'];
    expect(withoutConnectionFields(named)).toEqual([
      ...['Connection', 'keep-alive', 'Host', 'a', 'User-Agent', 'close', 'X-Other', '1', 'Cookie', 'a=b'],
      ...['cOnnection', 'x-tenant,, X-Absent , COOKIE, host'],
    ]);
  });

  it('adds to Via (7.6.3)', () => {
    expect(responseFieldsToForward(['Via', '1.0 inner', 'A', 'b'], options)).toEqual([
      'Via',
      '1.0 inner',
      'A',
      'b',
      'Via',
      '1.1 Our-cache',
    ]);
  });

  it('drops from responses what is for this hop', () => {
    const headers = [
      'Connection',
      'a, b',
      'a',
      '1',
      'B',
      '2',
      'c',
      '3',
      'Proxy-Authenticate',
      'x',
      'Keep-Alive',
      'y',
    ];
    expect(responseFieldsToForward(headers, options).slice(0, -2)).toEqual(['c', '3']);
  });

  it('passes X-Forwarded-… on, adds to it, or drops it', () => {
    const headers = ['X-Forwarded-For', '1.1.1.1', 'X-Forwarded-Proto', 'https', 'Forwarded', 'for=2.2.2.2'];
    const sender = { address: '10.0.0.1', scheme: 'http', host: 'a' } as const;
    expect(requestFieldsToForward(headers, options).slice(0, 6)).toEqual(headers);
    expect(requestFieldsToForward(headers, options, sender)).toEqual([
      ...headers.slice(2),
      ...['X-Forwarded-For', '1.1.1.1, 10.0.0.1', 'X-Forwarded-Host', 'a', 'Via', '1.1 Our-cache'],
    ]);
    expect(requestFieldsToForward(headers, { ...options, forwardedFields: 'drop' }, sender)).toEqual([
      ...['X-Forwarded-For', '10.0.0.1', 'X-Forwarded-Host', 'a', 'X-Forwarded-Proto', 'http'],
      ...['Forwarded', 'for=10.0.0.1', 'Via', '1.1 Our-cache'],
    ]);
    const six = { address: '2001:db8::1' };
    expect(requestFieldsToForward(headers, { ...options, forwardedFields: 'replace' }, six)).toEqual([
      ...['X-Forwarded-For', '2001:db8::1', 'Forwarded', 'for="[2001:db8::1]"', 'Via', '1.1 Our-cache'],
    ]);
  });
});
