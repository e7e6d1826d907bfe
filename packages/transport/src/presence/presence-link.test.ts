import { VirtualClock } from '@bloomery/testkit/virtual-clock';
import { expect, test } from 'vitest';
import { FleetKeyring } from '../fleet-keyring.ts';
import { PeerList } from '../link/peer-list.ts';
import type { Presence } from './presence.ts';
import { type Life, PresenceLink } from './presence-link.ts';

const ADDRESS = 'http://b.example:3129';
const LIFE: Life = { node: 'b', life: 'first' };

/** A link to b, whose greetings are answered by the test. */
class LinkLab {
  readonly clock = new VirtualClock();
  readonly keyring = FleetKeyring.of(new Uint8Array(32).fill(1));
  readonly #answers: (() => void)[] = [];
  readonly events: string[] = [];
  readonly link = new PresenceLink(ADDRESS, {
    clock: this.clock,
    keyring: this.keyring,
    peers: new PeerList(this.clock, [ADDRESS]),
    topics: () => [],
    stateOf: () => null,
    greet: () => {
      this.events.push('greet');
      return new Promise((resolve) => this.#answers.push(resolve));
    },
    hailed: () => this.events.push('hailed'),
    down: () => this.events.push('down'),
  });

  presence(how: Partial<Presence> = {}): Presence {
    const keys = this.keyring.all.map(({ id }) => id);
    const rest = { address: ADDRESS, born: 1, heartbeatMs: 5000, numbers: {} };
    return { ...rest, keys, group: null, hail: false, leaving: false, ...how };
  }

  beat(how?: Partial<Presence>): void {
    this.link.beat(LIFE, this.presence(how), this.link.keys);
  }

  /** Lets b answer the greeting that was sent last. */
  answer(): void {
    this.link.answered(LIFE, this.presence(), this.link.keys);
    this.#answers.pop()?.();
  }
}

test('PresenceLink greets once at a time, and again a node that has just connected', () => {
  const lab = new LinkLab();
  lab.beat();
  lab.beat();
  expect(lab.events).toEqual(['greet']);
  // The first greeting was lost with the connection of b.
  lab.beat({ hail: true });
  expect(lab.events).toEqual(['greet', 'hailed', 'greet']);
  lab.answer();
  expect(lab.link.isUp).toBe(true);
});

test('PresenceLink tells that a neighbour which is up has connected again, and stays up', () => {
  const lab = new LinkLab();
  lab.beat();
  lab.answer();
  lab.beat();
  expect(lab.events).toEqual(['greet']);
  lab.beat({ hail: true });
  expect(lab.events.slice(1)).toEqual(['hailed', 'greet']);
  expect(lab.link.isUp).toBe(true);
});
