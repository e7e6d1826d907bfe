import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../../test/contracts/codec.ts';
import { type CodecSubject, inBothKernels } from '../../../test/contracts/subject.ts';
import { FrameError } from '../../frames/envelope.ts';
import { SecretKey } from '../../hashing/secret-key.ts';
import { hashKey } from '../../kernel/batches/hash-key.ts';
import { hashKeys } from '../../kernel/batches/hash-keys.ts';
import { useKernel } from '../../kernel/wasm/kernel-choice.ts';
import type { Key } from '../../keys/key.ts';
import { packKeys } from '../../keys/packed-keys.ts';
import { textEncoder } from '../../keys/platform.ts';
import { HeavyHitters } from './heavy-hitters.ts';
import { identityOf } from './heavy-keys.ts';

/** Key numbers after Zipf's law. */
function zipf(length: number, keys: number, s: number, seed: number): number[] {
  const random = new Random(seed);
  const sums = new Float64Array(keys);
  let sum = 0;
  for (let r = 0; r < keys; r++) sums[r] = sum += (r + 1) ** -s;
  return Array.from({ length }, () => {
    const u = ((random.bits() >>> 0) / 2 ** 32) * sum;
    let low = 0;
    for (let high = keys - 1; low < high; ) {
      const middle = (low + high) >> 1;
      if (sums[middle] < u) low = middle + 1;
      else high = middle;
    }
    return low;
  });
}

function countsOf(stream: readonly Key[], amounts?: readonly number[]): Map<string, number> {
  const counts = new Map<string, number>();
  stream.forEach((key, i) => {
    const identity = identityOf(key);
    counts.set(identity, (counts.get(identity) ?? 0) + (amounts?.[i] ?? 1));
  });
  return counts;
}

/** Expects that every heavy key is listed, that the bounds hold, and that the list is in order. */
function expectSound(tracker: HeavyHitters, truth: ReadonlyMap<string, number>): void {
  const listed = new Map(tracker.list().map((entry) => [identityOf(entry.key), entry]));
  for (const [identity, count] of truth) {
    if (count >= tracker.threshold * tracker.total && count > 0 && !listed.has(identity)) {
      expect.fail(`${identity} with ${count} of ${tracker.total} is not listed`);
    }
  }
  let last = Number.POSITIVE_INFINITY;
  for (const [identity, { count, atLeast }] of listed) {
    const exact = truth.get(identity) ?? 0;
    if (
      !(atLeast <= exact && exact <= count && count <= last && count >= tracker.threshold * tracker.total)
    ) {
      expect.fail(`${identity}: ${atLeast} <= ${exact} <= ${count} <= ${last}`);
    }
    last = count;
  }
}

const subject: CodecSubject<HeavyHitters> = {
  name: 'HeavyHitters',
  seedable: true,
  build: (keys, { falsePositiveRate: _, ...hash }) => {
    const tracker = new HeavyHitters({
      ...hash,
      threshold: 0.1,
      width: Math.min(600, Math.ceil(keys.length / 3)),
      depth: 4,
    });
    tracker.addMany(keys);
    tracker.add(keys[0], Math.ceil(keys.length / 5));
    return tracker;
  },
  decode: (bytes, options) => HeavyHitters.decode(bytes, options as object),
  answers: (tracker, keys) => keys.map((key) => tracker.count(key)),
};
codecContract(subject, {
  hex: '424c4d59010c01010000000000000000070000000004209a9999999999b93f1a000000001800000000000000020000000600000002000000020000000200000001000000020000000100000002000000020000000200000001000000060000000100000002000000020000000200000002000000060000000200000002000000060000000200000001000000010000000200000002000000020000000005000000000000000400000000000000050000006b65792d30ac7b480c',
  falsePositives: [0, 2, 3, 4, 6, 7, 8, 10, 11, 12],
});

inBothKernels('HeavyHitters', () => {
  test('no heavy key is missed, at any moment, by whichever way it came', () => {
    const random = new Random(6);
    for (const [threshold, width, depth] of [
      [0.3, 8, 2],
      [0.05, 40, 3],
      [0.01, 300, 4],
    ]) {
      const tracker = new HeavyHitters({ threshold, width, depth, seed: depth });
      const truth = new Map<string, number>();
      const stream = zipf(withEffort(12_000), 500, 1.1, depth);
      for (let at = 0; at < stream.length; ) {
        const part = stream.slice(at, at + 1 + random.below(random.below(2) ? 4 : 1500));
        at += part.length;
        const amounts = part.map(() => random.below(4));
        if (random.below(2)) for (const [i, key] of part.entries()) tracker.add(key, amounts[i]);
        else tracker.addMany(part, amounts);
        for (const [identity, count] of countsOf(part, amounts)) {
          truth.set(identity, (truth.get(identity) ?? 0) + count);
        }
        if (random.below(20) === 0) expectSound(tracker, truth);
      }
      expectSound(tracker, truth);
    }
  });

  test('against a Map: thousands of random commands', () => {
    const random = new Random(15);
    const make = () => new HeavyHitters({ threshold: 0.04, width: 60, depth: 3 });
    let tracker = make();
    let truth = new Map<string, number>();
    const put = (key: Key, count: number) =>
      truth.set(identityOf(key), (truth.get(identityOf(key)) ?? 0) + count);
    const draw = () => Math.floor(random.below(40) * (random.below(1000) / 1000) ** 2);
    for (let step = 0; step < withEffort(10_000); step++) {
      const command = random.below(100);
      const key = draw();
      if (command < 60) {
        const count = random.below(3);
        put(key, count);
        expect(tracker.add(key, count)).toBeGreaterThanOrEqual(truth.get(identityOf(key))!);
      } else if (command < 75) {
        const keys = Array.from({ length: random.below(10) }, draw);
        tracker.addMany(keys);
        for (const one of keys) put(one, 1);
      } else if (command < 78) {
        tracker = HeavyHitters.decode(tracker.encode());
      } else if (command < 80) {
        tracker = tracker.copy();
      } else if (command < 82) {
        const other = make();
        const keys = Array.from({ length: random.below(40) }, draw);
        other.addMany(keys);
        for (const one of keys) put(one, 1);
        tracker = random.below(2) ? tracker.union(other) : other.merge(tracker);
      } else if (command < 83 && random.below(20) === 0) {
        tracker.clear();
        truth = new Map();
      } else if (command < 90) {
        expect(tracker.count(key)).toBeGreaterThanOrEqual(truth.get(identityOf(key)) ?? 0);
      } else {
        expectSound(tracker, truth);
      }
    }
  });

  test('every way in gives the same tracker', () => {
    const text = textEncoder();
    const keys = zipf(5000, 300, 1.2, 9).map((number) => `flow ${number} é`.slice(0, 6 + (number % 4)));
    const counts = keys.map((_, i) => i % 5);
    const make = () => HeavyHitters.forThreshold({ threshold: 0.02, seed: 5 });
    for (const amounts of [undefined, 2, counts]) {
      const amount = (i: number) => (typeof amounts === 'object' ? amounts[i] : amounts);
      const trackers = [
        (t: HeavyHitters) => keys.forEach((key, i) => void t.add(key, amount(i))),
        (t: HeavyHitters) => t.addMany(keys, amounts),
        (t: HeavyHitters) => t.addMany(keys.values(), amounts),
        (t: HeavyHitters) => t.addMany(new Map(keys.entries()).values(), amounts),
        (t: HeavyHitters) => t.addMany(packKeys(keys), amounts),
        (t: HeavyHitters) => t.addMany({ lines: text.encode(keys.join('\n')) }, amounts),
        (t: HeavyHitters) => t.addMany({ lines: text.encode(`${keys.join('\n')}\n`) }, amounts),
        (t: HeavyHitters) =>
          t.addMany(
            keys.map((key) => text.encode(key)),
            amounts,
          ),
      ].map((add) => {
        const tracker = make();
        add(tracker);
        return tracker;
      });
      expect(trackers[0].list().length).toBeGreaterThan(5);
      for (const [way, tracker] of trackers.entries()) {
        expect(tracker.equals(trackers[0]), `way ${way}`).toBe(true);
      }
      expectSound(
        trackers[4],
        countsOf(
          keys,
          keys.map((_, i) => amount(i) ?? 1),
        ),
      );
    }
  });

  test('a merge lists what is heavy in both streams together', () => {
    for (let seed = 0; seed < 10; seed++) {
      const [left, right] = [zipf(2000 + 100 * seed, 200, 1, 2 * seed), zipf(1500, 300, 0.7, 2 * seed + 1)];
      const make = (stream: number[]) => {
        const tracker = new HeavyHitters({ threshold: 0.03, width: 100, depth: 3, seed });
        tracker.addMany(stream);
        return tracker;
      };
      const [a, b] = [make(left), make(right)];
      const before = [a.encode(), b.encode()];
      const union = a.union(b);
      expectSound(union, countsOf([...left, ...right]));
      expect(union.total).toBe(left.length + 1500);
      expect([a.encode(), b.encode()]).toEqual(before);
      expect(b.union(a).equals(union)).toBe(true);
      const tail = zipf(500, 200, 1, 99);
      union.addMany(tail);
      expectSound(union, countsOf([...left, ...right, ...tail]));
      expectSound(a.merge(a), countsOf([...left, ...left]));
    }
  });

  test('saturated counters cost no heavy key', () => {
    const tracker = new HeavyHitters({ threshold: 0.2, width: 20, depth: 2, update: 'plain' });
    tracker.add('first', 2 ** 33);
    tracker.addMany(['second', 'third'], [2 ** 34, 5]);
    tracker.add('second', 2 ** 34);
    // Nothing was known of 'second' when it came but that it was not heavy: below a fifth of 2^33.
    const [{ key, count, atLeast }, ...others] = tracker.list();
    expect([key, count, atLeast, others]).toEqual(['second', 2 ** 35 + Math.floor(2 ** 33 / 5), 2 ** 35, []]);
    expect(tracker.total).toBe(2 ** 33 + 2 ** 35 + 5);
    expect(HeavyHitters.decode(tracker.encode()).equals(tracker)).toBe(true);
  });
});

describe('HeavyHitters', () => {
  test('lists light keys no more often than delta', () => {
    // 300 keys of one addition each beside five heavy ones; every light one is a trial, the
    // sketches are independent.
    const threshold = 0.1;
    let [listed, trials] = [0, 0];
    for (let seed = 0; seed < withEffort(200); seed++) {
      const tracker = HeavyHitters.forThreshold({
        threshold,
        epsilon: 0.09,
        delta: 0.1,
        update: 'plain',
        seed,
      });
      for (let heavy = 0; heavy < 5; heavy++) tracker.add(`heavy ${heavy}`, 140);
      tracker.addMany(Array.from({ length: 300 }, (_, i) => i));
      const keys = tracker.list().map(({ key }) => key);
      for (let heavy = 0; heavy < 5; heavy++) expect(keys).toContain(`heavy ${heavy}`);
      listed += keys.length - 5;
      trials += 300;
    }
    expect((listed - 0.1 * trials) / Math.sqrt(trials * 0.1 * 0.9)).toBeLessThan(5);
  });

  test('hostile streams: the memory keeps to its bound and no heavy key is lost', () => {
    // A sketch of a single counter: every key collides with every other, as an adversary could
    // arrange.
    const threshold = 0.02;
    const bound = (n: number) => 1 / threshold + 1 + Math.max(0, Math.log(2 * threshold * n)) / threshold;
    const random = new Random(77);
    const streams: Record<string, (i: number) => number> = {
      'ever new keys': (i) => i,
      'new keys beside a heavy one': (i) => (i % 3 === 0 ? -1 : i),
      'keys that keep up their share': (i) => i % 50,
      'bursts of all lengths': (i) =>
        Math.floor(Math.log2(1 + (i % 4096)) * 40) + 1000 * Math.floor(i / 4096),
      'old ones kept alive': (i) => (random.below(3) ? random.below(1 + Math.floor(i / 200)) : 1e6 + i),
    };
    for (const [name, keyAt] of Object.entries(streams)) {
      const tracker = new HeavyHitters({ threshold, width: 1, depth: 1 });
      const truth = new Map<string, number>();
      let most = 0;
      for (let i = 0; i < withEffort(20_000); i++) {
        const key = keyAt(i);
        tracker.add(key);
        truth.set(identityOf(key), (truth.get(identityOf(key)) ?? 0) + 1);
        if (i % 500 !== 0) continue;
        most = Math.max(most, tracker.candidateCount());
        expect(tracker.candidateCount(), name).toBeLessThanOrEqual(bound(i + 1));
        expectSound(tracker, truth);
      }
      expect(most).toBeGreaterThan(0);
    }
  });

  test('reads like the question it answers', () => {
    const flows = HeavyHitters.forThreshold({ threshold: 0.1 });
    flows.add('10.0.0.7', 1500);
    flows.addMany(['10.0.0.8', '10.0.0.9', '10.0.0.7'], [40, 400, 1500]);
    expect(flows.list()).toEqual([
      { key: '10.0.0.7', count: 3000, atLeast: 3000 },
      { key: '10.0.0.9', count: 400, atLeast: 400 },
    ]);
    expect([...flows].map(({ key }) => key)).toEqual(['10.0.0.7', '10.0.0.9']);
    expect(flows.count('10.0.0.8')).toBe(40);
    expect(flows.total).toBe(3440);
    expect(String(flows)).toBe(
      'HeavyHitters(threshold 0.1, 7 rows of 272 counters, 32 bits, conservative, forge64/0)',
    );
    expect(flows.byteLength).toBe(4 * 7 * 272);
    flows.clear();
    expect([flows.list(), flows.total]).toEqual([[], 0]);
    expect(flows.equals(HeavyHitters.forThreshold({ threshold: 0.1 }))).toBe(true);
  });

  test('keys of all types come back as they were first given, also from a frame', () => {
    const bytes = Uint8Array.of(1, 2, 255);
    const keys: Key[] = ['text', 'äöü 日本 😀', '', 42, -7, 2n ** 60n, -(2n ** 90n), bytes];
    const tracker = HeavyHitters.forThreshold({ threshold: 0.05 });
    tracker.addMany(keys, 10);
    bytes.fill(0); // theirs, not ours
    const expected = [...keys.slice(0, -1), Uint8Array.of(1, 2, 255)];
    for (const one of [tracker, HeavyHitters.decode(tracker.encode()), tracker.copy()]) {
      const listed = one.list().map(({ key }) => key);
      expect(listed.length).toBe(keys.length);
      for (const key of expected) expect(listed).toContainEqual(key);
    }
    // The same bytes are the same key, whatever the type.
    tracker.add(42n, 5);
    tracker.add(textEncoder().encode('text'), 6);
    const again = new Map(tracker.list().map(({ key, count }) => [key, count]));
    expect([again.get(42), again.get('text'), again.size]).toEqual([15, 16, keys.length]);
    // A list is a copy.
    const [listed] = tracker.list().filter(({ key }) => key instanceof Uint8Array);
    (listed.key as Uint8Array).fill(9);
    expect(tracker.count(Uint8Array.of(1, 2, 255))).toBe(10);
    expect(tracker.list().some(({ key }) => key instanceof Uint8Array && key[0] === 1)).toBe(true);
  });

  test('a lone surrogate is the replacement character, as in every hash', () => {
    expect(identityOf('\ud800')).toBe(identityOf('\ufffd'));
    expect(identityOf('a'.repeat(10_000))).toBe('a'.repeat(10_000));
    expect(identityOf(new Uint8Array(10_000).fill(200)).length).toBe(10_000);
  });

  test('the kernels write the same bytes', () => {
    const stream = zipf(30_000, 1000, 1, 4);
    const [wasm, javascript] = (['wasm', 'javascript'] as const).map((kernel) => {
      useKernel(kernel);
      const tracker = HeavyHitters.forThreshold({ threshold: 0.01, seed: 8 });
      tracker.addMany(stream);
      return tracker.encode();
    });
    useKernel('auto');
    expect(wasm).toEqual(javascript);
  });

  test('parameters, in errors', () => {
    for (const threshold of [0, 1, -1, Number.NaN, '0.1', undefined]) {
      expect(() => HeavyHitters.forThreshold({ threshold: threshold as number })).toThrow(
        /Cannot use threshold: expected/,
      );
      expect(() => new HeavyHitters({ threshold: threshold as number, width: 5, depth: 1 })).toThrow(
        /threshold/,
      );
    }
    expect(() => new HeavyHitters({ threshold: 0.1, width: 0, depth: 1 })).toThrow(/width/);
    expect(() => new HeavyHitters({ threshold: 0.1, width: 1, depth: 0 })).toThrow(/depth/);
    expect(() => HeavyHitters.forThreshold({ threshold: 0.1, epsilon: 2 })).toThrow(/epsilon/);
    expect(() => HeavyHitters.forThreshold({ threshold: 0.1, phi: 2 } as never)).toThrow(/got option 'phi'/);
    const tracker = HeavyHitters.forThreshold({ threshold: 0.1 });
    expect(() => tracker.addMany(hashKeys(['a']))).toThrow(/expected keys, which it lists, got their hashes/);
    for (const wrong of ['text', Uint8Array.of(1, 2), 7, null, undefined]) {
      expect(() => tracker.addMany(wrong as never), `${wrong}`).toThrow(TypeError);
      expect(() => tracker.addMany(wrong as never, [1, 2])).toThrow(TypeError);
    }
    expect(() => tracker.addMany(new Set(['a', 'b']), [1])).toThrow(/2 keys, 1 counts/);
    expect(() => tracker.addMany(['a'], -1)).toThrow(/Cannot use count: expected/);
    expect(() => tracker.add('a', 0.5)).toThrow(/Cannot use count: expected/);
    expect(tracker.total).toBe(0);
    tracker.add('nothing', 0);
    expect(tracker.list()).toEqual([]);
  });

  test('unlike trackers are refused, with both sides in the message', () => {
    const options = { threshold: 0.1, width: 50, depth: 2 };
    const tracker = new HeavyHitters(options);
    for (const different of [
      { threshold: 0.2 },
      { width: 51 },
      { depth: 3 },
      { counterBits: 64 as const },
      { update: 'plain' as const },
      { seed: 1 },
      { key: new SecretKey(new Uint8Array(16)) },
    ]) {
      const other = new HeavyHitters({ ...options, ...different });
      expect(() => tracker.merge(other)).toThrow(`unlike filters: ${tracker} and ${other}`);
      expect(tracker.equals(other)).toBe(false);
    }
    expect(() => tracker.merge({} as never)).toThrow(RangeError);
  });

  test('frames that contradict themselves are refused', () => {
    const tracker = new HeavyHitters({ threshold: 0.25, width: 16, depth: 2 });
    tracker.addMany(['ab', 7], [50, 40]);
    const bytes = tracker.encode();
    const first = 36 + 8 + 4 * 32; // the first candidate: 'ab' with 50
    expect([...bytes.subarray(first, first + 23)]).toEqual([
      0, 50, 0, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0x61, 0x62,
    ]);
    const changed = (...changes: [at: number, value: number][]) => {
      const copy = Uint8Array.from(bytes);
      for (const [at, value] of changes) copy[at] = value;
      new DataView(copy.buffer).setUint32(copy.length - 4, hashKey(copy.subarray(0, -4)).low, true);
      return () => HeavyHitters.decode(copy);
    };
    const second = first + 23;
    expect(changed()().equals(tracker)).toBe(true);
    expect(changed([first, 4])).toThrow(/a key of type 4/);
    expect(changed([first, 1])).toThrow(/a key of type 1 with such bytes/); // two bytes: no number
    expect(changed([first + 21, 0xff])).toThrow(/a key of type 0 with such bytes/); // no UTF-8
    expect(changed([second + 28, 0x7f])).toThrow(/a key of type 1/); // no safe integer
    expect(changed([first + 1, 51])).toThrow(/a candidate of 51 where the sketch has fewer/);
    expect(changed([first + 9, 51])).toThrow(/a candidate of 51 to 50/);
    expect(changed([first + 9, 0])).toThrow(/a candidate of 0 to 50/);
    expect(changed([first + 17, 200])).toThrow(/a key of 200 bytes where/);
    expect(changed([first + 20, 255])).toThrow(FrameError);
    expect(changed([first + 1, 39], [first + 9, 39])).toThrow(/in another order/);
    expect(changed([second + 1, 10], [second + 9, 10])).toThrow(/below the threshold/);
    expect(changed([31, 26])).toThrow(FrameError);
    expect(changed([30, 0xf0])).toThrow(/threshold/);
    expect(changed([6, 2])).toThrow(/no filter has update 2/);
  });
});
