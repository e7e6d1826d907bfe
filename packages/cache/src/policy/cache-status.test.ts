import { describe, expect, it } from 'vitest';
import { forwardStatus, hitStatus } from './cache-status.ts';
import type { StoredResponse } from './stored-response.ts';

const stored = { responseTime: 0, initialAgeMs: 1000, lifetimeMs: 60_000 } as StoredResponse;

describe('Cache-Status (RFC 9211)', () => {
  it('of a hit has the time that is left', () => {
    expect(hitStatus('bloomery', stored, 9000)).toBe('bloomery; hit; ttl=50');
    expect(hitStatus('bloomery', stored, 69_000)).toBe('bloomery; hit; ttl=-10');
  });

  it('of a forward has the reason', () => {
    expect(forwardStatus('c', { fwd: 'uri-miss' })).toBe('c; fwd=uri-miss');
    expect(
      forwardStatus('c', {
        fwd: 'stale',
        fwdStatus: 304,
        ttl: 5.5,
        stored: true,
        collapsed: true,
        detail: 'A_1',
      }),
    ).toBe('c; fwd=stale; fwd-status=304; ttl=5; stored; collapsed; detail=A_1');
    expect(forwardStatus('c', { fwd: 'miss', stored: false, collapsed: false })).toBe('c; fwd=miss');
  });

  it('quotes names that are no tokens, and lets nothing out of the quotes', () => {
    expect(forwardStatus('my cache', { fwd: 'miss' })).toBe('"my cache"; fwd=miss');
    expect(forwardStatus('a"; hit\\\r\né', { fwd: 'miss' })).toBe('"a\\"; hit\\\\???"; fwd=miss');
    expect(forwardStatus('9', { fwd: 'miss', detail: 'a b' })).toBe('"9"; fwd=miss; detail="a b"');
  });
});
