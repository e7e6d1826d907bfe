import { Random } from '@bloomery/testkit/statistics';
import { expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { SAMPLES } from '../../../test/sample-filters.ts';
import { AttenuatedBloomFilter } from '../../filters/attenuated-bloom-filter.ts';
import { BlockedBloomFilter } from '../../filters/blocked-bloom-filter.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import { CountMinSketch } from '../../filters/count-min/count-min-sketch.ts';
import { CountingBloomFilter } from '../../filters/counting/counting-bloom-filter.ts';
import { HashList } from '../../filters/hash-list/hash-list.ts';
import { HeavyHitters } from '../../filters/heavy-hitters/heavy-hitters.ts';
import { RotatingBloomFilter } from '../../filters/rotating/rotating-bloom-filter.ts';
import { ScalableBloomFilter } from '../../filters/scalable-bloom-filter.ts';
import { SpectralBloomFilter } from '../../filters/spectral/spectral-bloom-filter.ts';
import { StaticFilter } from '../../filters/static-filter.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { SnapshotPublisher } from './snapshot-publisher.ts';
import { Subscriber, type Summary, type SummaryStructure } from './subscriber.ts';
import { readSyncMessage } from './sync-message.ts';

type Growing = Summary & { addMany(keys: string[]): unknown };

const STRUCTURES: readonly [SummaryStructure<Summary>, string][] = [
  [BloomFilter, 'BloomFilter'],
  [BlockedBloomFilter, 'BlockedBloomFilter'],
  [CountingBloomFilter, 'CountingBloomFilter'],
  [SpectralBloomFilter, 'SpectralBloomFilter'],
  [CountMinSketch, 'CountMinSketch'],
  [HeavyHitters, 'HeavyHitters'],
  [HashList, 'HashList'],
  [ScalableBloomFilter, 'ScalableBloomFilter'],
  [RotatingBloomFilter, 'RotatingBloomFilter'],
];

function keys(count: number, first: number): string[] {
  return Array.from({ length: count }, (_, i) => `more-${first + i}`);
}

/** A sketch, its publisher, and a subscriber that is current. */
function session() {
  const sketch = new CountMinSketch({ width: 1500, depth: 3 });
  sketch.addMany(keys(2000, 0));
  const publisher = new SnapshotPublisher({ frame: sketch.encode(), incarnation: 1 });
  const subscriber = new Subscriber({ structure: CountMinSketch });
  subscriber.receive(publisher.full());
  return { sketch, publisher, subscriber };
}

inBothKernels('SnapshotPublisher', () => {
  test.each(STRUCTURES)('keeps a copy current over a bad network: %#', (structure, name) => {
    const random = new Random(name.length);
    const filter = SAMPLES[name]() as Growing;
    const publisher = new SnapshotPublisher({ frame: filter.encode(), incarnation: 1 });
    const subscriber = new Subscriber({ structure });
    const late: Uint8Array[] = [];
    const frames = [filter.encode()];
    let taken = 0;
    const deliver = (message: Uint8Array | null) => {
      if (message === null) return;
      late.push(message);
      for (let copies = random.below(3); copies > 0; copies--) {
        const outcome = subscriber.receive(random.below(4) === 0 ? random.pick(late) : message);
        if (outcome.verdict === 'taken') taken++;
        if (outcome.reply !== undefined && random.below(3) > 0) deliver(publisher.answer(outcome.reply));
      }
      // It holds exactly the generation that it names, whether or not that is the latest.
      const { generation, summary } = subscriber;
      if (generation !== undefined) expect(summary!.encode()).toEqual(frames[generation.sequence]);
    };
    for (let step = 0; step < 40; step++) {
      filter.addMany(keys(random.below(4), 100 * step));
      const message = publisher.publish(filter.encode());
      if (message !== null) frames.push(filter.encode());
      deliver(message);
      deliver(publisher.heartbeat());
    }
    const { reply } = subscriber.receive(publisher.heartbeat());
    if (reply !== undefined) subscriber.receive(publisher.answer(reply)!);
    expect([subscriber.status, taken > 5]).toEqual(['current', true]);
    expect(subscriber.summary!.encode()).toEqual(filter.encode());
    expect(subscriber.generation).toEqual(publisher.generation);
  });

  test('sends a delta where little has changed, and nothing where nothing has', () => {
    const { sketch, publisher, subscriber } = session();
    expect(publisher.publish(sketch.encode())).toBeNull();
    sketch.add('page');
    const message = publisher.publish(sketch.encode())!;
    expect(readSyncMessage(message).type).toBe('delta');
    expect(message.length).toBeLessThan(publisher.full().length / 4);
    expect(subscriber.receive(message)).toEqual({ verdict: 'taken', status: 'current', changed: true });
    expect(subscriber.summary!.count('page')).toBe(sketch.count('page'));
  });

  test('answers from the past that it remembers, and with the full state beyond', () => {
    const { sketch, subscriber } = session();
    const frame = sketch.encode();
    const publisher = new SnapshotPublisher({ frame, incarnation: 1, historyBytes: 3 * frame.length });
    const requests: Uint8Array[] = [];
    for (let step = 0; step < 6; step++) {
      requests.push(subscriber.request());
      sketch.add(`page-${step}`);
      subscriber.receive(publisher.publish(sketch.encode())!);
      expect(subscriber.status).toBe('current');
    }
    expect(publisher.historyLength).toBe(3);
    const types = requests.map((request) => readSyncMessage(publisher.answer(request)!).type);
    expect(types).toEqual(['full', 'full', 'full', 'delta', 'delta', 'delta']);
    expect(readSyncMessage(publisher.answer(subscriber.request())!).type).toBe('heartbeat');
    const short = new SnapshotPublisher({ frame, incarnation: 1, historyGenerations: 1 });
    for (let step = 0; step < 3; step++) {
      sketch.add('again');
      short.publish(sketch.encode());
    }
    expect(short.historyLength).toBe(1);
    expect(String(short)).toBe('SnapshotPublisher(0, generation 65536/3, CountMinSketch)');
  });
});

test('another structure or other settings begin a new epoch', () => {
  const { publisher, subscriber } = session();
  const wider = new CountMinSketch({ width: 1501, depth: 3 });
  const message = publisher.publish(wider.encode())!;
  expect(readSyncMessage(message).type).toBe('full');
  expect([publisher.generation.epoch, publisher.historyLength]).toEqual([65537n, 0]);
  expect(subscriber.receive(message).status).toBe('current');
  // A subscriber of sketches cannot hold a list, and says so.
  const list = HashList.from(['a'], { falsePositiveRate: 0.1 });
  const outcome = subscriber.receive(publisher.publish(list.encode())!);
  expect(outcome).toMatchObject({ verdict: 'unreadable', problem: 'structure', status: 'behind' });
});

test('a generation of the same name with other contents gets the full state', () => {
  const { sketch, publisher, subscriber } = session();
  // The same incarnation again, with other contents under the name of the first generation.
  const other = new CountMinSketch({ width: 1500, depth: 3 });
  const again = new SnapshotPublisher({ frame: other.encode(), incarnation: 1 });
  other.add('page');
  again.publish(other.encode());
  const answer = again.answer(subscriber.request())!;
  expect(readSyncMessage(answer).type).toBe('full');
  subscriber.receive(answer);
  expect(subscriber.summary!.encode()).toEqual(other.encode());
  expect(publisher.publish(sketch.encode())).toBeNull();
});

test('Subscriber looks keys up where the structure can, and names it where it cannot', () => {
  const { subscriber } = session();
  expect(() => subscriber.has('more-1')).toThrow(/expected a summary with has, got CountMinSketch/);
  const fresh = new Subscriber({ structure: StaticFilter });
  expect([fresh.has('a'), fresh.summary]).toEqual([true, undefined]);
  const fixed = StaticFilter.from(['a']);
  fresh.receive(new SnapshotPublisher({ frame: fixed.encode(), incarnation: 2 }).full());
  expect([fresh.has('a'), fresh.has('b'), ...fresh.hasMany(['a', 'b'])]).toEqual([true, false, 1, 0]);
  expect(() => new Subscriber({ structure: {} as never })).toThrow(/expected a class with decode/);
});

test('keyed structures need their key, and levels of an attenuated filter go along', () => {
  const key = new SecretKey(new Uint8Array(16).fill(9));
  const filter = AttenuatedBloomFilter.forCapacity({ levels: 2, capacity: 50, falsePositiveRate: 0.01, key });
  filter.addMany(['near'], 0);
  const publisher = new SnapshotPublisher({ frame: filter.encode(), incarnation: 1, effort: 'fast' });
  const subscriber = new Subscriber({ structure: AttenuatedBloomFilter, key });
  subscriber.receive(publisher.full());
  filter.addMany(['far'], 1);
  subscriber.receive(publisher.publish(filter.encode())!);
  expect([subscriber.has('near'), subscriber.has('far'), subscriber.has('nowhere')]).toEqual([
    true,
    true,
    false,
  ]);
  const stranger = new Subscriber({ structure: AttenuatedBloomFilter });
  expect(stranger.receive(publisher.full())).toMatchObject({ verdict: 'unreadable', problem: 'key' });
});

test('summaries above maxBytes are refused, whole and as deltas', () => {
  const list = HashList.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
  const publisher = new SnapshotPublisher({ frame: list.encode(), incarnation: 1 });
  const subscriber = new Subscriber({ structure: HashList, maxBytes: 100 });
  expect(subscriber.receive(publisher.full()).verdict).toBe('taken');
  list.addMany(keys(500, 0));
  const message = publisher.publish(list.encode())!;
  expect(subscriber.receive(message).status).not.toBe('current');
  expect(subscriber.summary?.encode().length ?? 0).toBeLessThan(200);
  const damaged = list.encode();
  damaged[40] ^= 1;
  expect(() => new SnapshotPublisher({ frame: damaged, incarnation: 1 })).toThrow(/checksum/);
  expect(() => new SnapshotPublisher({ frame: list.encode(), incarnaton: 1 } as never)).toThrow(
    /got option 'incarnaton'/,
  );
});
