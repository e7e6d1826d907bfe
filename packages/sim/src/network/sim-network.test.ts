import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import type { LinkFaults } from './link-faults.ts';
import { SimNetwork } from './sim-network.ts';

const [A, B] = ['sim:a', 'sim:b'];

/** Node a publishes, node b writes down what it hears. */
async function pair(seed = 1, faults: Partial<LinkFaults> = {}) {
  const clock = new VirtualClock({ seed });
  const network = new SimNetwork(clock);
  network.setFaults({ delayMs: 10 });
  const a = network.join({ id: 'a', peers: [B] });
  const b = network.join({ id: 'b', peers: [A] });
  const told: string[] = [];
  b.subscribe(A, 'x', {
    message: (bytes) => told.push(bytes.join(' ')),
    open: () => told.push('open'),
    closed: (why) => told.push(`closed: ${why}`),
  });
  await clock.advance(100);
  network.setFaults({ delayMs: 10, ...faults }, A, B);
  return { clock, network, a, b, told };
}

async function heard(seed: number, faults: Partial<LinkFaults>): Promise<string[]> {
  const { clock, a, told } = await pair(seed, faults);
  for (let i = 0; i < 50; i++) a.publish('x', Uint8Array.of(i));
  await clock.advance(1000);
  return told.slice(1);
}

const sent = Array.from({ length: 50 }, (_, i) => `${i}`);

test('SimNetwork loses, duplicates, reorders and damages messages, the same ones for one seed', async () => {
  expect(await heard(1, {})).toEqual(sent);
  const lossy = await heard(1, { loss: 0.3 });
  expect(lossy.length).toBeLessThan(50);
  expect(lossy).toEqual(sent.filter((each) => lossy.includes(each)));
  const doubled = await heard(1, { duplication: 0.3 });
  expect(doubled.length).toBeGreaterThan(50);
  expect([...new Set(doubled)]).toEqual(sent);
  const mixed = await heard(1, { reordering: 0.3 });
  expect(mixed).not.toEqual(sent);
  expect([...mixed].sort()).toEqual([...sent].sort());
  const hurt = await heard(1, { damage: 0.3 });
  expect(hurt.length).toBe(50);
  expect(hurt).not.toEqual(sent);
  const all = { loss: 0.2, duplication: 0.2, reordering: 0.2, damage: 0.2, jitterMs: 50 };
  expect(await heard(5, all)).toEqual(await heard(5, all));
  expect(await heard(5, all)).not.toEqual(await heard(6, all));
});

test('SimNetwork keeps the order of messages whose delays differ', async () => {
  expect(await heard(1, { jitterMs: 500 })).toEqual(sent);
});

test('SimNetwork drops what meets a partition, and a short one leaves the link up', async () => {
  const { clock, network, a, told } = await pair();
  network.partition(A, B);
  a.publish('x', Uint8Array.of(1));
  await clock.advance(14_000);
  network.heal(A, B);
  a.publish('x', Uint8Array.of(2));
  await clock.advance(60_000);
  expect(told).toEqual(['open', '2']);
});

test('SimNetwork lets a crashed node go silent, and its successor resets the link', async () => {
  const { clock, network, b, told } = await pair();
  network.crash(A);
  await clock.advance(5000);
  expect(b.peers()[0].state).toBe('up');
  const successor = network.join({ id: 'a2', address: A, peers: [B] });
  successor.publish('x', Uint8Array.of(1));
  await clock.advance(5000);
  expect(told).toEqual(['open', 'closed: restarted', 'open']);
  network.crash(A);
  await clock.advance(15_000);
  expect(b.peers()[0]).toMatchObject({ state: 'down', why: 'silent', id: 'a2' });
});

test('SimNetwork refuses a second node at an address', async () => {
  const { network } = await pair();
  expect(() => network.join({ id: 'c', address: A, peers: [] })).toThrow(
    'Cannot join the network: expected a free address, got sim:a',
  );
});

test('SimNetwork leaves no timer behind when all nodes have closed', async () => {
  const { clock, a, b } = await pair();
  b.serve('y', (body) => body);
  await Promise.all([a.request(B, 'y', Uint8Array.of(1), { timeoutMs: 1000 }), clock.advance(100)]);
  await a.close();
  await b.close();
  await clock.advance(100);
  expect(clock.pending).toBe(0);
});
