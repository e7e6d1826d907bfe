import { expect, test } from 'vitest';
import { Simulation } from '../engine/simulation.ts';
import type { LinkConditions } from './link-conditions.ts';
import { SimNetwork } from './sim-network.ts';

const [A, B] = ['sim:a', 'sim:b'];

/** Node a publishes, node b writes down what it hears. */
async function pair(seed = 1, faults: Partial<LinkConditions> = {}) {
  const simulation = new Simulation({ seed });
  const network = new SimNetwork(simulation);
  const advance = async (ms: number) => void (await simulation.run({ untilMs: simulation.elapsedMs + ms }));
  network.setConditions({ delayMs: 10 });
  const a = network.join({ id: 'a', peers: [B] });
  const b = network.join({ id: 'b', peers: [A] });
  const told: string[] = [];
  b.subscribe(A, 'x', {
    message: (bytes) => told.push(bytes.join(' ')),
    open: () => told.push('open'),
    closed: (why) => told.push(`closed: ${why}`),
  });
  await advance(100);
  network.setConditions({ delayMs: 10, ...faults }, A, B);
  return { simulation, advance, network, a, b, told };
}

async function heard(seed: number, faults: Partial<LinkConditions>): Promise<string[]> {
  const { advance, a, told } = await pair(seed, faults);
  for (let i = 0; i < 50; i++) a.publish('x', Uint8Array.of(i));
  await advance(1000);
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
  const { advance, network, a, told } = await pair();
  network.partition(A, B);
  a.publish('x', Uint8Array.of(1));
  await advance(14_000);
  network.heal(A, B);
  a.publish('x', Uint8Array.of(2));
  await advance(60_000);
  expect(told).toEqual(['open', '2']);
});

test('SimNetwork lets a crashed node go silent, and its successor resets the link', async () => {
  const { advance, network, b, told } = await pair();
  network.crash(A);
  await advance(5000);
  expect(b.peers()[0].state).toBe('up');
  const successor = network.join({ id: 'a2', address: A, peers: [B] });
  successor.publish('x', Uint8Array.of(1));
  await advance(5000);
  expect(told).toEqual(['open', 'closed: restarted', 'open']);
  network.crash(A);
  await advance(15_000);
  expect(b.peers()[0]).toMatchObject({ state: 'down', why: 'silent', id: 'a2' });
});

test('SimNetwork refuses a second node at an address', async () => {
  const { network } = await pair();
  expect(() => network.join({ id: 'c', address: A, peers: [] })).toThrow(
    'Cannot join the network: expected a free address, got sim:a',
  );
});

test('SimNetwork leaves no timer behind when all nodes have closed', async () => {
  const { simulation, advance, a, b } = await pair();
  b.serve('y', (body) => body);
  await Promise.all([a.request(B, 'y', Uint8Array.of(1), { timeoutMs: 1000 }), advance(100)]);
  await a.close();
  await b.close();
  await advance(100);
  expect(simulation.pending).toBe(0);
});

test('SimNetwork sends messages one after the other at the rate of the link', async () => {
  const { simulation, advance, network, a, b } = await pair(1);
  network.setConditions({ delayMs: 10, bytesPerSecond: 1000 }, A, B);
  const times: number[] = [];
  b.subscribe(A, 'y', { message: () => times.push(simulation.elapsedMs), open() {}, closed() {} });
  await advance(100);
  const start = simulation.elapsedMs;
  // 100 bytes take 100 ms, and wait for those before them.
  for (const length of [100, 100, 50]) a.publish('y', new Uint8Array(length));
  await advance(1000);
  expect(times.map((ms) => ms - start)).toEqual([110, 210, 260]);
});

test('SimNetwork delivers late to a slow node, in order, and in time to the others', async () => {
  const { simulation, advance, network, a, b } = await pair(1);
  const c = network.join({ id: 'c', peers: [A] });
  const times: string[] = [];
  const listen = (who: string) => ({
    message: ([number]: Uint8Array) => void times.push(`${who}${number} ${simulation.elapsedMs - start}`),
    open() {},
    closed() {},
  });
  b.subscribe(A, 'y', listen('b'));
  c.subscribe(A, 'y', listen('c'));
  await advance(100);
  const start = simulation.elapsedMs;
  simulation.clockOf('b').setSlowness(5);
  a.publish('y', Uint8Array.of(1));
  await advance(5);
  simulation.clockOf('b').setSlowness(1);
  a.publish('y', Uint8Array.of(2));
  await advance(100);
  expect(times).toEqual(['c1 10', 'c2 15', 'b1 50', 'b2 50']);
});

test('SimNetwork keeps the order of messages when the delay of all links becomes shorter', async () => {
  const { advance, network, a, b, told } = await pair(1);
  network.setConditions({ delayMs: 500 });
  network.resetConditions(A, B);
  const heard: number[] = [];
  const c = network.join({ id: 'c', peers: [A] });
  await advance(2000);
  c.subscribe(A, 'x', { message: ([number]) => void heard.push(number), open() {}, closed() {} });
  await advance(2000);
  a.publish('x', Uint8Array.of(1));
  network.setConditions({ delayMs: 1 });
  a.publish('x', Uint8Array.of(2));
  await advance(1000);
  expect(heard).toEqual([1, 2]);
  expect(told.slice(1)).toEqual(['1', '2']);
  expect(b.peers()[0].state).toBe('up');
});

test('SimNetwork ends no request of a program that has crashed, and none of its timers', async () => {
  const { simulation, advance, network, a, b } = await pair(1);
  b.serve('never', () => new Promise<Uint8Array>(() => {}));
  const ends: string[] = [];
  const end = (what: string) => () => void ends.push(what);
  a.request(B, 'never', Uint8Array.of(1), { timeoutMs: 50 }).then(end('answer'), end('error'));
  a.clock.after(50, end('timer'));
  await advance(20);
  network.crash(A);
  await advance(1000);
  expect(ends).toEqual([]);
  expect(simulation.clockOf('a')).not.toBe(a.clock);
});

test('SimNetwork draws the faults of each direction from a stream of its own', async () => {
  const faults = { loss: 0.3, jitterMs: 20 };
  const alone = await heard(4, faults);
  const { advance, network, a, told } = await pair(4, faults);
  const c = network.join({ id: 'c', peers: [A] });
  c.subscribe(A, 'x', { message() {}, open() {}, closed() {} });
  network.setConditions(faults, A, 'sim:c');
  await advance(100);
  for (let i = 0; i < 50; i++) a.publish('x', Uint8Array.of(i));
  await advance(1000);
  expect(told.slice(1)).toEqual(alone);
});
