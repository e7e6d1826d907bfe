/**
 * A member that was revoked: it has the old secret and hears every byte at the server. Nothing that
 * is sent under the new one can be read with the old one. A relay before the server records all
 * bytes of another peer, and none of them shows a word of a file.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { NatsServer } from '@bloomery/testkit/programs/nats-server';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { expect, onTestFinished, test } from 'vitest';
import {
  type Invitation,
  invitationText,
  newInvitation,
  readInvitation,
  ShareDaemon,
} from '../../src/search/node/index.ts';

function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-revoked-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function start(id: string, invitation: Invitation, folder: string): Promise<ShareDaemon> {
  const daemon = await ShareDaemon.start({
    id,
    groups: [{ invitation, folders: [folder], heartbeatMs: 500 }],
  });
  onTestFinished(() => daemon.close());
  await daemon.index();
  return daemon;
}

const found = async (daemon: ShareDaemon, query: string) =>
  (await daemon.searcher.search(query)).results.map(({ peer, path }) => `${peer} ${path}`);

test('a revoked member learns nothing new, and no byte on the way shows a word of a file', async () => {
  await using server = await NatsServer.start();
  await using relay = await TcpRelay.start({ target: server.port, record: true });
  const old = newInvitation({ group: 'team', nats: server.url, peers: [] });
  const anna = await start('anna', old, folderWith({ 'a.txt': 'pomegranate of anna' }));
  const relayed = { ...old, nats: `nats://127.0.0.1:${relay.port}` };
  const bobFolder = folderWith({ 'b.txt': 'pomegranate of bob', '.hidden': 'pomegranate secret' });
  const bob = await start('bob', relayed, bobFolder);
  const carol = await start('carol', old, folderWith({ 'c.txt': 'pomegranate of carol' }));
  for (const daemon of [anna, bob, carol])
    await eventually(
      async () => (await found(daemon, 'pomegranate')).length === 3,
      50_000,
      'all find all',
      50,
    );

  // Anna and Bob get a new secret, and Carol does not.
  const renewed = newInvitation(readInvitation(invitationText(old)));
  expect(Buffer.compare(renewed.secret, old.secret)).not.toBe(0);
  await anna.replace(anna.members[0], { ...anna.members[0].options, invitation: renewed });
  await bob.replace(bob.members[0], {
    ...bob.members[0].options,
    invitation: { ...renewed, nats: relayed.nats },
  });
  writeFileSync(join(bobFolder, 'new.txt'), 'rhubarb, a new word');
  await eventually(
    async () => (await found(anna, 'rhubarb')).join() === 'bob new.txt',
    50_000,
    'the new file',
    50,
  );
  expect(await found(anna, 'pomegranate')).toEqual(['anna a.txt', 'bob b.txt']);

  // Carol asks, and waits until she has noticed that the others are gone.
  await eventually(
    async () => carol.members[0].group.directory.peers().every(({ isOnline }) => !isOnline),
    50_000,
    'all are offline to Carol',
    50,
  );
  expect(await found(carol, 'rhubarb pomegranate')).toEqual(['carol c.txt']);
  expect((await carol.searcher.search('rhubarb')).offline.map(({ mayHave }) => mayHave)).toEqual([
    false,
    false,
  ]);

  // Everything that Bob sent and got, under both secrets.
  const bytes = relay.connections.map((each) => each.recorded());
  const all = Buffer.concat(bytes.flatMap(({ toServer, toClient }) => [toServer, toClient])).toString(
    'latin1',
  );
  expect(all.length).toBeGreaterThan(5000);
  expect(all).toContain('bloomery.share-team');
  for (const word of ['pomegranate', 'rhubarb', 'secret', 'b.txt', 'new.txt', 'hidden'])
    expect(all).not.toContain(word);
});
