/**
 * A publisher of a set and its subscribers over a network that loses, doubles, delays, reorders and
 * damages messages, while the publisher restarts, resizes and works in steps. After every message a
 * subscriber that says 'current' must hold exactly the positions of the generation that it names.
 * In the end the network heals, and a heartbeat, a request and an answer make all of them current.
 */

import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { hashKey, type KeyHash } from '../../src/kernel/batches/hash-key.ts';
import { positionOf } from '../../src/wire/sets/positions.ts';
import { SetPublisher } from '../../src/wire/sync/set-publisher.ts';
import { SetSubscriber } from '../../src/wire/sync/set-subscriber.ts';

const HASHES: readonly KeyHash[] = Array.from({ length: 300 }, (_, i) => hashKey(i));
const UNIVERSES = [64, 4096, 2 ** 31, 2 ** 48];
const TOTALS = new Map<string, number>();

test('sessions about sets keep their promises over a network that does everything wrong', () => {
  for (let seed = 0; seed < withEffort(250, 200); seed++) new Schedule(seed).run();
  for (const verdict of ['taken', 'confirmed', 'missing', 'old', 'conflict', 'unreadable']) {
    expect(TOTALS.get(verdict) ?? 0, verdict).toBeGreaterThan(10);
  }
  expect(TOTALS.get('current')).toBeGreaterThan(1000);
});

interface Packet {
  /** The subscriber that gets it, or the one that sent it to the publisher. */
  readonly peer: number;
  readonly isRequest: boolean;
  readonly bytes: Uint8Array;
}

class Schedule {
  readonly #random: Random;
  readonly #present = new Set<KeyHash>();
  /** The positions of each generation, by its name and sum. */
  readonly #generations = new Map<string, readonly number[]>();
  readonly #subscribers: SetSubscriber[];
  #incarnation = 1;
  #publisher: SetPublisher;
  #packets: Packet[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#publisher = this.#start();
    this.#subscribers = Array.from({ length: 3 }, () => new SetSubscriber({ maxPositions: 1000 }));
  }

  run(): void {
    for (let i = 0; i < 120; i++) this.#event();
    // The network heals: nothing is on its way, and everything arrives.
    this.#packets = [];
    this.#publisher.publish();
    this.#remember();
    for (const [peer, subscriber] of this.#subscribers.entries()) {
      for (let round = 0, message = this.#publisher.heartbeat(); round < 4; round++) {
        const { reply } = this.#give(peer, message);
        if (reply === undefined) break;
        message = this.#publisher.answer(reply)!;
      }
      expect(subscriber.status).toBe('current');
      expect([...subscriber.positions()]).toEqual(this.#positions());
    }
  }

  #event(): void {
    const random = this.#random;
    const kind = random.below(20);
    if (kind < 6) this.#change();
    else if (kind < 9) this.#publish();
    else if (kind === 9) this.#broadcast(this.#publisher.heartbeat());
    else if (kind === 10 && random.below(6) === 0) this.#resize();
    else if (kind === 11 && random.below(6) === 0) this.#publisher = this.#start();
    else if (kind === 12 && random.below(4) === 0) {
      this.#subscribers[random.below(3)] = new SetSubscriber({ maxPositions: 1000 });
    } else this.#deliver();
  }

  /** A new life of the publisher, which now and then has a number that was used before. */
  #start(): SetPublisher {
    const incarnation = this.#random.below(4) === 0 ? this.#incarnation : ++this.#incarnation;
    const universe = this.#random.pick(UNIVERSES);
    const publisher = new SetPublisher({ incarnation, universe, historyGenerations: 4 });
    publisher.resize(universe, this.#present);
    this.#publisher = publisher;
    this.#remember();
    return publisher;
  }

  #resize(): void {
    const steps = this.#publisher.resizeInSteps(this.#random.pick(UNIVERSES), this.#present);
    let step = steps.next();
    for (; !step.done; step = steps.next()) this.#change();
    this.#remember();
    this.#broadcast(step.value);
  }

  #change(): void {
    for (let i = 0; i < 1 + this.#random.below(12); i++) {
      const hash = this.#random.pick(HASHES);
      if (this.#present.delete(hash)) this.#publisher.deleteHash(hash);
      else {
        this.#present.add(hash);
        this.#publisher.addHash(hash);
      }
    }
  }

  #publish(): void {
    const message = this.#publisher.publish({ additionsOnly: this.#random.below(3) === 0 });
    this.#remember();
    this.#broadcast(message);
  }

  /** Notes the positions of the last generation, read from its full state by a fresh subscriber. */
  #remember(): void {
    const reader = new SetSubscriber({ maxPositions: 1000 });
    reader.receive(this.#publisher.full());
    if (this.#publisher.changedCount() === 0) expect([...reader.positions()]).toEqual(this.#positions());
    this.#generations.set(nameOf(reader), [...reader.positions()]);
  }

  #positions(): number[] {
    const { universe } = this.#publisher;
    const all = new Set([...this.#present].map((hash) => positionOf(hash, universe)));
    return [...all].sort((a, b) => a - b);
  }

  #broadcast(bytes: Uint8Array | null): void {
    if (bytes === null) return;
    for (let peer = 0; peer < 3; peer++) this.#packets.push({ peer, isRequest: false, bytes });
  }

  #deliver(): void {
    const random = this.#random;
    if (this.#packets.length === 0) return;
    // Mostly in order, now and then any; lost, doubled, damaged.
    const at = random.below(4) === 0 ? random.below(this.#packets.length) : 0;
    const packet = this.#packets[at];
    if (random.below(8) > 0) this.#packets.splice(at, 1);
    if (random.below(6) === 0) return;
    const bytes = random.below(10) === 0 ? damaged(packet.bytes, random) : packet.bytes;
    const { peer } = packet;
    if (packet.isRequest) {
      const answer = this.#publisher.answer(bytes);
      if (answer !== null) this.#packets.push({ peer, isRequest: false, bytes: answer });
      return;
    }
    const { reply } = this.#give(peer, bytes);
    if (reply !== undefined) this.#packets.push({ peer, isRequest: true, bytes: reply });
  }

  #give(peer: number, bytes: Uint8Array) {
    const subscriber = this.#subscribers[peer];
    const outcome = subscriber.receive(bytes);
    TOTALS.set(outcome.verdict, (TOTALS.get(outcome.verdict) ?? 0) + 1);
    if (subscriber.current) {
      TOTALS.set('current', (TOTALS.get('current') ?? 0) + 1);
      expect([...subscriber.positions()]).toEqual(this.#generations.get(nameOf(subscriber)));
    } else {
      expect(subscriber.hasHash(HASHES[0])).toBe(true);
    }
    return outcome;
  }
}

function nameOf({ generation }: SetSubscriber): string {
  const { epoch, sequence, sum } = generation!;
  return `${epoch} ${sequence} ${sum}`;
}

function damaged(bytes: Uint8Array, random: Random): Uint8Array {
  const copy = bytes.slice(0, random.below(3) === 0 ? random.below(bytes.length) : bytes.length);
  if (copy.length > 0) copy[random.below(copy.length)] ^= 1 << random.below(8);
  return copy;
}
