/** The seal of a group: members understand each other, and those with another secret do not. */

import { SimNetwork, Simulation } from '@bloomery/sim';
import { expect, test } from 'vitest';
import { SealedTransport } from '../../src/search/node/sealed-transport.ts';

const [secret, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];

test('SealedTransport carries publications, requests and answers, and shows nothing of them', async () => {
  // Sealing draws real nonces, so time is virtual and the run is not repeatable.
  const simulation = new Simulation({ seed: 1, settle: 'turn' });
  const network = new SimNetwork(simulation);
  const join = (id: string) =>
    network.join({ id, peers: ['a', 'b', 'c'].filter((each) => each !== id).map((each) => `sim:${each}`) });
  const [inner, a] = [join('a'), join('b')];
  const owner = new SealedTransport(inner, secret);
  const member = new SealedTransport(a, secret);
  const stranger = new SealedTransport(join('c'), other);
  const wire: Uint8Array[] = [];
  const seen: string[] = [];
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
  const listen = (name: string) => ({
    message: (bytes: Uint8Array) => void seen.push(`${name} ${text(bytes)}`),
    open: () => {},
    closed: () => {},
  });
  member.subscribe('sim:a', 'news', listen('member'));
  stranger.subscribe('sim:a', 'news', listen('stranger'));
  a.subscribe('sim:a', 'news', { ...listen('wire'), message: (bytes) => void wire.push(bytes) });
  owner.serve('echo', (body, from) => Buffer.from(`${text(body)} of ${from}`));
  await simulation.run({ untilMs: 1000 });
  owner.publish('news', Buffer.from('marker in the news'));
  const outcomes: string[] = [];
  const ask = (transport: SealedTransport) =>
    transport.request('sim:a', 'echo', Buffer.from('marker'), { timeoutMs: 500 }).then(
      (answer) => void outcomes.push(text(answer)),
      (error) => void outcomes.push(error.code),
    );
  const asked = [ask(member), ask(stranger)];
  await simulation.run({ untilMs: 3000 });
  await Promise.all(asked);
  expect(seen).toEqual(['member marker in the news']);
  expect(outcomes.sort()).toEqual(['failed', 'marker of b']);
  expect(stranger.refused).toBe(1);
  expect(wire).toHaveLength(1);
  expect(text(wire[0])).not.toContain('marker');
  // A publication that is played again as an answer is refused, and so is a changed one.
  inner.serve('replay', () => wire[0]);
  const replayed = member
    .request('sim:a', 'replay', new Uint8Array(1), { timeoutMs: 500 })
    .catch(({ code }) => code);
  await simulation.run({ untilMs: 5000 });
  expect(await replayed).toBe('damaged');
});
