/** A publisher and a subscriber of one kind of summary, over integers as keys. */

import { CountingBloomFilter, hashKey, type KeyHash } from 'bloomery';
import { Publisher, SetPublisher, SetSubscriber, Subscriber } from 'bloomery/wire';

export interface SummaryPair {
  /** Replaces `count` of the keys by others. */
  replace(count: number): void;
  publish(): Uint8Array;
  /** Throws if the message does not bring the subscriber up to date. */
  receive(message: Uint8Array): void;
  full(): Uint8Array;
}

/** A set of positions at a rate. */
export function setPair(keys: number, rate: number): SummaryPair {
  const publisher = new SetPublisher({ incarnation: 1, universe: Math.round(keys / rate) });
  publisher.resize(publisher.universe, hashes(0, keys));
  const subscriber = new SetSubscriber({ maxPositions: 2 * keys });
  subscriber.receive(publisher.full());
  let first = 0;
  return {
    replace(count) {
      for (const hash of hashes(first, first + count)) publisher.deleteHash(hash);
      for (const hash of hashes(first + keys, first + keys + count)) publisher.addHash(hash);
      first += count;
    },
    publish: () => publisher.publish()!,
    receive: (message) => expectTaken(subscriber.receive(message).verdict),
    full: () => publisher.full(),
  };
}

/** The bits of a counting filter. */
export function bloomPair(keys: number, bitsPerKey: number, functions: number): SummaryPair {
  const counters = Math.round(bitsPerKey * keys);
  const filter = new CountingBloomFilter({ counters, hashes: functions, trackChanges: true });
  for (const hash of hashes(0, keys)) filter.addHash(hash);
  const publisher = new Publisher({ filter, incarnation: 1, effort: 'fast' });
  const subscriber = new Subscriber();
  subscriber.receive(publisher.full());
  let first = 0;
  return {
    replace(count) {
      for (const hash of hashes(first, first + count)) filter.deleteHash(hash);
      for (const hash of hashes(first + keys, first + keys + count)) filter.addHash(hash);
      first += count;
    },
    publish: () => publisher.publish()!,
    receive: (message) => expectTaken(subscriber.receive(message).verdict),
    full: () => publisher.full(),
  };
}

export function* hashes(from: number, to: number): Generator<KeyHash, void> {
  for (let key = from; key < to; key++) yield hashKey(key);
}

function expectTaken(verdict: string): void {
  if (verdict !== 'taken')
    throw new Error(`Cannot measure: expected a message that is taken, got ${verdict}`);
}
