/**
 * Publisher and subscribers over a network that does everything wrong: loses, doubles, delays,
 * damages and replays messages, while both sides restart and the filter is replaced. After every
 * message each subscriber is compared with what the publisher's set really was: the keys of that
 * generation, and its bits. In the end the network heals, and a heartbeat, a request and an answer
 * must be enough for all of them.
 */

import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CountingBloomFilter } from '../../src/filters/counting/counting-bloom-filter.ts';
import { useKernel } from '../../src/kernel/wasm/kernel-choice.ts';
import { frameSum } from '../../src/wire/coding/snapshot.ts';
import { Publisher } from '../../src/wire/sync/publisher.ts';
import { Subscriber } from '../../src/wire/sync/subscriber.ts';
import {
  compareGenerations,
  type Generation,
  type GenerationName,
  type PublisherMessage,
  readSyncMessage,
} from '../../src/wire/sync/sync-message.ts';

/**
 * How the publisher's lives are numbered. 'rising': as it should be. 'any': a counter that is lost
 * now and then. 'same': always the same, against the documentation: names are used twice.
 */
type Numbering = 'rising' | 'any' | 'same';

const TOTALS = new Map<string, number>();

describe.each([
  ['wasm', 1500],
  ['javascript', 600],
] as const)('sync sessions in %s', (kernel, schedules) => {
  const rounds = withEffort(schedules / 3, 200);
  beforeAll(() => {
    useKernel(kernel);
    TOTALS.clear();
  });
  afterAll(() => useKernel('auto'));

  it.each(['rising', 'any', 'same'] as const)(
    'keep their promises with %s incarnations',
    {
      timeout: 120_000 * Math.max(1, EFFORT),
    },
    (numbering) => {
      for (let i = 0; i < rounds; i++) {
        new Schedule(3 * i + ['rising', 'any', 'same'].indexOf(numbering), numbering).run();
      }
    },
  );

  it('have met every kind of message and every verdict, often', () => {
    const least = (3 * rounds) / 25;
    const expected = [
      ...['taken', 'confirmed', 'missing', 'old', 'conflict', 'foreign', 'unreadable'],
      ...['full', 'delta', 'heartbeat', 'request', 'merged delta', 'later epoch', 'damaged request'],
      ...['current checks', 'keys checked'],
    ];
    for (const what of expected) expect(TOTALS.get(what) ?? 0, what).toBeGreaterThan(least);
  });
});

/** A message on its way. */
interface Packet {
  readonly to: number | 'publisher';
  readonly from: number | 'publisher';
  readonly bytes: Uint8Array;
  readonly isDamaged: boolean;
}

interface Peer {
  subscriber: Subscriber;
  /** The latest name that reached this life of it, undamaged. */
  heard: GenerationName | undefined;
}

const KEYS = Array.from({ length: 80 }, (_, i) => `key-${i}`);

class Schedule {
  readonly #random: Random;
  readonly #numbering: Numbering;
  readonly #title: string;
  readonly #publisherId: bigint;
  readonly #peers: Peer[];
  /** How often each key is in. */
  #set = new Map<string, number>();
  #publisher: Publisher;
  #incarnation = 1;
  #network: Packet[] = [];
  readonly #sent: Packet[] = [];
  /** Every generation there was: the keys and the frame. */
  readonly #truth = new Map<string, { readonly keys: readonly string[]; readonly frame: Uint8Array }>();

  constructor(seed: number, numbering: Numbering) {
    this.#random = new Random(seed);
    this.#numbering = numbering;
    this.#title = `schedule ${seed}`;
    this.#publisherId = this.#random.pick([0n, 1n, 2n ** 64n - 1n]);
    this.#publisher = this.#start();
    this.#peers = Array.from({ length: 1 + this.#random.below(4) }, () => this.#newPeer());
  }

  run(): void {
    for (let steps = 20 + this.#random.below(60); steps > 0; steps--) this.#step();
    this.#settle();
  }

  #step(): void {
    const random = this.#random;
    const chance = random.below(100);
    if (chance < 12) for (let i = random.below(6); i >= 0; i--) this.#add(random.pick(KEYS));
    else if (chance < 18) for (let i = random.below(4); i >= 0; i--) this.#delete();
    else if (chance < 34) this.#broadcast(this.#publish());
    else if (chance < 39) this.#broadcast(this.#publisher.heartbeat());
    else if (chance < 75) this.#deliver();
    else if (chance < 81)
      this.#take(); // lost
    else if (chance < 84) this.#double();
    else if (chance < 88) this.#damage();
    else if (chance < 91) this.#ask();
    else if (chance < 94) this.#replay();
    else if (chance < 96) this.#receiveForeign();
    else if (chance < 97) this.#peers[random.below(this.#peers.length)] = this.#newPeer();
    else if (chance < 98) this.#restart();
    else if (chance < 99) this.#replace();
  }

  // The publisher's side.

  #newFilter(): CountingBloomFilter {
    const random = this.#random;
    const hashes = 1 + random.below(4);
    const filter = new CountingBloomFilter({
      counters: hashes * (8 + random.below(random.pick([30, 400]))),
      hashes,
      layout: random.pick(['classic', 'partitioned']),
      seed: random.below(3),
      counterBits: random.pick([2, 4, 8]),
      trackChanges: true,
    });
    for (const [key, count] of this.#set) for (let i = 0; i < count; i++) filter.add(key);
    return filter;
  }

  #start(): Publisher {
    const random = this.#random;
    const history = random.pick([
      {},
      { historyGenerations: random.below(4) },
      { historyBytes: random.below(60) },
    ]);
    const publisher = new Publisher({
      filter: this.#newFilter(),
      incarnation: this.#incarnation,
      publisherId: this.#publisherId,
      effort: random.pick(['small', 'fast']),
      ...history,
    });
    this.#record(publisher);
    return publisher;
  }

  /** Writes down what the publisher's set is, by the filter and not by the publisher's word. */
  #record(publisher: Publisher): void {
    const frame = publisher.filter.snapshot().encode();
    this.#expect(publisher.generation.sum === frameSum(frame), 'the sum is that of the snapshot');
    this.#truth.set(keyOf(publisher.generation), { keys: [...this.#set.keys()], frame });
  }

  #add(key: string): void {
    this.#set.set(key, (this.#set.get(key) ?? 0) + 1);
    this.#publisher.add(key);
  }

  #delete(): void {
    if (this.#set.size === 0) return;
    const key = this.#random.pick([...this.#set.keys()]);
    const count = this.#set.get(key) ?? 0;
    if (count > 1) this.#set.set(key, count - 1);
    else this.#set.delete(key);
    this.#publisher.delete(key);
  }

  #publish(): Uint8Array | null {
    const { sequence } = this.#publisher.generation;
    const message = this.#publisher.publish();
    this.#expect(this.#publisher.generation.sequence === sequence + (message === null ? 0 : 1), 'one more');
    if (message !== null) this.#record(this.#publisher);
    return message;
  }

  /** The process dies and comes back, perhaps with other keys. What is on its way stays so. */
  #restart(): void {
    if (this.#numbering === 'rising') this.#incarnation++;
    if (this.#numbering === 'any') this.#incarnation = this.#random.below(5);
    if (this.#random.below(2) === 0)
      this.#set = new Map(KEYS.filter(() => this.#random.below(4) === 0).map((key) => [key, 1]));
    this.#publisher = this.#start();
  }

  #replace(): void {
    const message = this.#publisher.replace(this.#newFilter());
    this.#record(this.#publisher);
    this.#broadcast(message);
  }

  // The network.

  #broadcast(bytes: Uint8Array | null): void {
    if (bytes === null) return;
    for (const to of this.#peers.keys()) this.#send({ to, from: 'publisher', bytes, isDamaged: false });
  }

  #send(packet: Packet): void {
    this.#network.push(packet);
    this.#sent.push(packet);
  }

  /** Takes any message off the network: what is delivered is out of order, what is not is lost. */
  #take(): Packet | undefined {
    const [packet] = this.#network.splice(this.#random.below(this.#network.length), 1);
    return packet;
  }

  #double(): void {
    if (this.#network.length > 0) this.#network.push(this.#random.pick(this.#network));
  }

  #replay(): void {
    if (this.#sent.length > 0) this.#arrive(this.#random.pick(this.#sent));
  }

  #damage(): void {
    const packet = this.#take();
    if (packet === undefined || packet.isDamaged) return; // a second flip could undo the first
    const random = this.#random;
    let bytes = packet.bytes.slice();
    const way = random.below(4);
    if (way === 0) bytes = bytes.slice(0, random.below(bytes.length));
    else if (way === 1) bytes = Uint8Array.of(...bytes, ...random.bytes(1 + random.below(9)));
    else if (way === 2) bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    else bytes = random.bytes(random.below(100));
    this.#network.push({ ...packet, bytes, isDamaged: true });
  }

  #deliver(): void {
    const packet = this.#take();
    if (packet !== undefined) this.#arrive(packet);
  }

  #arrive(packet: Packet): void {
    if (packet.to === 'publisher') this.#arriveAtPublisher(packet);
    else this.#arriveAtPeer(this.#peers[packet.to], packet);
  }

  #arriveAtPublisher({ bytes, from, isDamaged }: Packet): void {
    const answer = this.#publisher.answer(bytes);
    this.#expect((answer === null) === isDamaged, 'requests are answered, damaged ones are not');
    count(isDamaged ? 'damaged request' : 'request');
    if (answer !== null) this.#send({ to: from, from: 'publisher', bytes: answer, isDamaged: false });
  }

  // The subscribers' side.

  #newPeer(): Peer {
    return { subscriber: new Subscriber({ publisherId: this.#publisherId }), heard: undefined };
  }

  #ask(): void {
    const from = this.#random.below(this.#peers.length);
    const bytes = this.#peers[from].subscriber.request();
    this.#send({ to: 'publisher', from, bytes, isDamaged: false });
  }

  #arriveAtPeer(peer: Peer, { bytes, isDamaged }: Packet): void {
    const { subscriber } = peer;
    const before = subscriber.generation;
    const { verdict, status, reply } = subscriber.receive(bytes);
    count(verdict);
    this.#expect(status === subscriber.status, 'the status is the status');
    if (isDamaged) {
      this.#expect(verdict === 'unreadable' || verdict === 'foreign', `damaged, and ${verdict}`);
      this.#expect(subscriber.generation === before, 'damage moves nothing');
    } else {
      const message = readSyncMessage(bytes) as PublisherMessage;
      count(message.type);
      if (verdict === 'taken' && message.type === 'delta' && message.generation.sequence > message.base + 1)
        count('merged delta');
      if (verdict === 'taken' && before !== undefined && before.epoch < message.generation.epoch)
        count('later epoch');
      if (peer.heard === undefined || compareGenerations(message.generation, peer.heard) > 0)
        peer.heard = message.generation;
    }
    this.#check(peer, before);
    if (reply !== undefined) {
      this.#send({ to: 'publisher', from: this.#peers.indexOf(peer), bytes: reply, isDamaged: false });
    }
  }

  #receiveForeign(): void {
    const random = this.#random;
    const filter = new CountingBloomFilter({ counters: 100, hashes: 2, trackChanges: true });
    const other = new Publisher({
      filter,
      incarnation: random.below(9),
      publisherId: this.#publisherId ^ 4n,
    });
    const peer = random.pick(this.#peers);
    const before = peer.subscriber.generation;
    const { verdict, reply } = peer.subscriber.receive(random.pick([other.full(), other.heartbeat()]));
    count(verdict);
    this.#expect(verdict === 'foreign' && reply === undefined, 'not ours');
    this.#check(peer, before);
  }

  #check({ subscriber, heard }: Peer, before: Generation | undefined): void {
    const { generation, summary, status } = subscriber;
    if (generation === undefined || summary === undefined || status !== 'current') {
      this.#expect(subscriber.has('never added'), 'maybe, while it is not current');
      this.#expect(
        subscriber.hasMany(KEYS).every((answer) => answer === 1),
        'maybe, for many',
      );
      return;
    }
    count('current checks');
    const truth = this.#truth.get(keyOf(generation));
    if (truth === undefined)
      throw new Error(`${this.#title}: there never was a generation ${keyOf(generation)}`);
    this.#expect(sameBytes(summary.encode(), truth.frame), 'the bits are those of the generation');
    const answers = subscriber.hasMany(truth.keys);
    this.#expect(
      answers.length === truth.keys.length && answers.every((answer) => answer === 1),
      'no false negative',
    );
    count('keys checked', truth.keys.length);
    if (this.#numbering !== 'rising') return;
    // Where names are given once and rise, there is more to say.
    this.#expect(
      heard !== undefined && compareGenerations(generation, heard) === 0,
      'it has heard of nothing later',
    );
    this.#expect(before === undefined || compareGenerations(generation, before) >= 0, 'it never goes back');
  }

  /** The network heals. */
  #settle(): void {
    // What is still on its way arrives, in any order, or is lost; and that comes to an end by
    // itself.
    if (this.#random.below(2) === 0) this.#network = [];
    let most = 4 * this.#network.length + 8;
    while (this.#network.length > 0) {
      this.#expect(most-- > 0, 'questions and answers come to an end');
      this.#deliver();
    }
    this.#broadcast(this.#publish());
    if (this.#random.below(2) === 0) this.#network = [];
    else while (this.#network.length > 0) this.#deliver();
    for (const peer of this.#peers) {
      const before = peer.subscriber.generation;
      let outcome = peer.subscriber.receive(this.#publisher.heartbeat());
      if (outcome.reply !== undefined) {
        const answer = this.#publisher.answer(outcome.reply);
        if (answer === null) throw new Error(`${this.#title}: a sound request was not answered`);
        outcome = peer.subscriber.receive(answer);
      }
      this.#expect(outcome.reply === undefined, 'nothing is left to ask');
      this.#expect(outcome.status === 'current', 'everybody is current');
      const { generation } = peer.subscriber;
      this.#expect(keyOf(generation) === keyOf(this.#publisher.generation), 'with the publisher');
      peer.heard = generation;
      this.#check(peer, before);
    }
  }

  /** vitest's own `expect` takes microseconds, too long for what is asked a million times. */
  #expect(condition: boolean, what: string): void {
    if (!condition) throw new Error(`${this.#title} (${this.#numbering}): ${what}: does not hold`);
  }
}

function keyOf(generation: Generation | undefined): string {
  return generation === undefined
    ? 'none'
    : `${generation.epoch}/${generation.sequence}/${generation.sum.toString(16)}`;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

function count(what: string, by = 1): void {
  TOTALS.set(what, (TOTALS.get(what) ?? 0) + by);
}
