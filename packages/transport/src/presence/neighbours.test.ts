import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { FleetKeyring } from '../fleet-keyring.ts';
import { PeerList } from '../link/peer-list.ts';
import type { Envelope } from './envelope.ts';
import { type Greeted, Neighbours } from './neighbours.ts';
import { encodePresence } from './presence.ts';

const FORGET_MS = 600_000;

/** The neighbours of a, which answer its greetings when the test lets them. */
class NeighbourLab {
  readonly clock = new VirtualClock();
  readonly #keyring = FleetKeyring.of(new Uint8Array(32).fill(1));
  /** The last presence of each life. */
  readonly #said = new Map<string, Uint8Array>();
  mayAnswer: Promise<void> = Promise.resolve();
  readonly neighbours = new Neighbours({
    self: 'a',
    clock: this.clock,
    keyring: this.#keyring,
    limits: { neighbours: 8, forgetMs: FORGET_MS },
    peers: new PeerList(this.clock, []),
    greet: async (_link, { life }): Promise<Greeted> => {
      await this.mayAnswer;
      return { presence: this.#said.get(life)!, keys: this.#keyring.first };
    },
    down: () => {},
    ownAddress: () => null,
    topics: () => [],
    stateOf: () => null,
  });

  /** A beat of a life of b at an address. Resolves when an answer that comes at once was taken. */
  async beat(life: string, address: string): Promise<void> {
    const keys = this.#keyring.all.map(({ id }) => id);
    const rest = { born: 1, heartbeatMs: 5000, numbers: {}, group: null, hail: false, leaving: false };
    const payload = encodePresence({ address, keys, ...rest });
    this.#said.set(life, payload);
    const envelope = { node: 'b', life } as Envelope;
    this.neighbours.present({ envelope, keys: this.#keyring.first }, payload);
    await new Promise(setImmediate);
  }
}

test('Neighbours: a node that moved is still found by its life when its first address is forgotten', async () => {
  const lab = new NeighbourLab();
  const [first, second] = ['http://b1.example:1', 'http://b2.example:1'];
  await lab.beat('one', first);
  expect(lab.neighbours.ofLife('one')?.address).toBe(first);
  await lab.beat('one', second);
  expect(lab.neighbours.ofLife('one')?.address).toBe(second);
  for (let ms = 0; ms <= FORGET_MS; ms += 5000) {
    await lab.beat('one', second);
    await lab.clock.advance(5000);
  }
  lab.neighbours.forgetOld();
  expect(lab.neighbours.at(first)).toBe(undefined);
  expect(lab.neighbours.ofLife('one')?.address).toBe(second);
  lab.neighbours.close();
});

test('Neighbours: an answer to a greeting does not bring up a link that was forgotten meanwhile', async () => {
  const lab = new NeighbourLab();
  let answer = () => {};
  lab.mayAnswer = new Promise((resolve) => {
    answer = resolve;
  });
  const address = 'http://b1.example:1';
  await lab.beat('one', address);
  const link = lab.neighbours.at(address);
  await lab.clock.advance(FORGET_MS);
  lab.neighbours.forgetOld();
  answer();
  await new Promise(setImmediate);
  expect(link.isUp).toBe(false);
  expect(lab.neighbours.ofLife('one')).toBe(undefined);
  // The next beat makes another link.
  await lab.beat('one', address);
  expect(lab.neighbours.ofLife('one')).toBe(lab.neighbours.at(address));
  lab.neighbours.close();
});
