import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestAuthority } from '@bloomery/testkit/programs/test-authority';
import { expect, onTestFinished, test } from 'vitest';
import { FleetCertificates } from './fleet-certificates.ts';

test('FleetCertificates refuses files that cannot be used, and keeps the old ones', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-certificates-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [authority, other] = ['authority', 'other'].map((name) => new TestAuthority(folder, name)) as [
    TestAuthority,
    TestAuthority,
  ];
  const own = new FleetCertificates({ ...authority.issue('a'), ca: authority.pem });
  expect(own.names).toEqual(['a']);
  const before = own.pem;
  let changes = 0;
  own.watch(() => changes++);
  const { cert, key } = authority.issue('a');
  const ca = authority.pem;
  const refused = (pem: Partial<typeof before>, name = 'a') =>
    expect(() => own.change({ cert, key, ca, ...pem }, name)).toThrow(RangeError);
  refused({ ca: 'no certificate' });
  refused({ ca: `${ca}${ca.replace(/MII/, 'MIJ')}` });
  refused({ key: other.issue('a').key });
  refused({ cert: 'none' });
  refused({}, 'b');
  refused(authority.issue('a', { names: 'IP:127.0.0.1' }));
  refused(authority.issue('a', { names: 'DNS:*.example' }));
  expect(own.pem).toBe(before);
  expect(changes).toBe(0);
  own.change({ ...before }, 'a');
  expect(changes).toBe(0);
  own.change({ cert, key, ca: `${ca}${other.pem}` }, 'a');
  expect(changes).toBe(1);
});
