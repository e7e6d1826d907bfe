/** Full states at the limit of a message, from the library's own publisher. */

import { EFFORT } from '@bloomery/testkit/effort';
import { MAX_MESSAGE_BYTES } from '@bloomery/transport';
import { hashScheme, type KeyHash } from 'bloomery';
import { SetPublisher, SetSubscriber } from 'bloomery/wire';
import { expect, test } from 'vitest';
import { hashOf, KEY_ID, SCHEME, SummaryLab } from '../../test/peers/summary-lab.ts';
import { nextUniverse, summaryBytes, universeFor } from './decisions/summary-universe.ts';
import { OwnSummary } from './own-summary.ts';

const scheme = hashScheme({ seed: 5 });

/** Hashes by a generator of 64 bits (SplitMix64), which is faster than hashing texts. */
function* hashes(count: number): Generator<KeyHash> {
  let state = 9n;
  for (let i = 0; i < count; i++) {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let z = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    z ^= z >> 31n;
    yield { scheme, low: Number(z & 0xffffffffn), high: Number(z >> 32n) };
  }
}

test('summaryBytes is an upper bound of full states, and close', () => {
  const keys = 50_000;
  for (let power = 14; power <= 34; power += 2) {
    const universe = 2 ** power;
    const publisher = new SetPublisher({ incarnation: 1, universe, scheme });
    const { length } = publisher.resize(universe, hashes(keys));
    const bound = summaryBytes(keys, universe);
    expect(length, `2^${power}`).toBeLessThanOrEqual(bound);
    expect(length, `2^${power}`).toBeGreaterThan(0.9 * bound - 128);
  }
});

test('a summary of more than four million objects fits into a message', { timeout: 600_000 }, () => {
  // A smaller number with a smaller message, in the short form.
  const share = EFFORT > 1 ? 1 : 1 / 20;
  const keys = 5_000_000 * share;
  const mostBytes = MAX_MESSAGE_BYTES * share;
  const wanted = universeFor(keys, 256);
  const universe = nextUniverse({ universe: wanted, positions: keys, keys, neighbours: 256, mostBytes })!;
  const publisher = new SetPublisher({ incarnation: 1, universe, scheme });
  const message = publisher.resize(universe, hashes(keys));
  expect(message.length).toBeLessThanOrEqual(mostBytes);
  expect(message.length).toBeGreaterThan(mostBytes / 2);
  // In the universe that the fleet would want, it does not.
  const fine = new SetPublisher({ incarnation: 1, universe: wanted, scheme });
  expect(fine.resize(wanted, hashes(keys)).length).toBeGreaterThan(mostBytes);
  const subscriber = new SetSubscriber({ maxPositions: 1e7 });
  subscriber.receive(message);
  expect([subscriber.status, subscriber.size]).toEqual(['current', publisher.size]);
});

test.runIf(EFFORT > 1)(
  'OwnSummary of five million objects is seen by its neighbours',
  { timeout: 1_200_000 },
  async () => {
    const lab = new SummaryLab();
    const own = new OwnSummary({
      transport: lab.a,
      clock: lab.clock,
      work: lab.work,
      keyId: KEY_ID,
      scheme: SCHEME,
      neighbours: 256,
      bandwidth: 1e9,
      event: lab.event,
    });
    const link = lab.follow(1e7);
    const until = lab.clock.now() + 86_400_000;
    for (const { low, high } of hashes(5_000_000)) own.keep({ scheme: SCHEME, low, high }, until);
    own.keep(hashOf('one of them'), until);
    for (let i = 0; i < 200 && !lab.finds('one of them'); i++) await lab.clock.advance(1000);
    expect(lab.events).toEqual([]);
    expect(lab.finds('one of them')).toBe(true);
    expect(link.followers[0]!.positions!.size).toBeGreaterThan(4_990_000);
    expect(own.falsePositiveRate).toBeGreaterThan(0.02 / 256);
    expect(own.falsePositiveRate).toBeLessThan(0.01);
  },
);
