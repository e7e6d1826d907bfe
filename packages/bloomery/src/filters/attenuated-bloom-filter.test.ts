import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { codecContract } from '../../test/contracts/codec.ts';
import { type CodecSubject, inBothKernels } from '../../test/contracts/subject.ts';
import { forgeFrame } from '../../test/forge-frame.ts';
import { awkwardStrings, counterKeys } from '../../test/keys.ts';
import { FrameError } from '../frames/envelope.ts';
import type { FrameKind } from '../frames/frame.ts';
import { SecretKey } from '../hashing/secret-key.ts';
import { hashKey } from '../kernel/batches/hash-key.ts';
import { hashKeys } from '../kernel/batches/hash-keys.ts';
import { useKernel } from '../kernel/wasm/kernel-choice.ts';
import { packKeys } from '../keys/packed-keys.ts';
import { sizeClassic } from '../math/size-classic.ts';
import { applyDelta, makeDelta } from '../wire/coding/delta.ts';
import { AttenuatedBloomFilter } from './attenuated-bloom-filter.ts';
import { BloomFilter } from './bloom-filter.ts';
import { joinFilters, type NestedFilter } from './shared/nested-frames.ts';

/** The keys are dealt to three levels in turn. */
const subject: CodecSubject<AttenuatedBloomFilter> = {
  name: 'AttenuatedBloomFilter',
  seedable: true,
  build: (keys, { falsePositiveRate, ...options }) => {
    const capacity = Math.ceil(keys.length / 3);
    const filter = AttenuatedBloomFilter.forCapacity({ levels: 3, capacity, falsePositiveRate, ...options });
    for (const [i, key] of keys.entries()) filter.add(key, i % 3);
    return filter;
  },
  decode: (bytes, options) => AttenuatedBloomFilter.decode(bytes, options),
  answers: (filter, keys) =>
    [...filter.distanceMany(keys)].map((distance) => (distance < 0 ? 0 : distance + 1)),
};

const golden = {
  hex: '424c4d59010b00010000000000000000039f0000000000000000000000290000000000424c4d5901010001000000000000000045000000000607000000000019546163c6c71a0b04d96fafad000000000000290000000000424c4d59010100010000000000000000450000000006070000000000393c1258040a968f1e774a44a8000000000000290000000000424c4d5901010001000000000000000045000000000607000000000091a537e0c4b52a051c0bea56dc9a088c2c',
  falsePositives: [0, 1, 7, 9, 16, 18, 22, 27, 30, 35],
};

codecContract(subject, golden);

/** A connected random network: a ring and some chords. */
function network(nodes: number, chords: number, random: Random): number[][] {
  const links = Array.from({ length: nodes }, (_, i) => new Set([(i + 1) % nodes, (i + nodes - 1) % nodes]));
  for (let i = 0; i < chords; i++) {
    const [a, b] = [random.below(nodes), random.below(nodes)];
    if (a === b) continue;
    links[a].add(b);
    links[b].add(a);
  }
  return links.map((set) => [...set]);
}

function hopsFrom(links: number[][], start: number): number[] {
  const hops = links.map(() => Number.POSITIVE_INFINITY);
  hops[start] = 0;
  const queue = [start];
  for (const node of queue) {
    for (const next of links[node]) {
      if (hops[next] < Number.POSITIVE_INFINITY) continue;
      hops[next] = hops[node] + 1;
      queue.push(next);
    }
  }
  return hops;
}

/** Puts own keys at level 0. In one round per level every node absorbs its neighbours' tables. */
function flood(links: number[][], own: AttenuatedBloomFilter[]): AttenuatedBloomFilter[] {
  let tables = own;
  for (let round = 1; round < own[0].levels; round++) {
    tables = own.map((table, node) =>
      links[node].reduce((sum, neighbour) => sum.absorb(tables[neighbour]), table.copy()),
    );
  }
  return tables;
}

/**
 * The rate at which any of a few filters has a key that is in none: by inclusion and exclusion,
 * from their bits.
 */
function unionRate(filters: BloomFilter[]): number {
  let rate = 0;
  for (let subset = 1; subset < 2 ** filters.length; subset++) {
    const chosen = filters.filter((_, i) => (subset >> i) & 1);
    const both = chosen.slice(1).reduce((common, filter) => common.intersection(filter), chosen[0]);
    rate += (chosen.length % 2 === 1 ? 1 : -1) * both.estimatedFalsePositiveRate();
  }
  return rate;
}

inBothKernels('AttenuatedBloomFilter: a network', () => {
  test('distances are those of a breadth-first search, but for the predicted false positives', () => {
    const random = new Random(21);
    const levels = 4;
    const nodes = 40;
    const perNode = 60;
    let [pairs, early, expected, variance] = [0, 0, 0, 0];
    let [absent, found, expectedFound, foundVariance] = [0, 0, 0, 0];
    for (let run = 0; run < withEffort(3, 3); run++) {
      const links = network(nodes, 15, random);
      const nameOf = (node: number, i: number) => `run ${run} node ${node} key ${i}`;
      const own = links.map((_, node) => {
        // Small on purpose: the deeper levels are to err.
        const table = new AttenuatedBloomFilter({ levels, bits: 6000, hashes: 4, seed: run });
        table.addMany(Array.from({ length: perNode }, (_, i) => nameOf(node, i)));
        return table;
      });
      const tables = flood(links, own);
      for (let node = 0; node < nodes; node++) {
        const hops = hopsFrom(links, node);
        const filters = Array.from({ length: levels }, (_, i) => tables[node].level(i));
        // What is the chance that a key whose right answer is D (or none) is found before?
        const rates = Array.from({ length: levels + 1 }, (_, d) =>
          d === 0 ? 0 : unionRate(filters.slice(0, d)),
        );
        for (let i = 0; i < perNode; i++) {
          for (let holder = 0; holder < nodes; holder++) {
            const answer = tables[node].distance(nameOf(holder, i)) ?? Number.POSITIVE_INFINITY;
            if (hops[holder] < levels && answer > hops[holder]) {
              throw new Error(`node ${node} does not know a key ${hops[holder]} hops away`);
            }
            // For the statistics each key is asked once only: the same key errs alike at nodes with
            // like tables.
            if ((holder + 7 * i) % nodes !== node) continue;
            const right = Math.min(hops[holder], levels);
            pairs++;
            if (answer < right) early++;
            expected += rates[right];
            variance += rates[right] * (1 - rates[right]);
          }
        }
        const strangers = tables[node].distanceMany(counterKeys(500, 500 * node, run + 1));
        absent += strangers.length;
        found += strangers.filter((distance) => distance >= 0).length;
        expectedFound += 500 * rates[levels];
        foundVariance += 500 * rates[levels] * (1 - rates[levels]);
        // The product is an upper bound of the true compound rate, and not far from it.
        expect(tables[node].estimatedFalsePositiveRate()).toBeGreaterThanOrEqual(rates[levels] * (1 - 1e-9));
      }
    }
    expect(pairs).toBe(withEffort(3, 3) * nodes * perNode);
    expect(expected).toBeGreaterThan(100);
    expectNormal(early, expected, Math.sqrt(variance), `keys found too near, of ${pairs}`);
    expectNormal(found, expectedFound, Math.sqrt(foundVariance), `strangers found, of ${absent}`);
  });

  test('deeper levels are fuller, and say so', () => {
    const links = network(60, 60, new Random(3));
    const own = links.map((_, node) => {
      const table = AttenuatedBloomFilter.forCapacity({
        levels: 4,
        capacity: 1000,
        falsePositiveRate: 0.001,
      });
      table.addMany(counterKeys(50, 50 * node));
      return table;
    });
    for (const table of flood(links, own)) {
      for (let i = 1; i < 4; i++) {
        expect(table.estimatedSize(i)).toBeGreaterThan(table.estimatedSize(i - 1));
        expect(table.estimatedFalsePositiveRate(i)).toBeGreaterThan(table.estimatedFalsePositiveRate(i - 1));
      }
    }
  });

  test('against sets: thousands of commands', () => {
    const random = new Random(22);
    const levels = 5;
    // So large that no false positive comes up.
    const make = () => new AttenuatedBloomFilter({ levels, bits: 20_000, hashes: 30 });
    const emptySets = () => Array.from({ length: levels }, () => new Set<number>());
    let filters = [make(), make(), make()];
    let models = [emptySets(), emptySets(), emptySets()];
    const distanceIn = (sets: Set<number>[], key: number) => sets.findIndex((set) => set.has(key));
    for (let step = 0; step < withEffort(10_000); step++) {
      const command = random.below(1000);
      const [a, b] = [random.below(3), random.below(3)];
      const key = random.below(250);
      const level = random.below(levels);
      const keys = Array.from({ length: random.below(10) }, () => random.below(250));
      if (command < 150) {
        expect(filters[a].add(key, level)).toBe(!models[a][level].has(key));
        models[a][level].add(key);
      } else if (command < 200) {
        const fresh = new Set(keys.filter((k) => !models[a][level].has(k))).size;
        expect(filters[a].addMany(keys, level)).toBe(fresh);
        for (const k of keys) models[a][level].add(k);
      } else if (command < 210) {
        filters[a].absorb(filters[b]);
        const before = models[b].map((set) => new Set(set));
        for (let i = 1; i < levels; i++) for (const k of before[i - 1]) models[a][i].add(k);
      } else if (command < 220) {
        filters[a].merge(filters[b]);
        for (const [i, set] of models[b].entries()) for (const k of [...set]) models[a][i].add(k);
      } else if (command < 225) {
        filters[a] = filters[b].shifted();
        models[a] = [new Set<number>(), ...models[b].slice(0, -1).map((set) => new Set(set))];
      } else if (command < 235) {
        filters[a] = AttenuatedBloomFilter.decode(filters[a].encode());
      } else if (command < 240) {
        filters[a].clear(level);
        models[a][level].clear();
      } else if (command < 242) {
        filters[a].clear();
        for (const set of models[a]) set.clear();
      } else if (command === 242) {
        filters = filters.map((filter) => filter.copy());
        models = models.map((sets) => sets.map((set) => new Set(set)));
      } else if (command < 300) {
        expect([...filters[a].distanceMany(keys)]).toEqual(keys.map((k) => distanceIn(models[a], k)));
        expect([...filters[a].hasMany(keys)]).toEqual(
          keys.map((k) => (distanceIn(models[a], k) < 0 ? 0 : 1)),
        );
      } else {
        const expected = distanceIn(models[a], key);
        expect(filters[a].distance(key)).toBe(expected < 0 ? undefined : expected);
        expect(filters[a].has(key)).toBe(expected >= 0);
      }
    }
  });

  test('every form of a batch, in and out', () => {
    const keys = awkwardStrings(2500, 7).map((text) => text.replaceAll('\n', '_'));
    const probes = [...keys.slice(0, 300), ...awkwardStrings(2000, 8)];
    const make = () =>
      AttenuatedBloomFilter.forCapacity({ levels: 3, capacity: 2500, falsePositiveRate: 0.05, seed: 4 });
    const first = make();
    for (const key of keys) first.add(key, 1);
    first.addMany(counterKeys(1000), 2);
    const answers = probes.map((key) => first.distance(key) ?? -1);
    const { scheme } = first;
    for (const batch of [keys, new Set(keys), packKeys(keys), hashKeys(keys, scheme)]) {
      const filter = make();
      filter.addMany(batch, 1);
      filter.addMany(counterKeys(1000), 2);
      expect(filter.equals(first)).toBe(true);
      expect([...filter.distanceMany(probes)]).toEqual(answers);
    }
    expect([...first.distanceMany(packKeys(probes))]).toEqual(answers);
    expect([...first.distanceMany(probes.values())]).toEqual(answers);
    expect([...first.distanceMany(hashKeys(probes, scheme))]).toEqual(answers);
    expect(probes.map((key) => first.distanceHash(hashKey(key, scheme)) ?? -1)).toEqual(answers);
    expect(probes.map((key) => first.hasHash(hashKey(key, scheme)))).toEqual(answers.map((d) => d >= 0));
    expect(new Set(answers)).toEqual(new Set([-1, 1, 2]));
    const byHash = make();
    for (const key of keys) byHash.addHash(hashKey(key, scheme), 1);
    byHash.addMany(counterKeys(1000), 2);
    expect(byHash.equals(first)).toBe(true);
  });
});

inBothKernels('AttenuatedBloomFilter: widths that differ by level', () => {
  const widths = [512, 2048, 8192];
  const wide = (from: number) => {
    const table = new AttenuatedBloomFilter({ levels: 3, bits: 8192, hashes: 5, seed: 3 });
    for (const level of [0, 1, 2]) table.addMany(counterKeys(40 * 4 ** level, from + 10_000 * level), level);
    return table;
  };

  test('a fold has the bits of the keys, at every level and in both layouts', () => {
    for (const layout of ['classic', 'partitioned'] as const) {
      const options = { levels: 3, hashes: 4, seed: 3, layout };
      const full = new AttenuatedBloomFilter({ ...options, bits: 8192 });
      const narrow = new AttenuatedBloomFilter({ ...options, bits: widths });
      for (const level of [0, 1, 2]) {
        full.addMany(counterKeys(100, 1000 * level), level);
        narrow.addMany(counterKeys(100, 1000 * level), level);
      }
      const folded = new AttenuatedBloomFilter({ ...options, bits: widths }).merge(full);
      expect(folded.equals(narrow)).toBe(true);
      const absorbed = new AttenuatedBloomFilter({ ...options, bits: widths }).absorb(full);
      expect([0, 1, 2].map((level) => absorbed.level(level).onesCount() > 0)).toEqual([false, true, true]);
      for (const level of [0, 1])
        expect(absorbed.level(level + 1).equals(full.level(level).halve(level === 0 ? 2 : 0))).toBe(true);
    }
  });

  test('each level errs as often as its width and keys predict', () => {
    const folded = new AttenuatedBloomFilter({ levels: 3, bits: widths, hashes: 5, seed: 3 }).merge(wide(0));
    const probes = counterKeys(20_000, 1_000_000);
    for (const level of [0, 1, 2]) {
      const rate = folded.estimatedFalsePositiveRate(level);
      const found = folded
        .level(level)
        .hasMany(probes)
        .reduce((sum, hit) => sum + hit, 0);
      const expected = rate * 20_000;
      expect(expected).toBeGreaterThan(30);
      expectNormal(found, expected, Math.sqrt(expected * (1 - rate)), `level ${level}`);
    }
    expect(folded.byteLength).toBe((512 + 2048 + 8192) / 8);
  });

  test('frames keep the widths; narrow levels are not spread over wide ones', () => {
    const folded = new AttenuatedBloomFilter({ levels: 3, bits: widths, hashes: 5, seed: 3 }).merge(wide(7));
    const read = AttenuatedBloomFilter.decode(folded.encode());
    expect(read.equals(folded)).toBe(true);
    expect([read.bits, read.widths]).toEqual([8192, widths]);
    expect(String(read)).toBe(
      'AttenuatedBloomFilter(3 levels, 512/2048/8192 bits, 5 hashes, classic, forge64/3)',
    );
    expect(read.copy().merge(folded).equals(read)).toBe(true);
    expect(() => read.shifted()).toThrow(/Cannot absorb unlike filters/);
    expect(() => wide(0).merge(folded)).toThrow(/Cannot merge unlike filters/);
    expect(wide(0).equals(folded)).toBe(false);
  });

  test('deltas of arrays whose levels differ lead from one to the other', () => {
    const make = () => new AttenuatedBloomFilter({ levels: 3, bits: widths, hashes: 5, seed: 3 });
    const [before, after] = [make().merge(wide(0)), make().merge(wide(0))];
    after.add('one more', 1);
    const delta = makeDelta(before.encode(), after.encode());
    expect(applyDelta(before.encode(), delta)).toEqual(after.encode());
    expect(delta.length).toBeLessThan(80);
  });
});

describe('AttenuatedBloomFilter', () => {
  test('a list of widths is one for each level, and they differ by powers of two', () => {
    const make = (bits: readonly number[]) => () => new AttenuatedBloomFilter({ levels: 3, bits, hashes: 2 });
    expect(make([64, 128])).toThrow('Cannot use bits: expected 3 widths, one for each level, got 2');
    expect(make([64, 128, 200])).toThrow('Cannot use bits: expected 64 times a power of two, got 200');
    expect(make([64, 128, 0])).toThrow(/Cannot use bits: expected/);
    expect(make([64, Number.NaN, 64])).toThrow(/Cannot use bits: expected/);
    expect(make([96, 24, 48])().widths).toEqual([96, 24, 48]);
  });

  test('a small story: three nodes in a row', () => {
    const make = (key: string) => {
      const table = new AttenuatedBloomFilter({ levels: 3, bits: 1000, hashes: 5 });
      table.add(key);
      return table;
    };
    const [a, b, c] = [make('at a'), make('at b'), make('at c')];
    b.absorb(c);
    a.absorb(b);
    expect(['at a', 'at b', 'at c', 'nowhere'].map((key) => a.distance(key))).toEqual([0, 1, 2, undefined]);
    // What falls off the end: d is three hops from a node before a.
    const z = make('at z').absorb(a);
    expect(z.distance('at c')).toBe(undefined);
    expect(z.distance('at b')).toBe(2);
    expect(a.shifted().distance('at a')).toBe(1);
    expect(z.absorb(z).distance('at z')).toBe(0);
  });

  test('the smallest distance wins', () => {
    const table = new AttenuatedBloomFilter({ levels: 4, bits: 1000, hashes: 5 });
    table.add('key', 3);
    expect(table.distance('key')).toBe(3);
    table.add('key', 1);
    expect(table.distance('key')).toBe(1);
    table.clear(1);
    expect(table.distance('key')).toBe(3);
    expect(table.level(3).has('key')).toBe(true);
    table.level(3).clear();
    expect(table.distance('key')).toBe(3);
    expect(table.byteLength).toBe(4 * 128);
  });

  test('unlike ones are refused, with both sides in the message', () => {
    const base = { levels: 3, bits: 100, hashes: 2 };
    const table = new AttenuatedBloomFilter(base);
    for (const other of [
      { ...base, levels: 2 },
      { ...base, bits: 102 },
      { ...base, hashes: 1 },
      { ...base, layout: 'partitioned' as const },
      { ...base, seed: 1 },
      { ...base, key: new SecretKey(new Uint8Array(16)) },
    ].map((options) => new AttenuatedBloomFilter(options))) {
      expect(() => table.absorb(other)).toThrow(`Cannot absorb unlike filters: ${table} and ${other}`);
      expect(() => table.merge(other)).toThrow(`Cannot merge unlike filters: ${table} and ${other}`);
      expect(table.equals(other)).toBe(false);
    }
    expect(() => table.merge({} as never)).toThrow(RangeError);
    expect(table.equals(table.copy())).toBe(true);
  });

  test('errors name what is wrong', () => {
    const base = { levels: 3, bits: 100, hashes: 2 };
    const make = (extra: object) => () => new AttenuatedBloomFilter({ ...base, ...extra });
    for (const levels of [0, 256, 1.5, undefined]) {
      expect(make({ levels })).toThrow(/Cannot use levels: expected an integer from 1 to 255/);
    }
    expect(make({ bits: 0 })).toThrow(/Cannot use bits: expected/);
    expect(make({ bits: 2 ** 37 })).toThrow(/Cannot use bits: expected/);
    expect(make({ hashes: 0 })).toThrow(/Cannot use hashes: expected/);
    expect(make({ layout: 'partitioned', bits: 101 })).toThrow(/multiple of hashes/);
    expect(make({ depth: 3 })).toThrow(/got option 'depth'/);
    expect(() => new AttenuatedBloomFilter(undefined as never)).toThrow(TypeError);
    expect(() =>
      AttenuatedBloomFilter.forCapacity({ levels: 2, capacity: 0, falsePositiveRate: 0.1 }),
    ).toThrow(/capacity/);
    const table = make({})();
    expect(() => table.add('a', 3)).toThrow(/Cannot use distance: expected an integer from 0 to 2, got 3/);
    expect(() => table.addMany(['a'], -1)).toThrow(/distance/);
    expect(() => table.level(3)).toThrow(/distance/);
    expect(() => table.estimatedSize(9)).toThrow(/distance/);
    expect(() => table.distanceHash(hashKey('a', { seed: 1 }))).toThrow(
      /expected one by filter.scheme \(forge64\/0\), got forge64\/1/,
    );
    expect(String(table)).toBe('AttenuatedBloomFilter(3 levels, 100 bits, 2 hashes, classic, forge64/0)');
  });

  test('both kernels make the same bytes', () => {
    const keys = awkwardStrings(3000, 4);
    const frames = (['wasm', 'javascript'] as const).map((kernel) => {
      useKernel(kernel);
      const table = AttenuatedBloomFilter.forCapacity({ levels: 3, capacity: 1000, falsePositiveRate: 0.1 });
      for (let level = 0; level < 3; level++)
        table.addMany(keys.slice(1000 * level, 1000 * level + 1000), level);
      return table.absorb(table).encode();
    });
    useKernel('auto');
    expect(frames[0]).toEqual(frames[1]);
  });
});

describe('frames of an AttenuatedBloomFilter', () => {
  const kind: FrameKind = { code: 11, name: '', widths: [1, 6], payloadBits: () => 0 };
  const part = (more: object = {}, note = 0) => ({
    filter: new BloomFilter({ bits: 40, hashes: 2, ...more }),
    note,
  });
  const forge = (filters: NestedFilter[], { variant = 0, levels = filters.length } = {}) => {
    const payload = joinFilters(filters);
    const parameters = [levels, payload.length];
    return forgeFrame(kind, { variant, scheme: hashKey('a').scheme, parameters, payload });
  };
  const errorOf = (frame: Uint8Array): FrameError => {
    try {
      AttenuatedBloomFilter.decode(frame);
    } catch (error) {
      if (error instanceof FrameError) return error;
      throw error;
    }
    throw new Error('no error');
  };

  test('the golden frame means what the format says', () => {
    const frame = bytesOf(golden.hex);
    expect([frame[5], frame[6], frame[16]]).toEqual([11, 0, 3]);
    expect(new DataView(frame.buffer).getUint32(17, true)).toBe(frame.length - 23 - 4);
    const size = sizeClassic({ capacity: 7, falsePositiveRate: 0.01 });
    const parts = partsIn(frame, 23);
    expect(parts.length).toBe(3);
    for (const [level, { note, frame: inner }] of parts.entries()) {
      const filter = new BloomFilter({ bits: size.bits, hashes: size.hashes, capacity: 7 });
      for (let i = level; i < 20; i += 3) filter.add(`key-${i}`);
      expect(inner).toEqual(filter.encode());
      expect(note).toBe(0);
    }
  });

  test('sound ones are read; levels that contradict each other are refused', () => {
    expect(AttenuatedBloomFilter.decode(forge([part(), part()])).levels).toBe(2);
    expect(AttenuatedBloomFilter.decode(forge([part({ capacity: 7 })])).capacity).toBe(7);
    for (const other of [{ bits: 41 }, { hashes: 1 }, { layout: 'partitioned' }, { capacity: 3 }]) {
      expect(errorOf(forge([part(), part(other)])).message).toMatch(/expected level 1 to be BloomFilter/);
    }
    expect(errorOf(forge([part(), part({ seed: 5 })])).message).toMatch(/got forge64\/5/);
    expect(errorOf(forge([part(), part({}, 1)])).message).toMatch(/expected 0 beside level 1, got 1/);
    expect(errorOf(forge([part()], { levels: 0 })).code).toBe('parameters');
    expect(errorOf(forge([part()], { variant: 1 })).code).toBe('parameters');
    expect(errorOf(forge([part()], { levels: 2 })).code).toBe('payload');
  });
});

/** The payload of a frame, cut by hand: notes, and the frames of the filters. */
function partsIn(frame: Uint8Array, start: number): { note: number; frame: Uint8Array }[] {
  const view = new DataView(frame.buffer, frame.byteOffset);
  const number48 = (at: number) => view.getUint32(at, true) + 2 ** 32 * view.getUint16(at + 4, true);
  const parts: { note: number; frame: Uint8Array }[] = [];
  for (let at = start; at < frame.length - 4; ) {
    const end = at + 12 + number48(at + 6);
    parts.push({ note: number48(at), frame: frame.slice(at + 12, end) });
    at = end;
  }
  return parts;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
