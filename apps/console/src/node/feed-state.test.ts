import { expect, test } from 'vitest';
import { afterEvent, bytesPerMinute, type FeedState, FIRST_FEED } from './feed-state.ts';
import type { Answer, Counts, Hello, Peer } from './node-api.ts';
import { percentile, percentileText, sharesOf } from './now-facts.ts';

const HELLO: Hello = {
  name: 'a',
  version: '1',
  startedAt: 1,
  at: 1,
  state: 'running',
  urls: 'shown',
  historyKept: 'disk',
  features: [],
  hasFleet: true,
};

function countsAt(at: number, part: Partial<Counts> = {}): Counts {
  return { at, startedAt: 1, ...part } as Counts;
}

function peerOf(address: string, summaryBytes: number): Peer {
  return { address, summaryBytes } as Peer;
}

function peersEvent(peers: readonly Peer[], isFull = false, gone: string[] = []) {
  return { kind: 'peers', data: { isFull, own: null, groups: null, peers, gone } } as const;
}

test('counts of the last ten seconds are kept, and one before a pause', () => {
  let state: FeedState = FIRST_FEED;
  for (let at = 0; at <= 60_000; at += 1000)
    state = afterEvent(state, { kind: 'counts', data: countsAt(at) });
  expect(state.counts.map(({ at }) => at)).toEqual(Array.from({ length: 11 }, (_, i) => 50_000 + 1000 * i));
  state = afterEvent(state, { kind: 'counts', data: countsAt(100_000) });
  expect(state.counts.map(({ at }) => at)).toEqual([60_000, 100_000]);
});

test('peers change, come and go, and a full message replaces all', () => {
  let state = afterEvent(FIRST_FEED, peersEvent([peerOf('a', 0), peerOf('b', 0)], true));
  state = afterEvent(state, peersEvent([peerOf('b', 5), peerOf('c', 0)], false, ['a']));
  expect([...state.peers.keys()]).toEqual(['b', 'c']);
  state = afterEvent(state, peersEvent([peerOf('d', 0)], true));
  expect([...state.peers.keys()]).toEqual(['d']);
  expect([...state.traffic.keys()]).toEqual(['d']);
});

test('bytes per minute come from the last minute, and begin again with the neighbour', () => {
  let state = FIRST_FEED;
  for (let i = 0; i <= 120; i++) {
    state = afterEvent(state, { kind: 'counts', data: countsAt(1000 * i) });
    state = afterEvent(state, peersEvent([peerOf('a', 100 * i)]));
  }
  expect(bytesPerMinute(state.traffic.get('a'))).toBe(6000);
  expect(state.traffic.get('a')!.length).toBeLessThanOrEqual(7);
  state = afterEvent(state, peersEvent([peerOf('a', 3)]));
  expect(bytesPerMinute(state.traffic.get('a'))).toBeNull();
});

test('answers are bounded, in order and without doubles; a restart forgets them', () => {
  let state = afterEvent(FIRST_FEED, { kind: 'hello', data: HELLO });
  const answers = Array.from({ length: 300 }, (_, i) => ({ id: i }) as Answer);
  state = afterEvent(state, { kind: 'answers', data: { answers, skipped: 2 } });
  state = afterEvent(state, { kind: 'answers', data: { answers: answers.slice(290), skipped: 1 } });
  expect([state.answers.length, state.answers[0].id, state.answers.at(-1)?.id, state.skipped]).toEqual([
    200, 100, 299, 3,
  ]);
  state = afterEvent(state, { kind: 'hello', data: { ...HELLO, startedAt: 2 } });
  expect(state.answers).toEqual([]);
});

test('beginnings counts the streams that began and those that left events out', () => {
  let state = afterEvent(FIRST_FEED, { kind: 'hello', data: HELLO });
  expect(state.beginnings).toBe(1);
  state = afterEvent(state, { kind: 'counts', data: countsAt(5) });
  state = afterEvent(state, { kind: 'reset', data: {} });
  expect([state.beginnings, state.counts.length]).toEqual([2, 1]);
  state = afterEvent(state, { kind: 'hello', data: HELLO });
  state = afterEvent(state, { kind: 'hello', data: { ...HELLO, state: 'stopping' } });
  expect([state.beginnings, state.counts.length]).toEqual([3, 1]);
  state = afterEvent(state, { kind: 'hello', data: { ...HELLO, startedAt: 2 } });
  expect([state.beginnings, state.counts.length]).toEqual([4, 0]);
});

test('the hit ratio is that of status, and percentiles are bounds of buckets', () => {
  const requests = {
    ...{ hit: 50, stale: 5, validated: 7, miss: 13, neighbour: 20, collapsed: 5 },
    ...{ bypass: 9, tunnel: 9, error: 9, refused: 9 },
  };
  const latency = { boundsMs: [1, 10], cache: [50, 5, 0], other: [0, 40, 5] };
  const counts = countsAt(1, { requests, latency });
  expect(sharesOf(counts)).toEqual({ local: 60, peer: 20, origin: 20, hitRatio: 0.8 });
  expect(
    [0.5, 0.9, 0.99].map((share) => percentileText(percentile(counts, share), latency.boundsMs)),
  ).toEqual(['≤ 1 ms', '≤ 10 ms', '> 10 ms']);
  expect(percentile(counts, 0.5, counts)).toBeNull();
  expect(sharesOf(counts, counts).hitRatio).toBeNull();
});
