import type { DeliveryReport } from '@bloomery/delivery';
import { expect, test } from 'vitest';
import { sourceCells, sourceLine } from './source-bar.ts';

const PEERS = ['http://10.0.0.2:4790', 'http://10.0.0.3:4790'].map((address, i) => ({
  address,
  isUp: true,
  blocks: 8,
  bytes: [1_000_000, 3_000_000][i]!,
  why: null,
}));

test('sourceCells shows the source of most blocks of each part', () => {
  const origins = ['origin', 'origin', 0, 0, 1, 1, null, null, 'resumed', -1] as const;
  expect(sourceCells(origins, 5)).toBe('#ab·=');
  expect(sourceCells(origins, 10)).toBe('##aabb··=?');
  expect(sourceCells([1], 4)).toBe('bbbb');
  expect(sourceCells([], 3)).toBe('···');
});

test('sourceLine tells share, speed, sources and the time that is left', () => {
  const report: DeliveryReport = {
    digest: '',
    phase: 'fetching',
    size: 10_000_000,
    blockBytes: 1_000_000,
    blocks: 10,
    hasBlocks: 5,
    resumedBytes: 0,
    originBytes: 1_000_000,
    peerBytes: 4_000_000,
    wastedBytes: 0,
    refuted: 0,
    peers: PEERS,
    banned: [],
    origins: ['origin', 0, 1, 1, 1, null, null, null, null, null],
  };
  const line = sourceLine(report, 2);
  expect(line).toMatch(/^fetching #{4}a{4}b{12}·{20} 50 % of 10.0 MB {2}2.50 MB\/s/);
  expect(line).toMatch(/# origin 1.00 MB, b 10.0.0.3:4790 3.00 MB, a 10.0.0.2:4790 1.00 MB {2}2 s left$/);
  expect(sourceLine({ ...report, size: null }, 2)).toBe('searching, 2 peers');
});
