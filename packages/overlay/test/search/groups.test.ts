/**
 * A peer in two groups over a NATS server: each folder is seen by the members of its group alone,
 * and a search of the peer in both ranks as one index over all folders that it may see.
 */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { expect, onTestFinished, test } from 'vitest';
import { parseQuery } from '../../src/search/index.ts';
import { newInvitation, ShareDaemon } from '../../src/search/node/index.ts';
import { CentralIndex } from './central-index.ts';

const TEXTS = {
  team: { 'plan.txt': 'orchid plan for the team', 'notes.txt': 'orchid orchid rose' },
  board: { 'plan.txt': 'salaries and orchid', 'rose.txt': 'rose' },
  mine: { 'own.txt': 'rose of orchid' },
} as const;

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-groups-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

test('each folder is for its group, and a peer in two groups searches both as one index', async () => {
  await using server = await NatsServer.start();
  const [team, board] = ['team', 'board'].map((group) =>
    newInvitation({ group, nats: server.url, peers: [] }),
  );
  const start = async (id: string, groups: Parameters<typeof ShareDaemon.start>[0]['groups']) => {
    const daemon = await ShareDaemon.start({ id, groups });
    onTestFinished(() => daemon.close());
    await daemon.index();
    return daemon;
  };
  const common = { heartbeatMs: 500 };
  const bob = await start('bob', [{ ...common, invitation: team, folders: [folderWith(TEXTS.team)] }]);
  const carol = await start('carol', [{ ...common, invitation: board, folders: [folderWith(TEXTS.board)] }]);
  const anna = await start('anna', [
    { ...common, invitation: team, folders: [folderWith(TEXTS.mine)] },
    { ...common, invitation: board, folders: [] },
  ]);
  const search = async (daemon: ShareDaemon) => (await daemon.searcher.search('orchid rose')).results;
  const all = await eventually(async () => {
    const results = await search(anna);
    return results.length === 5 && results;
  });
  const owners = { bob: TEXTS.team, carol: TEXTS.board, anna: TEXTS.mine };
  const documents = Object.entries(owners).flatMap(([peer, files]) =>
    Object.entries(files).map(([path, text]) => ({ peer, path, type: 'txt', text })),
  );
  expect(all.map(({ score, peer, path }) => ({ score, peer, path }))).toEqual(
    new CentralIndex(documents).search(parseQuery('orchid rose'), 10),
  );
  expect(new Set(all.map(({ peer, group }) => `${peer} ${group}`))).toEqual(
    new Set(['bob team', 'carol board', 'anna team']),
  );
  const peersOf = (results: typeof all) => [...new Set(results.map(({ peer }) => peer))].sort();
  await eventually(async () => peersOf(await search(bob)).join() === 'anna,bob');
  expect(peersOf(await search(carol))).toEqual(['carol']);
  expect(peersOf(await search(bob))).toEqual(['anna', 'bob']);
});

test('the control port wants its token, and refuses other hosts and other methods', async () => {
  const invitation = newInvitation({ group: 'team', nats: null, peers: [] });
  const daemon = await ShareDaemon.start({ id: 'anna', groups: [{ invitation, folders: [] }] });
  onTestFinished(() => daemon.close());
  const headers = { Authorization: `Bearer ${daemon.token}` };
  const code = async (path: string, init: RequestInit = {}) =>
    (await fetch(daemon.control + path, init)).status;
  expect(await code('/status', { headers })).toBe(200);
  expect(await code('/status')).toBe(401);
  expect(await code('/status', { headers: { Authorization: `Bearer ${daemon.token}x` } })).toBe(401);
  expect(await code('/find?q=the', { headers })).toBe(400);
  expect(await code('/find?q=word&most=0', { headers })).toBe(400);
  expect(await code('/rescan', { headers })).toBe(404);
  expect(await code('/rescan', { method: 'POST', headers })).toBe(200);
  expect(await code('/holders?sha256=12', { headers })).toBe(400);
  // A page of another site, whose name leads to loopback.
  const rebound = get(`${daemon.control}/status`, { headers: { ...headers, Host: 'evil.example' } });
  const [response] = (await once(rebound, 'response')) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(403);
});
