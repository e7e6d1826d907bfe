/**
 * The secret of a fleet of real nodes is changed while clients ask them: three steps, node by node.
 * At each of them every node gets what its neighbours hold from them, and a node with a foreign
 * secret gets nothing. One of the nodes has workers.
 */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { checkedGet } from '@bloomery/testkit/fleet/checked-get';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { knownPath } from '@bloomery/testkit/origins/known-body';
import { fleetKeys, systemClock } from '@bloomery/transport';
import { HttpTransport, RequestSigner } from '@bloomery/transport/http';
import { expect, test } from 'vitest';
import { keyName } from '../../src/peers/peer-report.ts';
import { cleanUp, until } from '../node/scratch.ts';
import { countsOf, offer, startFleet, startKnownOrigin, untilGiven } from './start-fleet.ts';

const OLDER = 'the secret with which the fleet begins';
const NEWER = 'the secret to which the fleet changes';
const FOREIGN = 'a secret that no node of the fleet has';
const STEPS = [[OLDER], [OLDER, NEWER], [NEWER, OLDER], [NEWER]];

/** Objects that a client asks for at a time. */
const BATCH = 8;

const nameOf = (secret: string) => keyName(fleetKeys(Buffer.from(secret)).id);
const secretFile = (folder: string, index: number) => join(folder, `secret-${index}`);

function writeSecrets(folder: string, index: number, secrets: readonly string[]): string {
  const path = secretFile(folder, index);
  writeFileSync(path, `${secrets.join('\n')}\n`, { mode: 0o600 });
  return path;
}

/** The answers to one client, which asks a node for objects of one neighbour. */
interface Seen {
  fromNeighbour: number;
  /** Objects that the neighbour held and that came from the origin. */
  readonly fromOrigin: string[];
  readonly wrong: string[];
}

test('the secret changes under traffic, and no neighbour is lost from sight', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({
    nodes: 3,
    origin: origin.url,
    settings: (index, folder) => ({
      peerSecret: writeSecrets(folder, index, STEPS[0]!),
      memory: '1GB',
      // On a busy machine, owners and a primary process need longer than by default.
      peerBudget: '5s',
      ...(index === 1 ? { workers: 2 } : {}),
    }),
  });
  const { nodes, folder } = fleet;
  const stranger = new HttpTransport({
    id: 'stranger',
    secret: Buffer.from(FOREIGN),
    peers: nodes.map(({ peerPort }) => `http://127.0.0.1:${peerPort}`),
  });
  cleanUp(() => stranger.close());
  const known = nodes.map(({ index }) => knownPath(`known/${index}`, 20_000));
  for (const node of nodes) await offer(node, known[node.index]!);

  let isOver = false;
  const seen = nodes.map((): Seen => ({ fromNeighbour: 0, fromOrigin: [], wrong: [] }));
  const clients = nodes.map(async (asker, index) => {
    const holder = nodes[(index + 1) % nodes.length]!;
    for (let round = 0; !isOver; round++) await askForBatch(asker, holder, round, seen[index]!);
  });
  const now = nodes.map(() => STEPS[0]!);
  try {
    for (const [step, secrets] of STEPS.slice(1).entries())
      for (const node of nodes) {
        now[node.index] = secrets;
        writeSecrets(folder, node.index, secrets);
        node.reload();
        await untilAgreed(nodes, now);
        for (const each of seen) {
          const before = each.fromNeighbour;
          await until(`answers of neighbours, step ${step}`, () => each.fromNeighbour > before, 60_000);
        }
        // All nodes meet at one owner, so a new object is fetched once.
        await untilGiven(`one fetch in step ${step}`, async (tried) => {
          const path = knownPath(`herd/${step}/${node.index}/${tried}`, 20_000);
          const answers = await Promise.all(nodes.map(({ port }) => checkedGet(port, path)));
          for (const answer of answers) expect(answer).toMatchObject({ status: 200, wrong: null });
          return origin.fetches(path) === 1;
        });
        expect(await strangerGets(node, known[node.index]!, origin.url)).toBe(504);
        expect(stranger.peers().map(({ state, id }) => [state, id])).toEqual(nodes.map(() => ['down', null]));
      }
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  expect(seen.flatMap(({ wrong }) => wrong)).toEqual([]);
  for (const node of nodes) {
    await expectSeen(node, seen[node.index]!.fromOrigin);
    expect(node.log.filter(({ event }) => event === 'peer-down')).toEqual([]);
    expect(node.log.filter(({ level }) => level === 'error')).toEqual([]);
  }
});

/**
 * On a busy machine a neighbour misses its deadline, or rests after several of them, and the origin
 * is asked. Each of these requests knew that the neighbour has the object.
 */
async function expectSeen(node: FleetNode, paths: readonly string[]): Promise<void> {
  const lineOf = (path: string) => node.accessLog().find(({ url }) => String(url).endsWith(path));
  await until('the access log', () => paths.every((path) => lineOf(path) !== undefined));
  const reasons = paths.map((path) => String(lineOf(path)!.neighbours));
  for (const reason of reasons) expect(reason).toMatch(/^http\S+: (asked|resting);/);
  const late = reasons.filter((reason) => reason.includes(': asked;'));
  expect((await countsOf(node)).failures).toBeGreaterThanOrEqual(late.length);
}

/** Lets a node store objects, waits until another one knows of them, and asks that one for them. */
async function askForBatch(asker: FleetNode, holder: FleetNode, round: number, seen: Seen): Promise<void> {
  const paths = Array.from({ length: BATCH }, (_, i) =>
    knownPath(`of/${holder.index}/${round}/${i}`, 20_000),
  );
  // Other clients may let it store objects meanwhile, so the number is at least this one.
  const offered = async () => (await holder.status()).cooperation!.own.objects;
  const before = await offered();
  for (const path of paths) await checkedGet(holder.port, path);
  await until(`${holder.name} to offer them`, async () => (await offered()) >= before + BATCH);
  await asker.untilHeard(holder);
  for (const path of paths) {
    const { status, isWhole, wrong, headers } = await checkedGet(asker.port, path);
    const isRight = status === 200 && isWhole && wrong === null;
    if (!isRight) seen.wrong.push(`${path}: ${status} ${wrong}`);
    else if (String(headers['cache-status']).startsWith(`${holder.name}; hit`)) seen.fromNeighbour++;
    else seen.fromOrigin.push(path);
  }
}

/**
 * Waits until each node has its secrets, with all objects under each, and knows those of the
 * others, with all their objects.
 */
async function untilAgreed(nodes: readonly FleetNode[], now: readonly (readonly string[])[]): Promise<void> {
  for (const node of nodes)
    await until(`${node.name} to have its secrets`, async () => {
      const { own, peers } = (await node.status()).cooperation!;
      const names = now[node.index]!.map(nameOf);
      if (own.keys.map(({ id }) => id).join() !== names.join()) return false;
      if (own.keys.some(({ objects }) => objects !== own.objects)) return false;
      return peers.every(({ id, keys }) => {
        const other = nodes.find(({ name }) => name === id);
        const others = other === undefined ? [] : now[other.index]!.map(nameOf);
        const used = names.find((name) => others.includes(name));
        return keys.every(
          (key) =>
            key.isUsed === (key.id === used) &&
            key.isShared === others.includes(key.id) &&
            (!key.isShared || key.objects !== null),
        );
      });
    });
}

/** The status of a question for an object that a node holds, signed under the foreign secret. */
async function strangerGets(node: FleetNode, path: string, origin: string): Promise<number> {
  const host = `127.0.0.1:${node.peerPort}`;
  const target = `${origin}${path}`;
  const signer = new RequestSigner(Buffer.from(FOREIGN), 'stranger', systemClock);
  const asked = request({
    host: '127.0.0.1',
    port: node.peerPort,
    path: target,
    headers: {
      host,
      'bloomery-ask': 'stored',
      'bloomery-peer': signer.sign({ method: 'GET', target, host }),
    },
    agent: false,
  }).end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  return answer.statusCode;
}

test('a file of secrets that cannot be used leaves the node as it is', async () => {
  const origin = await startKnownOrigin();
  const fleet = await startFleet({
    nodes: 2,
    origin: origin.url,
    settings: (index, folder) => ({
      peerSecret: writeSecrets(folder, index, [OLDER]),
      ...(index === 1 ? { workers: 2 } : {}),
    }),
  });
  for (const node of fleet.nodes) {
    writeSecrets(fleet.folder, node.index, [NEWER, 'short']);
    node.reload();
    await until('it to say why', () =>
      node.log.some(
        ({ event, problem }) =>
          event === 'not-reloaded' && String(problem).includes('at least 16 bytes, got 5'),
      ),
    );
    const { own, peers } = (await node.status()).cooperation!;
    expect(own.keys.map(({ id }) => id)).toEqual([nameOf(OLDER)]);
    expect(peers).toMatchObject([{ state: 'up', masked: null }]);
  }
});
