/**
 * Nothing private leaves a node: every byte between the nodes is recorded, in both directions, and
 * searched for the secrets of requests and of responses. Private objects are in no summary either,
 * so a neighbour goes to the origin for them.
 */

import { FLEET_SECRET, type Fleet } from '@bloomery/testkit/fleet/fleet';
import type { FleetNode } from '@bloomery/testkit/fleet/fleet-node';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { systemClock } from '@bloomery/transport';
import { RequestSigner } from '@bloomery/transport/http';
import { expect, test } from 'vitest';
import { ask } from '../node/scratch.ts';
import { startFleet, untilGiven } from './start-fleet.ts';

const SECRET = 'xyzzy-plugh-0451';

/** A request with a secret, and the answer to it. */
interface PrivateCase {
  readonly what: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly answer?: readonly string[];
}

const CASES: readonly PrivateCase[] = [
  { what: 'Authorization', path: '/authorization', headers: { Authorization: `Bearer ${SECRET}` } },
  {
    what: 'Authorization, with a public answer',
    path: '/authorization-public',
    headers: { Authorization: `Bearer ${SECRET}` },
    answer: ['Cache-Control', 'public, max-age=600'],
  },
  { what: 'Cookie', path: '/cookie', headers: { Cookie: `session=${SECRET}` } },
  {
    what: 'Set-Cookie',
    path: '/set-cookie',
    answer: ['Cache-Control', 'max-age=600', 'Set-Cookie', `id=${SECRET}`],
  },
  { what: 'private', path: '/private', answer: ['Cache-Control', 'private, max-age=600', 'X-Name', SECRET] },
  { what: 'no-store', path: '/no-store', answer: ['Cache-Control', 'no-store', 'X-Name', SECRET] },
  { what: 'a token in the query', path: `/file?token=${SECRET}` },
  { what: 'a signed URL', path: `/signed?X-Amz-Signature=${SECRET}&X-Amz-Expires=60` },
  { what: 'a key in the query', path: `/map?key=${SECRET}` },
  { what: 'a password in the query', path: `/login?user=a&password=${SECRET}` },
  {
    what: 'Proxy-Authorization',
    path: '/proxy-authorization',
    headers: { 'Proxy-Authorization': `Basic ${SECRET}` },
  },
];

/** The credentials are for this node, and the answer is for all clients. */
const SHAREABLE = new Set(['Proxy-Authorization']);

test('secrets of requests and responses never occur between nodes, nor do the objects behind them', async () => {
  await using origin = await startOrigin();
  const body = (path: string) => `${path.replace(SECRET, '')} ${SECRET} body`;
  for (const { what, path, answer } of CASES)
    origin.on(path, {
      headers: answer ?? ['Cache-Control', 'max-age=600'],
      // The bodies of shareable responses are not secret.
      body: SHAREABLE.has(what) ? 'for all' : body(path),
    });
  origin.on('/public', { headers: ['Cache-Control', 'max-age=600'], body: 'a public body' });
  const fleet = await startFleet({ nodes: 3, origin: origin.origin, relays: { record: true } });
  const [first, second, third] = fleet.nodes as [FleetNode, FleetNode, FleetNode];
  for (const { path, headers = {} } of CASES)
    expect((await ask(first.port, path, { headers })).status).toBe(200);
  await ask(first.port, '/public');
  // The one public object and those whose answers are for all.
  for (const other of [second, third]) await other.untilHeard(first, 1 + SHAREABLE.size);
  for (const { what, path, headers = {} } of CASES) {
    const count = () => origin.requests.filter(({ url }) => url === path).length;
    const before = count();
    for (const other of [second, third]) expect((await ask(other.port, path, { headers })).status).toBe(200);
    if (!SHAREABLE.has(what)) expect(count() - before, what).toBe(2);
  }
  await untilGiven('a public object of a neighbour', async (tried) => {
    const path = `/public?${tried}`;
    await ask(first.port, path);
    await second.untilHeard(first, 2 + SHAREABLE.size + tried);
    expect((await ask(second.port, path)).body).toBe('a public body');
    return origin.requests.filter(({ url }) => url === path).length === 1;
  });
  const wire = recorded(fleet);
  expect(wire.includes('a public body'), 'the relays see the objects between nodes').toBe(true);
  for (const form of [
    SECRET,
    Buffer.from(SECRET).toString('base64').slice(0, -4),
    encodeURIComponent(SECRET),
  ])
    expect(wire.includes(form), form).toBe(false);
});

test('--share lets responses go whose query only looks like a secret', async () => {
  await using origin = await startOrigin();
  origin.on('/map', { headers: ['Cache-Control', 'max-age=600'], body: 'a map' });
  const fleet = await startFleet({
    nodes: 2,
    origin: origin.origin,
    settings: () => ({ share: [`${origin.origin}/map`] }),
  });
  const [first, second] = fleet.nodes as [FleetNode, FleetNode];
  await untilGiven('a map of a neighbour', async (tried) => {
    const path = `/map?key=harmless-${tried}`;
    await ask(first.port, path);
    await second.untilHeard(first, 1 + tried);
    expect((await ask(second.port, path)).body).toBe('a map');
    return origin.count('/map') === 1 + 2 * tried;
  });
});

test('a program without the secret of the fleet gets the same refusal, whatever it asks for', async () => {
  await using origin = await startOrigin();
  origin.on('/public', { headers: ['Cache-Control', 'max-age=600'], body: 'a public body' });
  const fleet = await startFleet({ nodes: 2, origin: origin.origin });
  const [first, second] = fleet.nodes as [FleetNode, FleetNode];
  await ask(first.port, '/public');
  await second.untilHeard(first, 1);
  const answers = [];
  for (const path of [`${origin.origin}/public`, `${origin.origin}/absent`, 'http://other.example/'])
    for (const headers of [{}, { 'Bloomery-Peer': 'v=1; node=x; t=1; n=AAAAAAAAAAAAAAAA; mac=AAAA' }])
      answers.push(await ask(first.peerPort, path, { headers }));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 504));
  expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
});

test('a question that was signed for one node is refused by another, whatever address it has', async () => {
  await using origin = await startOrigin();
  origin.on('/public', { headers: ['Cache-Control', 'max-age=600'], body: 'a public body' });
  const fleet = await startFleet({ nodes: 2, origin: origin.origin });
  const [first, second] = fleet.nodes as [FleetNode, FleetNode];
  await ask(first.port, '/public');
  const signer = new RequestSigner(Buffer.from(FLEET_SECRET), second.name, systemClock);
  const target = `${origin.origin}/public`;
  // A name that no node of the fleet knows, as behind a name server.
  const host = 'node.example:3129';
  const statusFor = async (to: string | null) => {
    const signature = signer.sign({ method: 'GET', target, host, to });
    const headers = { host, 'Bloomery-Ask': 'stored', 'Bloomery-Peer': signature };
    return (await ask(first.peerPort, target, { headers })).status;
  };
  expect([await statusFor(first.name), await statusFor(second.name)]).toEqual([200, 504]);
});

function recorded(fleet: Fleet): Buffer {
  return Buffer.concat(fleet.relays.map((relay) => relay.recorded()));
}
