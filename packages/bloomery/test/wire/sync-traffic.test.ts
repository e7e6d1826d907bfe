/**
 * The cost of a session, next to tables VI and VII of the paper (compressed IV): real delta
 * messages of a real publisher, 5 % and 1 % of whose 10,000 keys were replaced. The full form of
 * the tests prints the table.
 *
 * Two of the paper's figures stand in each other's column (m/n = 12 and 32 of table VI); they are
 * corrected here.
 */

import { EFFORT, withEffort } from '@bloomery/testkit/effort';
import { expectNormal } from '@bloomery/testkit/statistics';
import { afterAll, describe, expect, it } from 'vitest';
import { CountingBloomFilter } from '../../src/filters/counting/counting-bloom-filter.ts';
import { countOnes } from '../../src/kernel/bits/bit-operations.ts';
import { platform } from '../../src/keys/platform.ts';
import { binaryEntropy, deltaBits, deltaBitsDeviation } from '../../src/math/entropy.ts';
import { decodeBits } from '../../src/wire/coding/bit-code.ts';
import { Publisher } from '../../src/wire/sync/publisher.ts';
import { Subscriber } from '../../src/wire/sync/subscriber.ts';
import { type DeltaMessage, readSyncMessage } from '../../src/wire/sync/sync-message.ts';
import { inBothKernels } from '../contracts/subject.ts';
import { counterKeys } from '../keys.ts';

const N = 10_000;

/** Transmission bits per element as in the tables. */
const ROWS = [
  { table: 'VI', c: 0.05, ratio: 8, k: 5, paper: 1.6713 },
  { table: 'VI', c: 0.05, ratio: 12, k: 3, paper: 1.6532 },
  { table: 'VI', c: 0.05, ratio: 32, k: 2, paper: 1.6607 },
  { table: 'VI', c: 0.05, ratio: 13, k: 2, paper: 1.3124 },
  { table: 'VII', c: 0.01, ratio: 8, k: 5, paper: 0.4624 },
  { table: 'VII', c: 0.01, ratio: 16, k: 3, paper: 0.4856 },
  { table: 'VII', c: 0.01, ratio: 48, k: 2, paper: 0.45 },
  { table: 'VII', c: 0.01, ratio: 13, k: 2, paper: 0.343 },
] as const;

inBothKernels('the traffic of a session', (kernel) => {
  const printed: object[] = [];

  it.each(ROWS)('is that of table $table, m/n = $ratio, k = $k', ({ table, c, ratio, k, paper }) => {
    const trials = withEffort(kernel === 'wasm' ? 4 : 1);
    const m = ratio * N;
    let entropyBits = 0;
    let codeBytes = 0;
    let messageBytes = 0;
    let fullBytes = 0;
    for (let trial = 0; trial < trials; trial++) {
      const { delta, full } = exchange(m, k, c, 100 * ratio + trial);
      const { code } = readSyncMessage(delta) as DeltaMessage;
      const entropy = m * binaryEntropy(countOnes(decodeBits(code, m)) / m);
      // The coder is exact: what it says beside the bits themselves is a handful of bytes for each
      // piece.
      expect(code.length - entropy / 8).toBeGreaterThan(-4);
      expect(code.length - entropy / 8).toBeLessThan(12);
      expect(delta.length - code.length).toBe(36);
      entropyBits += entropy;
      codeBytes += code.length;
      messageBytes += delta.length;
      fullBytes += full.length;
    }
    const formula = deltaBits(m, k, N, c);
    expect((formula / N).toFixed(4)).toBe(paper.toFixed(4));
    const deviation = deltaBitsDeviation(m, k, N, c) / Math.sqrt(trials);
    expectNormal(entropyBits / trials, formula, deviation, 'bits of a delta');
    printed.push({
      table,
      'm/n': ratio,
      k,
      'z/n paper': paper,
      'z/n formula': round(formula / N),
      'z/n coded': round((8 * codeBytes) / trials / N),
      'bits per changed element': round((8 * messageBytes) / trials / (c * N)),
      'paper z/(cn)': round(paper / c),
      'message bytes': round(messageBytes / trials),
      'of which header': 36,
      'full state bytes': round(fullBytes / trials),
    });
  });

  afterAll(() => {
    if (EFFORT > 1) platform.console?.warn(`kernel ${kernel}\n${tableOf(printed)}`);
  });
});

describe('the other messages', () => {
  it('are small: who is current costs 35 bytes a heartbeat, and who asks 32 to 59', () => {
    const publisher = new Publisher({
      filter: filterOf(80_000, 5),
      incarnation: 2 ** 48 - 1,
      publisherId: 2n ** 64n - 1n,
    });
    const subscriber = new Subscriber({ publisherId: 2n ** 64n - 1n });
    expect(publisher.heartbeat()).toHaveLength(35);
    expect(subscriber.request()).toHaveLength(19);
    subscriber.receive(publisher.full());
    expect(subscriber.request()).toHaveLength(36);
    expect(publisher.answer(subscriber.request())).toHaveLength(39);
    publisher.add('x');
    publisher.publish();
    subscriber.receive(publisher.heartbeat());
    expect(subscriber.request()).toHaveLength(45);
  });

  it('carry a single key in some twenty bytes and the header', () => {
    const publisher = new Publisher({ filter: filterOf(80_000, 5), incarnation: 1 });
    publisher.addMany(counterKeys(N));
    publisher.publish();
    publisher.add('one more');
    const { length } = publisher.publish()!;
    // Two or three changed bits of 80,000, at 17 bits each.
    expect(length).toBeLessThan(36 + 20);
  });
});

/** A publisher with N keys, of which c * N are replaced; a subscriber that follows. */
function exchange(m: number, k: number, c: number, tag: number): { delta: Uint8Array; full: Uint8Array } {
  const filter = filterOf(m, k);
  filter.addMany(counterKeys(N, 0, tag));
  const publisher = new Publisher({ filter, incarnation: 1 });
  const subscriber = new Subscriber();
  const full = publisher.full();
  subscriber.receive(full);
  publisher.deleteMany(counterKeys(c * N, 0, tag));
  publisher.addMany(counterKeys(c * N, N, tag));
  const delta = publisher.publish();
  if (delta === null) throw new Error('nothing changed');
  expect(subscriber.receive(delta).status).toBe('current');
  expect(subscriber.hasMany(counterKeys(N, c * N, tag)).every((answer) => answer === 1)).toBe(true);
  return { delta, full };
}

function filterOf(counters: number, hashes: number): CountingBloomFilter {
  return new CountingBloomFilter({ counters, hashes, trackChanges: true });
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

function tableOf(rows: readonly object[]): string {
  const lines = [Object.keys(rows[0]), ...rows.map((row) => Object.values(row).map(String))];
  return lines.map((cells) => cells.join(' | ')).join('\n');
}
