import { expect, test } from 'vitest';
import type { CooperationReport, PeerReport } from '../../peers/peer-report.ts';
import { PeerChanges, type PeersNow } from './peer-changes.ts';

function peer(address: string, changes: Partial<PeerReport> = {}): PeerReport {
  return { address, state: 'up', trueHits: 0, silentMs: 1, summaryAt: 1, ...changes } as PeerReport;
}

function state(peers: readonly PeerReport[], squids: readonly PeerReport[] = []): PeersNow {
  const cooperation = { own: { id: 'a' }, groups: null, peers } as unknown as CooperationReport;
  return { cooperation, squids: { served: null, squids } };
}

test('PeerChanges.full tells all neighbours, Squids among them', () => {
  const { isFull, peers, own } = PeerChanges.full(state([peer('b')], [peer('s', { kind: 'squid' })]));
  expect([isFull, peers.map(({ address }) => address), own]).toEqual([true, ['b', 's'], { id: 'a' }]);
  expect(PeerChanges.full({ cooperation: null, squids: null })).toMatchObject({ own: null, peers: [] });
});

test('PeerChanges.next tells those that changed, and those that are gone', () => {
  const changes = new PeerChanges();
  changes.next(state([peer('b'), peer('c')]), 0);
  expect(changes.next(state([peer('b'), peer('c')]), 1000)).toBeNull();
  const next = changes.next(state([peer('b', { state: 'down' }), peer('c')]), 2000);
  expect(next).toMatchObject({ isFull: false, peers: [{ address: 'b', state: 'down' }], gone: [] });
  expect(changes.next(state([peer('c')]), 3000)).toMatchObject({ peers: [], gone: ['b'] });
  expect(changes.next(state([peer('c')]), 4000)).toBeNull();
});

test('PeerChanges.next tells the age of a summary every 10 s, and not more often', () => {
  const changes = new PeerChanges();
  changes.next(state([peer('b')]), 0);
  expect(changes.next(state([peer('b', { silentMs: 9, summaryAt: 5 })]), 9999)).toBeNull();
  expect(changes.next(state([peer('b', { silentMs: 10 })]), 10_000)?.peers).toHaveLength(1);
});
