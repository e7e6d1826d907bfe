import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DEFAULT_POLICY, NOT_STORED, storedOrReason, toStore } from './index.ts';

const NOW = Date.UTC(2026, 0, 1);
const TIMES = { requestTime: NOW, responseTime: NOW };

interface Case {
  readonly method?: string;
  readonly asked?: string[];
  readonly status?: number;
  readonly came?: string[];
}

describe('storedOrReason', () => {
  const cases: [string, Case][] = [
    ['method', { method: 'POST' }],
    ['method', { method: 'HEAD', came: ['Cache-Control', 'max-age=60'] }],
    ['request-content', { asked: ['Content-Length', '3'], came: ['Cache-Control', 'max-age=60'] }],
    ['request-no-store', { asked: ['Cache-Control', 'no-store'], came: ['Cache-Control', 'max-age=60'] }],
    ['status', { status: 304 }],
    ['must-understand', { status: 299, came: ['Cache-Control', 'must-understand, max-age=60'] }],
    ['no-store', { came: ['Cache-Control', 'no-store, private'] }],
    ['private', { came: ['Cache-Control', 'private, max-age=60'] }],
    ['authorization', { asked: ['Authorization', 'Basic x'], came: ['Cache-Control', 'max-age=60'] }],
    ['no-freshness', {}],
    ['no-freshness', { status: 302, came: ['ETag', '"1"'] }],
    ['vary', { came: ['Cache-Control', 'max-age=60', 'Vary', '*'] }],
    ['partial', { status: 206, came: ['Cache-Control', 'max-age=60'] }],
  ];
  test.each(cases)('says %s of %j', (reason, { method = 'GET', asked = [], status = 200, came = [] }) => {
    const request = { method, key: 'http://a.example/', headers: asked };
    const response = { status, statusText: '', headers: came };
    expect(storedOrReason(request, response, TIMES, DEFAULT_POLICY)).toBe(reason);
    expect(toStore(request, response, TIMES, DEFAULT_POLICY)).toBeNull();
  });
});

test('docs/guide/cache.md has the reasons, and no others', () => {
  const guide = readFileSync(new URL('../../../../docs/guide/cache.md', import.meta.url), 'utf8');
  const table = guide.slice(guide.indexOf('| reason | |'), guide.indexOf('## Configuration'));
  const rows = [...table.matchAll(/^\| `([a-z-]+)` \| (.*) \|$/gm)].map(([, word, text]) => [word, text]);
  expect(rows).toEqual(Object.entries(NOT_STORED));
});
