import { expect, test } from 'vitest';
import { decodePresence, encodePresence, type Presence } from './presence.ts';

const PRESENCE: Presence = {
  address: 'http://10.0.0.2:3129',
  born: 1_700_000_000_000,
  heartbeatMs: 5000,
  keys: [1, 4_294_967_295],
  numbers: { summary: 12, owner: 0 },
  group: 'rack-1',
  hail: true,
  leaving: false,
};

test('decodePresence() reads what encodePresence() wrote, and fields of later versions', () => {
  expect(decodePresence(encodePresence(PRESENCE))).toEqual(PRESENCE);
  expect(decodePresence(encodePresence({ ...PRESENCE, address: null }))?.address).toBe(null);
  const alone = { ...PRESENCE, group: null };
  expect(Buffer.from(encodePresence(alone)).toString()).not.toContain('group');
  expect(decodePresence(encodePresence(alone))).toEqual(alone);
  const later = { ...PRESENCE, weight: 3 };
  expect(decodePresence(encodePresence(later))).toEqual(PRESENCE);
});

test('decodePresence() refuses every other shape', () => {
  const wrong: Record<string, unknown>[] = [
    { address: 'http://10.0.0.2:3129/path' },
    { address: 'ftp://10.0.0.2:3129' },
    { address: 3129 },
    { born: -1 },
    { born: '1' },
    { heartbeatMs: 0 },
    { heartbeatMs: 60_001 },
    { keys: [2 ** 32] },
    { keys: Array.from({ length: 17 }, (_, i) => i) },
    { numbers: { 'No Topic': 1 } },
    { numbers: { summary: 1.5 } },
    { numbers: [] },
    { group: '' },
    { group: 'Rack 1' },
    { group: 'x'.repeat(33) },
    { group: 7 },
    { hail: 1 },
    { leaving: 'no' },
  ];
  for (const change of wrong)
    expect(decodePresence(Buffer.from(JSON.stringify({ ...PRESENCE, ...change })))).toBe(null);
  for (const text of ['', 'null', '[]', '{', 'x'.repeat(40_000)])
    expect(decodePresence(Buffer.from(text))).toBe(null);
});
