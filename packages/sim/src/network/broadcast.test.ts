import { expect, test } from 'vitest';
import { Simulation } from '../engine/simulation.ts';
import { SimNetwork } from './sim-network.ts';

const A = 'sim:a';
const NAMES = ['b', 'c', 'd', 'e', 'f'];

/**
 * Node a publishes to five others, of which some are cut off, crash, reconnect, subscribe or cancel
 * while messages are under way. A node that was slow once makes the network send each message by
 * itself.
 */
async function story(isSentSingly: boolean) {
  const simulation = new Simulation({ seed: 3 });
  const network = new SimNetwork(simulation, { heartbeatMs: 1 });
  network.setConditions({ delayMs: 10 });
  if (isSentSingly) simulation.clockOf('other').setSlowness(2);
  const told: string[] = [];
  const advance = async (ms: number) => void (await simulation.run({ untilMs: simulation.elapsedMs + ms }));
  const a = network.join({ id: 'a', peers: [] });
  const listener = (name: string) => ({
    message: ([number]: Uint8Array) => void told.push(`${name} ${number} at ${simulation.elapsedMs}`),
    open: () => void told.push(`${name} open`),
    closed: (why: string) => void told.push(`${name} ${why}`),
  });
  const nodes = NAMES.map((name) => {
    const node = network.join({ id: name, peers: [A] });
    return { name, node, cancel: node.subscribe(A, 'x', listener(name)) };
  });
  await advance(100);
  let sent = 0;
  const publish = () => a.publish('x', Uint8Array.of(sent++));
  publish();
  await advance(5);
  const [b, c, d, e] = nodes;
  c.cancel(); // while message 0 is under way, which its next subscription hears
  network.crash('sim:d');
  publish();
  // The link of e is lost and comes back before the second message arrives, on a new connection.
  network.setConditions({ delayMs: 500 });
  publish();
  network.setConditions({ delayMs: 1 });
  network.partition(A, 'sim:e');
  await advance(4);
  network.heal(A, 'sim:e');
  const other = b.node.subscribe(A, 'x', listener('b again'));
  const late = c.node.subscribe(A, 'x', listener('c late'));
  await advance(1200);
  publish();
  other();
  late();
  await advance(100);
  publish();
  await advance(100);
  expect(e.node.peers()[0].state).toBe('up');
  expect(d.node.clock.isStopped).toBe(true);
  return { told, hash: simulation.hash, events: simulation.eventCount, pending: simulation.pending };
}

test('Broadcast goes the same way as messages that are sent one by one', async () => {
  const [together, singly] = [await story(false), await story(true)];
  expect(together).toEqual(singly);
  const { told, pending } = together;
  expect(pending).toBe(0);
  // The crashed node hears nothing, and a link on a new connection no message of the earlier one.
  const heard = (name: string) =>
    told.filter((text) => text.startsWith(`${name} `)).map((text) => text.split(' at')[0]);
  expect(heard('d')).toEqual(['d open']);
  expect(heard('e')).toEqual(['e open', 'e silent', 'e open', 'e 3', 'e 4']);
  expect(heard('f')).toEqual(['f open', 'f 0', 'f 1', 'f 2', 'f 3', 'f 4']);
  expect(heard('c')).toEqual(['c open', 'c late open', 'c late 0']);
});

test('Broadcast is one entry of the heap, and each of its deliveries is an event', async () => {
  const simulation = new Simulation({ seed: 3 });
  const network = new SimNetwork(simulation);
  network.setConditions({ delayMs: 10 });
  const a = network.join({ id: 'a', peers: [] });
  const heard: string[] = [];
  for (const name of NAMES)
    network.join({ id: name, peers: [A] }).subscribe(A, 'x', {
      message: (bytes) => {
        heard.push(`${name} ${bytes[0]}`);
        bytes[0] = 99; // the bytes belong to the receiver
      },
      open() {},
      closed() {},
    });
  await simulation.run({ untilMs: 100 });
  a.publish('x', Uint8Array.of(7));
  expect(simulation.pending).toBe(NAMES.length);
  // A run may end in the middle.
  const before = simulation.eventCount;
  expect(await simulation.run({ events: 2 })).toBe('events');
  expect([heard, simulation.pending]).toEqual([['b 7', 'c 7'], 3]);
  await simulation.run();
  expect(heard).toEqual(NAMES.map((name) => `${name} 7`));
  expect(simulation.eventCount - before).toBe(NAMES.length);
});
