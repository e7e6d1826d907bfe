import { expect, test } from 'vitest';
import { judgeServer, type ReaderBelief } from '../../src/shared/decisions/judge-server.ts';
import {
  goneMembers,
  isDoubtNew,
  isSettled,
  isSnapshotDue,
  maySettle,
  reconnectPauseMs,
} from '../../src/shared/decisions/member-rules.ts';
import { type FactsReply, readFacts, type ServerFacts } from '../../src/shared/decisions/server-facts.ts';

const REPLID = '8d1ff05c22aa0000000000000000000000000000';
const REPLY: FactsReply = {
  meta: Object.entries({
    version: '1',
    lineage: '3f9c2a10',
    epoch: '3',
    base: '2',
    capacity: '1000',
    rate: '0.01',
    scheme: 'forge64/0',
    settled: '8d1ff05c22aa',
    pending: '8d1ff05c22aa',
    since: '1000',
    past: 'aaaaaaaaaaaa,bbbbbbbbbbbb',
    snapshotAt: '5-0',
    snapshotEntries: '7',
  }).flat(),
  log: ['9-0', '12'],
  replication:
    `# Replication\r\nrole:master\r\nmaster_replid:${REPLID}\r\nmaster_repl_offset:500\r\n` +
    'slave0:ip=127.0.0.1,port=1,state=online,offset=480,lag=0\r\n' +
    'slave1:ip=127.0.0.1,port=2,state=wait_bgsave,offset=0,lag=0\r\n',
  time: ['100', '250999'],
  members: ['m1', '8d1ff05c22aa 99000', 'm2', '- 100000'],
};
const FACTS = readFacts(REPLY);
const META = FACTS.meta as NonNullable<ServerFacts['meta']>;
const BELIEF: ReaderBelief = {
  lineage: '3f9c2a10',
  epoch: 3,
  server: '8d1ff05c22aa',
  position: '9-0',
  doubtMs: 1000,
};
const withMeta = (change: Partial<typeof META>): ServerFacts => ({ ...FACTS, meta: { ...META, ...change } });

test('readFacts reads a look', () => {
  expect(FACTS).toMatchObject({
    log: { last: '9-0', entries: 12 },
    server: '8d1ff05c22aa',
    isMaster: true,
    offset: 500,
    replicaOffsets: [480],
    timeMs: 100_250,
    members: [
      { id: 'm1', confirmed: '8d1ff05c22aa', beatMs: 99_000 },
      { id: 'm2', confirmed: '', beatMs: 100_000 },
    ],
  });
  expect(META).toMatchObject({
    epoch: 3,
    base: 2,
    past: ['aaaaaaaaaaaa', 'bbbbbbbbbbbb'],
    snapshotAt: '5-0',
  });
});

test('readFacts refuses a filter of another version', () => {
  expect(() => readFacts({ ...REPLY, meta: ['version', '2'] })).toThrow('expected version 1, got "2"');
});

test('judgeServer follows the log that it knows', () => {
  expect(judgeServer(BELIEF, FACTS)).toBe('follow');
  expect(judgeServer(null, FACTS)).toBe('load');
});

test('judgeServer restores a filter that the server lost', () => {
  expect(judgeServer(BELIEF, { ...FACTS, meta: null })).toBe('restore');
  expect(judgeServer(BELIEF, { ...FACTS, log: null })).toBe('restore');
});

test('judgeServer adopts a log that may lack what it knows', () => {
  expect(judgeServer(BELIEF, { ...FACTS, server: 'other' })).toBe('adopt');
  expect(judgeServer(BELIEF, withMeta({ lineage: 'other' }))).toBe('adopt');
  expect(judgeServer(BELIEF, withMeta({ epoch: 2 }))).toBe('adopt');
  expect(judgeServer(BELIEF, withMeta({ epoch: 4, base: 3 }))).toBe('adopt');
  expect(judgeServer({ ...BELIEF, position: '9-1' }, FACTS)).toBe('adopt');
  expect(judgeServer(BELIEF, withMeta({ settled: '', sinceMs: 2000 }))).toBe('adopt');
  expect(judgeServer({ ...BELIEF, doubtMs: null }, withMeta({ settled: '', sinceMs: 2000 }))).toBe('follow');
});

test('judgeServer replaces its filter by one that was rebuilt', () => {
  expect(judgeServer(BELIEF, withMeta({ epoch: 4, base: 4 }))).toBe('replace');
});

test('maySettle waits for the time and for every member with a recent beat', () => {
  const times = { memberMs: 5000, settleMs: 3000 };
  const doubted = withMeta({ settled: '', sinceMs: 90_000 });
  const confirmed = doubted.members.map((member) => ({ ...member, confirmed: '8d1ff05c22aa' }));
  expect(maySettle({ ...doubted, members: confirmed }, times)).toBe(true);
  expect(maySettle(doubted, times)).toBe(false);
  expect(maySettle(doubted, { ...times, memberMs: 200 })).toBe(true);
  expect(maySettle({ ...doubted, members: confirmed }, { ...times, settleMs: 20_000 })).toBe(false);
  expect(maySettle({ ...doubted, members: confirmed, server: 'other' }, times)).toBe(false);
  expect(maySettle(FACTS, times)).toBe(false);
});

test('isSettled and isDoubtNew tell the three states of a server', () => {
  expect([isSettled(FACTS), isDoubtNew(FACTS)]).toEqual([true, false]);
  const other = { ...FACTS, server: 'other' };
  expect([isSettled(other), isDoubtNew(other)]).toEqual([false, true]);
  const noted = withMeta({ settled: '' });
  expect([isSettled(noted), isDoubtNew(noted)]).toEqual([false, false]);
});

test('goneMembers names those that have been silent for ten times as long as a beat counts', () => {
  expect(goneMembers(FACTS, { memberMs: 100, settleMs: 0 })).toEqual(['m1']);
  expect(goneMembers(FACTS, { memberMs: 1000, settleMs: 0 })).toEqual([]);
});

test('isSnapshotDue compares the log since the last snapshot with the filter', () => {
  const due = (hashes: number, filterBytes: number, mostEntries: number) =>
    isSnapshotDue(FACTS, { hashes, filterBytes, mostEntries });
  // Five entries since the last one.
  expect([due(0, 1, 5), due(0, 1, 6)]).toEqual([true, false]);
  // 500 bytes for the entries and 8 for each hash, against twelve times the filter.
  const hashes = (12 * 1_000_000 - 500) / 8;
  expect([due(hashes, 1_000_000, 100), due(hashes - 1, 1_000_000, 100)]).toEqual([true, false]);
  // A tiny filter is not uploaded all the time.
  expect([due(65_000, 1000, 100), due(66_000, 1000, 100)]).toEqual([false, true]);
});

test('reconnectPauseMs doubles from 50 ms to 2 s and spreads the attempts', () => {
  expect([0, 1, 2, 5, 6, 1000].map((attempt) => reconnectPauseMs(attempt, 1))).toEqual([
    50, 100, 200, 1600, 2000, 2000,
  ]);
  expect(reconnectPauseMs(0, 0)).toBe(25);
});
