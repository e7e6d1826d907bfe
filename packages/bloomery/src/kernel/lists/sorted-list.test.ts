import { withEffort } from '@bloomery/testkit/effort';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { inBothKernels } from '../../../test/contracts/subject.ts';
import { PositionList } from '../../filters/hash-list/position-list.ts';
import { hashScheme } from '../../hashing/hash-scheme.ts';
import { chunkHashes, eachChunk } from '../batches/batch.ts';
import { BitStore } from '../bits/bit-store.ts';
import { probeIndex } from '../bits/classic.ts';
import {
  INTERPOLATIONS,
  listIncludes,
  listWords,
  nextLook,
  positionWidth,
  readPosition,
  writePosition,
} from './sorted-list.ts';
import { listHasChunk } from './sorted-list-wasm.ts';

function pack(positions: ArrayLike<number>, m: number): Uint32Array {
  const width = positionWidth(m);
  const words = new Uint32Array(listWords(positions.length, width));
  for (let i = 0; i < positions.length; i++) writePosition(words, width, i, positions[i]);
  return words;
}

/** `count` distinct positions below m, sorted. */
function uniform(count: number, m: number, random: Random): Float64Array {
  const chosen = new Set<number>();
  while (chosen.size < count) chosen.add(below(m, random));
  return Float64Array.from(chosen).sort();
}

/** Below m, also beyond 32 bits. */
function below(m: number, random: Random): number {
  return Math.floor(((random.bits() >>> 0) / 2 ** 32 + (random.bits() >>> 0) / 2 ** 64) * m);
}

/** The search of `listIncludes` on a plain array, counting its looks. */
function looks(positions: ArrayLike<number>, m: number, wanted: number): number {
  let [low, lowValue, high, highValue] = [-1, -1, positions.length, m];
  let look = 0;
  while (high - low > 1) {
    const at = nextLook(look++, low, lowValue, high, highValue, wanted);
    if (!(at > low && at < high)) throw new Error(`a look at ${at}, outside ${low} to ${high}`);
    if (positions[at] === wanted) break;
    if (positions[at] < wanted) [low, lowValue] = [at, positions[at]];
    else [high, highValue] = [at, positions[at]];
  }
  return look;
}

describe('packed positions', () => {
  test('the width is the least that holds m - 1', () => {
    expect([1, 2, 3, 4, 5, 92_000, 2 ** 32, 2 ** 32 + 1, 2 ** 36].map(positionWidth)).toEqual([
      1, 1, 2, 2, 3, 17, 32, 33, 36,
    ]);
  });

  test('are read as they were written, at every width, and as plain little-endian bits', () => {
    for (let width = 1; width <= 36; width++) {
      const m = 2 ** width;
      const random = new Random(width);
      const values = Array.from({ length: 67 }, (_, i) => (i % 5 === 0 ? m - 1 : below(m, random)));
      const words = pack(values, m);
      expect(values.map((_, i) => readPosition(words, width, i))).toEqual(values);
      let number = 0n;
      values.forEach((value, i) => {
        number |= BigInt(value) << BigInt(i * width);
      });
      words.forEach((word, i) => {
        expect(word).toBe(Number((number >> BigInt(32 * i)) & 0xffffffffn));
      });
    }
  });
});

describe('interpolation search', () => {
  test('finds exactly what is there', () => {
    const random = new Random(1);
    for (const [count, m] of [
      [0, 5],
      [1, 1],
      [1, 100],
      [2, 2],
      [50, 60],
      [1000, 92_000],
      [3000, 2 ** 36],
    ]) {
      const positions = uniform(count, m, random);
      const words = pack(positions, m);
      const present = new Set(positions);
      const probes = [...positions, 0, m - 1, ...Array.from({ length: 2000 }, () => below(m, random))];
      for (const p of [...probes, ...positions.map((x) => x + 1), ...positions.map((x) => x - 1)]) {
        if (p < 0 || p >= m) continue;
        expect(listIncludes(words, positionWidth(m), count, m, p)).toBe(present.has(p));
      }
    }
  });

  test('takes about log2 log2 n looks on the average', () => {
    // Perl, Itai and Avni bound the mean by log2 log2 n for present keys; absent ones end between
    // two neighbours, which takes about one look more. The means are compared with that form, plus
    // a constant below one look.
    const random = new Random(2);
    const means: number[] = [];
    for (const n of [1000, 10_000, 100_000, 300_000]) {
      const m = 92 * n;
      const positions = uniform(n, m, random);
      const questions = withEffort(20_000);
      let [hit, miss, most] = [0, 0, 0];
      for (let q = 0; q < questions; q++) {
        hit += looks(positions, m, positions[random.below(n)]);
        const absent = looks(positions, m, below(m, random));
        miss += absent;
        most = Math.max(most, absent);
      }
      const bound = Math.log2(Math.log2(n));
      expect(hit / questions).toBeLessThan(bound + 1);
      expect(miss / questions).toBeLessThan(bound + 1.5);
      expect(hit / questions).toBeGreaterThan(bound - 1);
      expect(most).toBeLessThanOrEqual(INTERPOLATIONS + 1 + Math.ceil(Math.log2(n)));
      means.push(miss / questions);
    }
    // 300 times as many positions, and hardly more looks: bisection would take 8 more.
    expect(means[3] - means[0]).toBeLessThan(1.5);
  });

  test('a thousand positions take the looks of the essay: 4.05', () => {
    // A list has its own mean, which varies by more than the questions do: many lists, and their
    // sample deviation.
    const random = new Random(3);
    const lists = 60;
    let [sum, squares] = [0, 0];
    for (let i = 0; i < lists; i++) {
      const positions = uniform(1000, 92_000, random);
      let total = 0;
      for (let q = 0; q < 500; q++) total += looks(positions, 92_000, below(92_000, random));
      sum += total / 500;
      squares += (total / 500) ** 2;
    }
    const mean = sum / lists;
    const error = Math.sqrt((squares / lists - mean * mean) / (lists - 1));
    expect(error).toBeLessThan(0.05);
    expectNormal(mean, 4.05, error, 'looks at a thousand');
  });

  test('no list makes it slow: clustered, exponential, all at one end', () => {
    const m = 2 ** 36;
    const n = 4096;
    const lists = [
      Float64Array.from({ length: n }, (_, i) => i),
      Float64Array.from({ length: n }, (_, i) => m - n + i),
      Float64Array.from({ length: n }, (_, i) => (i < n - 1 ? i : m - 1)),
      Float64Array.from({ length: n }, (_, i) => Math.floor(i + 1.0055 ** i)),
      Float64Array.from({ length: n }, (_, i) => i * i),
      Float64Array.from({ length: n }, (_, i) => (i < n / 2 ? i : m - n + i)),
    ];
    for (const [number, list] of lists.entries()) {
      const words = pack(list, m);
      const present = new Set(list);
      const wrong: number[] = [];
      let most = 0;
      for (const base of list) {
        for (const p of [base - 1, base, base + 1]) {
          if (p < 0 || p >= m) continue;
          most = Math.max(most, looks(list, m, p));
          if (listIncludes(words, 36, n, m, p) !== present.has(p)) wrong.push(p);
        }
      }
      expect(wrong, `list ${number}`).toEqual([]);
      expect(most, `list ${number}`).toBeLessThanOrEqual(INTERPOLATIONS + 1 + 12);
    }
  });
});

test('the twins agree on every list, also on hostile ones', () => {
  const scheme = hashScheme();
  const random = new Random(3);
  const keys = Array.from({ length: 3000 }, (_, i) => `key ${i}`);
  for (const m of [1, 2, 3, 1000, 2 ** 20 + 7, 2 ** 32, 2 ** 36]) {
    const width = positionWidth(m);
    for (const count of [0, 1, 2, 100, 2000]) {
      if (count > m) continue;
      const chosen = new Set<number>();
      // Half of it is what the keys ask for, the rest is crowded at the beginning.
      eachChunk(keys, scheme, (size, wasm) => {
        const hashes = chunkHashes(wasm);
        for (let i = 0; i < size && chosen.size < count / 2; i++) {
          chosen.add(probeIndex(hashes[2 * i], hashes[2 * i + 1], random.below(3), m));
        }
      });
      for (let i = 0; chosen.size < count; i++) chosen.add(i);
      const positions = Float64Array.from(chosen).sort();
      const store = new BitStore(pack(positions, m));
      for (const k of [1, 3]) {
        const wrong: number[] = [];
        let found = 0;
        eachChunk(keys, scheme, (size, wasm) => {
          if (wasm === null) throw new Error('this test needs WebAssembly');
          const address = wasm.admit(store, size, 1e9);
          expect(address).toBeGreaterThan(0);
          listHasChunk(wasm, size, address, width, count, m, k);
          const hashes = chunkHashes(wasm);
          for (let i = 0; i < size; i++) {
            let all = true;
            for (let probe = 0; probe < k && all; probe++) {
              const p = probeIndex(hashes[2 * i], hashes[2 * i + 1], probe, m);
              all = chosen.has(p);
              if (listIncludes(store.words, width, count, m, p) !== all) wrong.push(p);
            }
            if (wasm.results[i] !== (all ? 1 : 0)) wrong.push(i);
            found += wasm.results[i];
          }
        });
        expect(wrong, `m = ${m}, count = ${count}, k = ${k}`).toEqual([]);
        if (count >= 100 && k === 1) expect(found).toBeGreaterThan(0);
      }
    }
  }
});

inBothKernels('a list of positions', () => {
  test('against a Set: thousands of single positions and batches, in any order', () => {
    const random = new Random(4);
    for (const m of [50, 3000, 2 ** 36]) {
      const list = new PositionList(m);
      const model = new Set<number>();
      const draw = () => (m > 1e6 ? 2 ** 35 + random.below(5000) * 1001 : random.below(m));
      for (let step = 0; step < withEffort(4000); step++) {
        const command = random.below(20);
        const position = draw();
        if (command < 8) {
          expect(list.insert(position)).toBe(!model.has(position));
          model.add(position);
        } else if (command === 8) {
          const keys = random.below(40);
          const hashes = Int32Array.from({ length: 2 * keys }, () => random.bits());
          const k = 1 + random.below(3);
          let fresh = 0;
          for (let i = 0; i < keys; i++) {
            const before = model.size;
            for (let j = 0; j < k; j++) model.add(probeIndex(hashes[2 * i], hashes[2 * i + 1], j, m));
            if (model.size > before) fresh++;
          }
          const before = list.settle().freshKeys;
          list.queue(hashes, keys, k);
          expect(list.settle().freshKeys - before).toBe(fresh);
        } else if (command === 9) {
          const other = new PositionList(m);
          const theirs = new Set(Array.from({ length: random.below(60) }, draw));
          for (const p of theirs) other.insert(p);
          list.settle();
          other.settle();
          const both = [...theirs].filter((p) => model.has(p)).sort((a, b) => a - b);
          expect(list.sharedCount(other)).toBe(both.length);
          expect(positionsOf(list.intersection(other))).toEqual(both);
          list.unite(other);
          for (const p of theirs) model.add(p);
        } else {
          expect(list.includes(position)).toBe(model.has(position));
        }
        if (step % 500 === 0) {
          expect(positionsOf(list.settle())).toEqual([...model].sort((a, b) => a - b));
          expect(list.firstUnsound()).toBe(-1);
          expect(list.byteLength).toBe(4 * listWords(model.size, positionWidth(m)));
        }
      }
    }
  });

  test('what waits is never more than the tail allows', () => {
    const list = new PositionList(2 ** 30);
    for (let i = 0; i < 20_000; i++) {
      list.insert((i * 2654435761) % 2 ** 30);
      const waiting = list.byteLength - 4 * listWords(list.count, list.width);
      if (waiting > 8 * 2 * Math.max(64, list.count / 64)) throw new Error(`${waiting} bytes at ${i}`);
    }
  });
});

function positionsOf(list: PositionList): number[] {
  return Array.from({ length: list.count }, (_, i) => readPosition(list.store.words, list.width, i));
}
