/**
 * The secret of a fleet is changed while its nodes talk to each other: on real servers, step by
 * step and node by node, without a moment in which a neighbour is down or a request is refused.
 */

import { until } from '@bloomery/testkit/eventually';
import { afterEach, expect, test } from 'vitest';
import type { HttpTransport } from '../../src/http/index.ts';
import { FleetKeyring, type TransportError } from '../../src/index.ts';
import { HttpFleet } from './http-fleet.ts';

const [older, newer, foreign] = [1, 2, 3].map((fill) => new Uint8Array(16).fill(fill)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const STEPS = [[older], [older, newer], [newer, older], [newer]];
const NAMES = ['a', 'b', 'c'];

const fleets: HttpFleet[] = [];
afterEach(async () => {
  for (const fleet of fleets.splice(0)) await fleet.end();
});

async function fleetOf(...names: string[]): Promise<HttpFleet> {
  const fleet = await HttpFleet.withNames(...names);
  fleets.push(fleet);
  return fleet;
}

interface Node {
  readonly name: string;
  readonly keyring: FleetKeyring;
  readonly transport: HttpTransport;
  /** States of neighbours that were told, without `up`. */
  readonly downs: string[];
  readonly heard: string[];
}

function startNode(fleet: HttpFleet, name: string, secrets: readonly Uint8Array[], others: string[]): Node {
  const keyring = new FleetKeyring(secrets);
  const transport = fleet.start(name, others, { secret: keyring });
  transport.serve('echo', (body) => body);
  const downs: string[] = [];
  const heard: string[] = [];
  transport.watchPeers(({ id, state, why }) => state === 'up' || downs.push(`${id}: ${why}`));
  for (const other of others)
    transport.subscribe(fleet.address(other), 'news', {
      open() {},
      message: (bytes) => heard.push(`${other}: ${Buffer.from(bytes)}`),
      closed() {},
    });
  return { name, keyring, transport, downs, heard };
}

const isUp = ({ transport }: Node) => transport.peers().every(({ state }) => state === 'up');

async function ask({ transport }: Node, address: string): Promise<string> {
  return transport.request(address, 'echo', Buffer.from('?'), { timeoutMs: 10_000 }).then(
    () => 'answered',
    (error: TransportError) => error.code,
  );
}

test('HttpTransport loses no neighbour and no request while the secret is changed', async () => {
  const fleet = await fleetOf(...NAMES, 'stranger');
  const nodes = NAMES.map((name) =>
    startNode(
      fleet,
      name,
      STEPS[0],
      NAMES.filter((other) => other !== name),
    ),
  );
  const stranger = startNode(fleet, 'stranger', [foreign], NAMES);
  await until('all are up', () => nodes.every(isUp));
  let isOver = false;
  let asked = 0;
  const failures: string[] = [];
  const askers = nodes.map(async (node) => {
    while (!isOver)
      for (const { address } of node.transport.peers()) {
        const end = await ask(node, address);
        asked++;
        if (end !== 'answered') failures.push(`${node.name}: ${end}`);
      }
  });
  try {
    for (const secrets of STEPS.slice(1))
      for (const node of nodes) {
        node.keyring.change(secrets);
        // The neighbours know what it accepts, and what to sign with.
        const expected = (from: Node, to: Node) =>
          from.keyring.all.filter((keys) => to.keyring.find(keys.id) !== undefined).map(({ id }) => id);
        await until('all agree', () =>
          nodes.every((from) =>
            from.transport
              .peers()
              .every(
                ({ id, keys }) => `${keys}` === `${expected(from, nodes.find(({ name }) => name === id)!)}`,
              ),
          ),
        );
        const before = asked;
        await until('requests under these secrets', () => asked >= before + 12);
        for (const { address } of stranger.transport.peers())
          expect(await ask(stranger, address)).toBe('refused');
      }
  } finally {
    isOver = true;
  }
  await Promise.all(askers);
  expect(failures).toEqual([]);
  expect(nodes.flatMap(({ downs }) => downs)).toEqual([]);
  expect(stranger.transport.peers().map(({ state, id, keys }) => [state, id, keys])).toEqual(
    NAMES.map(() => ['down', null, []]),
  );
});

test('HttpTransport carries messages at each step, whichever of two nodes goes first', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const fleet = await fleetOf('a', 'b');
    const nodes = [startNode(fleet, 'a', STEPS[0], ['b']), startNode(fleet, 'b', STEPS[0], ['a'])] as const;
    await until('both are up', () => nodes.every(isUp));
    for (const [step, secrets] of STEPS.slice(1).entries())
      for (const at of order) {
        nodes[at].keyring.change(secrets);
        for (const [from, to] of [
          [0, 1],
          [1, 0],
        ] as const) {
          const news = `${step} ${at}`;
          // A stream that is opened again has not the messages in between, so this is repeated.
          await until('the news', () => {
            nodes[from].transport.publish('news', Buffer.from(news));
            return nodes[to].heard.includes(`${nodes[from].name}: ${news}`);
          });
        }
      }
    expect(nodes.flatMap(({ downs }) => downs)).toEqual([]);
  }
});

test('HttpTransport signs under a second secret if the neighbour does not know the first', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = startNode(fleet, 'a', [newer, older], ['b']);
  const b = startNode(fleet, 'b', [older], ['a']);
  await until('both are up', () => isUp(a) && isUp(b));
  const { id } = b.keyring.first;
  expect([a.transport.peers()[0]!.keys, b.transport.peers()[0]!.keys]).toEqual([[id], [id]]);
  expect(await ask(a, fleet.address('b'))).toBe('answered');
  expect(await ask(b, fleet.address('a'))).toBe('answered');
});

test('HttpTransport ends the streams of a secret that is removed, and refuses its requests', async () => {
  const fleet = await fleetOf('a', 'b');
  const a = startNode(fleet, 'a', [older], ['b']);
  const b = startNode(fleet, 'b', [older, newer], ['a']);
  await until('both are up', () => isUp(a) && isUp(b));
  b.keyring.change([newer]);
  await until('both are down', () => !isUp(a) && !isUp(b));
  expect(await ask(a, fleet.address('b'))).toBe('refused');
  await until('a knows why', () => a.transport.peers()[0]!.why?.includes('secret'));
  a.keyring.change([newer]);
  await until('both are up again', () => isUp(a) && isUp(b));
});
