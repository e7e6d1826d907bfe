import { withEffort } from '@bloomery/testkit/effort';
import * as files from '@bloomery/testkit/golden/foreign-files';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { errorOf, foreignContract } from '../../test/foreign-contract.ts';
import { type RedisBloomChunk, RedisBloomFilter } from './redisbloom.ts';
import { chunkRecords } from './redisbloom-dump.ts';
import { FormatError } from './shared/format-error.ts';
import { Modulus } from './shared/modulus.ts';
import { preciseLog } from './shared/precise-log.ts';

const { KEYS } = files;

describe('one link', () => {
  foreignContract<string | Uint8Array>({
    name: 'RedisBloom',
    format: 'redisbloom',
    file: files.REDISBLOOM,
    headerLength: 16 + 73 + 16,
    decode: RedisBloomFilter.decode,
    keys: KEYS,
    absent: (i) => `absent-${i}`,
    probe: 'x',
    bitBytes: 11072 / 8,
  });
});

describe('five links', () => {
  foreignContract<string | Uint8Array>({
    name: 'RedisBloom, a chain',
    format: 'redisbloom',
    file: files.REDISBLOOM_CHAIN,
    headerLength: 16 + 20 + 5 * 53 + 16,
    decode: RedisBloomFilter.decode,
    keys: KEYS,
    absent: (i) => `absent-${i}`,
    probe: 'x',
    bitBytes: (448 + 1024 + 2240 + 4928 + 10752) / 8,
    rate: chainRate(files.REDISBLOOM_CHAIN),
  });
});

test.each([
  ['one link', files.REDISBLOOM, { capacity: 1000 }, 1000, 998],
  ['five links', files.REDISBLOOM_CHAIN, { capacity: 40 }, 1000, 985],
  [
    'expansion 3',
    files.REDISBLOOM_EXPANSION_3,
    { capacity: 10, falsePositiveRate: 0.001, expansion: 3 },
    300,
    298,
  ],
])('the same keys give the dump of the server: %s', (_, file, options, count, size) => {
  const filter = RedisBloomFilter.create(options);
  for (const key of KEYS.slice(0, count)) filter.add(key);
  expect(filter.encode()).toEqual(file);
  expect(filter.size).toBe(size); // the others seemed to be there already, as BF.CARD says
  expect(Math.abs(filter.estimatedSize() - size)).toBeLessThan(0.1 * size);
});

test('a filter that does not scale refuses keys when it is full, as the server does', () => {
  const filter = RedisBloomFilter.create({ capacity: 100, nonScaling: true });
  let refused = 0;
  for (const key of KEYS.slice(0, 120)) {
    const error = errorOf(() => filter.add(key));
    if (error === undefined) continue;
    refused++;
    expect((error as Error).message).toBe(
      'Cannot add the key: expected a filter that can grow, got a full one of 100 keys that does not scale',
    );
  }
  expect(filter.encode()).toEqual(files.REDISBLOOM_NONSCALING);
  expect(refused).toBe(19);
  expect(filter.scaling).toBe(false);
  expect(RedisBloomFilter.create({ capacity: 5, expansion: 0 }).scaling).toBe(false);
  expect(RedisBloomFilter.create({ capacity: 5, expansion: 0, nonScaling: false }).scaling).toBe(false);
});

test.each([
  ['powers of two', files.REDISBLOOM_OLD64_EMPTY, files.REDISBLOOM_OLD64, 'murmur64a/c6a4a7935bd1e995'],
  ['and 32-bit hashes', files.REDISBLOOM_OLD32_EMPTY, files.REDISBLOOM_OLD32, 'murmur2/9747b28c'],
  ['32-bit hashes alone', files.REDISBLOOM_NOROUND32_EMPTY, files.REDISBLOOM_NOROUND32, 'murmur2/9747b28c'],
])('filters of old servers are read, and go on growing: %s', (_, empty, full, hash) => {
  const filter = RedisBloomFilter.decode(empty);
  for (const key of KEYS.slice(0, 300)) filter.add(key);
  expect(filter.encode()).toEqual(full);
  expect(filter.hash).toBe(hash);
  expect(KEYS.slice(0, 300).every((key) => filter.has(key))).toBe(true);
});

/** A link of old servers, whose indices range over 2^n2 bits in a word of 64. */
function smallLink(options: number, n2: number, entries: number, bits: number): RedisBloomChunk[] {
  const header = new Uint8Array(73);
  const view = new DataView(header.buffer);
  view.setUint32(8, 1, true);
  view.setUint32(12, options, true);
  view.setUint32(16, 2, true); // expansion
  view.setUint32(20, 8, true);
  view.setUint32(28, 64, true);
  view.setFloat64(44, 0.2, true);
  view.setFloat64(52, -preciseLog(0.2) / 0.480453013918201, true);
  view.setUint32(60, 3, true);
  view.setUint32(64, entries, true);
  view.setUint8(72, n2);
  const data = new Uint8Array(8).fill(bits, 0, 1);
  return [
    { iterator: 1, data: header },
    { iterator: 9, data },
  ];
}

test('links of fewer bits than a word: indices stay below the power of two', () => {
  const full = RedisBloomFilter.fromChunks(smallLink(4, 2, 1, 0b1111));
  expect(KEYS.every((key) => full.has(key))).toBe(true);
  expect([full.estimatedFalsePositiveRate(), full.estimatedSize()]).toEqual([1, Number.POSITIVE_INFINITY]);
  const empty = RedisBloomFilter.fromChunks(smallLink(4, 2, 1, 0));
  empty.add('key-1');
  expect(empty.toChunks()[1].data[0]).toBeGreaterThan(0);
  expect(empty.toChunks()[1].data[0]).toBeLessThan(16);
  const beyond = errorOf(() => RedisBloomFilter.fromChunks(smallLink(4, 2, 1, 0b10000))) as FormatError;
  expect(beyond.message).toMatch(/expected no ones from bit 4 of a link on, got 1/);
});

test('sizes given as a power of two (ENTS_IS_BITS): the next link has entries times expansion as its power', () => {
  const chain = RedisBloomFilter.fromChunks(smallLink(6, 3, 2, 0));
  for (let i = 0; chain.links.length < 2; i++) chain.add(`${i}`);
  // bloom_init: n2 = 2 · 2, entries = trunc(16 / bits per entry of 0.1).
  expect(chain.links[1]).toEqual({ bits: 64, hashes: 4, entries: 3, size: 1, error: 0.1 });
  expect(chain.toChunks()[0].data[20 + 53 + 52]).toBe(4);
  expect(RedisBloomFilter.decode(chain.encode()).equals(chain)).toBe(true);
  const none = errorOf(() => RedisBloomFilter.fromChunks(smallLink(6, 0, 2, 0))) as FormatError;
  expect(none.message).toMatch(/expected n2 of at least 1 with these options, got 0/);
});

test('an expansion of 0 in a chain that scales: full is full', () => {
  const [head, body] = RedisBloomFilter.create({ capacity: 5 }).toChunks();
  head.data[16] = 0;
  const filter = RedisBloomFilter.fromChunks([head, body]);
  for (const key of KEYS.slice(0, 5)) expect(filter.add(key)).toBe(true);
  const before = filter.encode();
  expect(() => filter.add('key-6')).toThrow(
    'Cannot add the key: expected a filter that can grow, got a full one with an expansion of 0',
  );
  expect(filter.encode()).toEqual(before);
});

test('chunks: at most 16 MiB, never over the end of a link, with iterators that say where they belong', () => {
  const filter = RedisBloomFilter.create({ capacity: 20_000_000, falsePositiveRate: 0.001 });
  filter.add('a');
  const chunks = filter.toChunks();
  expect(chunks.map(({ data }) => data.length)).toEqual([73, 2 ** 24, 2 ** 24, filter.byteLength - 2 ** 25]);
  expect(chunks.map(({ iterator }) => iterator)).toEqual([
    1,
    1 + 2 ** 24,
    1 + 2 ** 25,
    1 + filter.byteLength,
  ]);
  // As a server answers: the last iterator is 0.
  const again = RedisBloomFilter.fromChunks([...chunks, { iterator: 0, data: new Uint8Array(0) }]);
  expect(again.equals(filter)).toBe(true);
  expect(again.has('a')).toBe(true);
});

test('chunks that do not make a filter', () => {
  const chunks = RedisBloomFilter.decode(files.REDISBLOOM_CHAIN).toChunks();
  expect(chunks).toHaveLength(6);
  const code = (list: readonly RedisBloomChunk[]) =>
    (errorOf(() => RedisBloomFilter.fromChunks(list)) as FormatError).code;
  expect(code([])).toBe('truncated');
  expect(code(chunks.slice(1))).toBe('payload'); // no header
  expect(code(chunks.slice(0, 5))).toBe('truncated');
  expect(code([...chunks, chunks[5]])).toBe('trailing');
  expect(code([...chunks, { iterator: 5000, data: new Uint8Array(0) }])).toBe('trailing');
  expect(code([chunks[0], chunks[2], chunks[1], ...chunks.slice(3)])).toBe('payload');
  const joined = Uint8Array.of(...chunks[1].data, ...chunks[2].data); // over the end of a link
  expect(code([chunks[0], { iterator: chunks[2].iterator, data: joined }, ...chunks.slice(3)])).toBe(
    'payload',
  );
  expect(code([chunks[0], { ...chunks[1], iterator: 5 }, ...chunks.slice(2)])).toBe('payload');
  expect(code([chunks[0], { iterator: 1, data: new Uint8Array(0) }, ...chunks.slice(1)])).toBe('payload');
  expect(
    code(chunks.map((chunk, i) => (i === 0 ? { ...chunk, data: chunk.data.subarray(1) } : chunk))),
  ).toMatch(/truncated|parameters/);
});

test('chunks that a client decoded as text are refused, not loaded as zeros', () => {
  const chunks = RedisBloomFilter.decode(files.REDISBLOOM).toChunks();
  const text = String.fromCharCode(...chunks[1].data);
  const wrong = (chunk: object) => () => RedisBloomFilter.fromChunks([chunks[0], chunk as never]);
  expect(wrong({ iterator: chunks[1].iterator, data: text })).toThrow(TypeError);
  expect(wrong({ iterator: chunks[1].iterator, data: text })).toThrow(
    /Uint8Array as data, got number and string/,
  );
  expect(wrong({ iterator: chunks[1].iterator, data: [...chunks[1].data] })).toThrow(TypeError);
  expect(wrong({ iterator: String(chunks[1].iterator), data: chunks[1].data })).toThrow(
    /got string and object/,
  );
});

test('a file of chunks: empty ones are refused at once, but for the last answer of a server', () => {
  expect(() => [...chunkRecords(new Uint8Array(64))]).toThrow(
    /expected a chunk of at least 1 byte, got 0 \(at byte 8\)/,
  );
  const file = files.REDISBLOOM;
  const ended = new Uint8Array(file.length + 16);
  ended.set(file);
  expect(RedisBloomFilter.decode(ended).encode()).toEqual(file);
  ended[file.length] = 1; // iterator 1, nothing
  expect((errorOf(() => RedisBloomFilter.decode(ended)) as FormatError).code).toBe('payload');
  const twice = new Uint8Array(file.length + 32);
  twice.set(file);
  expect((errorOf(() => RedisBloomFilter.decode(twice)) as FormatError).code).toBe('payload');
});

test('a chain ends where the error of its next link would be 0', () => {
  // Every key opens a link, of half the error. A chain that began just below 1 would have 1075
  // links.
  const chain = RedisBloomFilter.create({ capacity: 1, falsePositiveRate: 2 ** -1050, expansion: 1 });
  let full: unknown;
  for (let i = 0; full === undefined; i++) full = errorOf(() => chain.add(`${i}`));
  expect(full).toBeInstanceOf(RangeError);
  expect((full as Error).message).toBe(
    'Cannot add the key: expected a filter that can grow, got a full one whose next link would have an error of 0',
  );
  expect(chain.links.length).toBe(24); // 2^-1051 to 2^-1074
  expect(RedisBloomFilter.decode(chain.encode()).equals(chain)).toBe(true);
  const [head, ...body] = chain.toChunks();
  const many = (count: number) => {
    const data = new Uint8Array(20 + 53 * count);
    for (let i = 0; i < count; i++) data.set(head.data.subarray(20, 73), 20 + 53 * i);
    const view = new DataView(data.buffer);
    view.setUint32(0, count, true); // a key in each
    view.setUint32(8, count, true);
    view.setUint32(12, 5, true);
    return errorOf(() => RedisBloomFilter.fromChunks([{ iterator: 1, data }, ...body])) as FormatError;
  };
  expect(many(1075).message).toMatch(/chunks of 206400 bytes in all/);
  expect(many(1076).message).toMatch(/expected 1 to 1075 links, got 1076 \(at byte 8\)/);
  expect(() => RedisBloomFilter.create({ capacity: 1, falsePositiveRate: Number.MIN_VALUE })).toThrow(
    /Cannot use falsePositiveRate: expected a number from 1e-323/,
  );
});

test('what the server’s loader checks', () => {
  const header = RedisBloomFilter.decode(files.REDISBLOOM).toChunks();
  const changed = (at: number, value: number) => {
    const data = Uint8Array.from(header[0].data);
    data[at] = value;
    return errorOf(() =>
      RedisBloomFilter.fromChunks([{ iterator: 1, data }, ...header.slice(1)]),
    ) as FormatError;
  };
  expect(changed(0, 5).message).toMatch(/expected 998 keys, the sum of the links, got/);
  expect(changed(8, 0).message).toMatch(/1 to 1075 links, got 0/);
  expect(changed(12, 16).message).toMatch(/options from 0 to 15, got 16/);
  expect(changed(20, 0).message).toMatch(/bits, got 11072/); // bits ≠ 8 bytes
  expect(changed(51, 0xbf).message).toMatch(/an error rate between 0 and 1/);
  expect(changed(60, 9).message).toMatch(/hashes of 11\.0277.* bits per entry, 1 to 32767, got 9/);
  expect(changed(72, 64).message).toMatch(/a power of two that makes 11072 bits, got 2\^64/);
  for (const at of [0, 8, 12, 20, 51, 60, 72]) expect(changed(at, 255)).toBeInstanceOf(FormatError);
});

test('union: same links only; sizes are added up', () => {
  const make = (from: number, capacity = 300) => {
    const filter = RedisBloomFilter.create({ capacity });
    for (const key of KEYS.slice(from, from + 100)) filter.add(key);
    return filter;
  };
  const both = make(0).union(make(100));
  expect(KEYS.slice(0, 200).every((key) => both.has(key))).toBe(true);
  expect(both.size).toBe(make(0).size + make(100).size);
  expect(RedisBloomFilter.decode(both.encode()).equals(both)).toBe(true);
  expect(make(0).equals(make(0))).toBe(true);
  expect(make(0).equals(make(0).merge(make(0)))).toBe(false); // the same bits, twice the size
  expect(() => make(0).merge(make(0, 400))).toThrow(
    /Cannot merge unlike filters: RedisBloomFilter\(3328 bits/,
  );
});

test('small links have more false positives than their fill says', () => {
  const chain = RedisBloomFilter.decode(files.REDISBLOOM_CHAIN);
  // 0.0096 is rounded to four digits, so it is wrong by up to half of the last one.
  expect(chain.estimatedFalsePositiveRate()).toBeCloseTo(0.0096, 4);
  expect(chainRate(files.REDISBLOOM_CHAIN)).toBe(0.013246);
});

/**
 * The rate of a chain with small links, by half a million random hashes. Double hashing gives few
 * different sets of bits in an array of some hundred, so the rate is above fill^k.
 */
function chainRate(file: Uint8Array): number {
  const chain = RedisBloomFilter.decode(file);
  const chunks = chain.toChunks().slice(1);
  const links = chain.links.map(({ bits, hashes }, i) => ({
    hashes,
    range: new Modulus(bits),
    data: chunks[i].data,
  }));
  const random = new Random(77);
  const draws = 500_000;
  let hits = 0;
  for (let draw = 0; draw < draws; draw++) {
    const [low, high, stepLow, stepHigh] = [random.bits(), random.bits(), random.bits(), random.bits()];
    const maybe = links.some(({ hashes, range, data }) => {
      let [l, h] = [low >>> 0, high >>> 0];
      for (let i = 0; i < hashes; i++) {
        const index = range.of(h, l);
        if (((data[index >> 3] >> (index & 7)) & 1) === 0) return false;
        const sum = l + (stepLow >>> 0);
        l = sum >>> 0;
        h = (h + stepHigh + (sum >= 2 ** 32 ? 1 : 0)) >>> 0;
      }
      return true;
    });
    if (maybe) hits++;
  }
  return hits / draws;
}

test('options that make no sense', () => {
  const create = (options: object) => () => RedisBloomFilter.create({ capacity: 10, ...options });
  expect(create({ capacity: 0 })).toThrow(
    /Cannot use capacity: expected an integer from 1 to 1073741824, got 0/,
  );
  expect(create({ falsePositiveRate: 0.3 })).toThrow(
    /Cannot use falsePositiveRate: expected a number from .* to 0.25, got 0.3/,
  );
  expect(create({ expansion: 40_000 })).toThrow(/Cannot use expansion: expected an integer from 0 to 32768/);
  expect(create({ error: 1 })).toThrow(/got option 'error'/);
  expect(() => create({})().has(5 as never)).toThrow(
    'Cannot use the key: expected a string or a Uint8Array, got 5',
  );
});

test('a chain against a model: every key that was added is in, whatever the growth', () => {
  const random = new Random(3);
  for (let round = 0; round < withEffort(20); round++) {
    const filter = RedisBloomFilter.create({
      capacity: 1 + random.below(30),
      falsePositiveRate: random.pick([0.2, 0.05, 0.001]),
      expansion: 1 + random.below(4),
    });
    const model = new Set<string>();
    let added = 0;
    for (let i = 0; i < 300; i++) {
      const key = `${random.below(400)}`;
      if (filter.add(key)) {
        added++;
        expect(model.has(key)).toBe(false);
      }
      model.add(key);
    }
    expect([...model].every((key) => filter.has(key))).toBe(true);
    expect(filter.size).toBe(added);
    expect(RedisBloomFilter.decode(filter.encode()).encode()).toEqual(filter.encode());
  }
});

test('the logarithm is the correctly rounded one', () => {
  // Where V8's Math.log is off by one unit in the last place: 0.01 / 2^5, which a fifth link has.
  // 30 digits of it:
  // -8.07090608878781789430546180494
  expect(preciseLog(0.0003125)).toBe(-8.070906088787817);
  expect(preciseLog(1)).toBe(0);
  // Beside 1, by its series: x - x^2 / 2, and no more of it in 53 bits.
  expect(preciseLog(1 + 2 ** -40)).toBe(2 ** -40 - 2 ** -81);
  expect(preciseLog(1 - 2 ** -40)).toBe(-(2 ** -40) - 2 ** -81);
  expect(preciseLog(2)).toBe(Math.LN2);
  expect(preciseLog(10)).toBe(Math.LN10);
  expect(preciseLog(Number.MIN_VALUE)).toBe(-744.4400719213812);
  expect(preciseLog(Number.MAX_VALUE)).toBe(709.782712893384);
  for (let i = 1; i < 2000; i++) {
    const x = i / 997;
    expect(Math.abs(preciseLog(x) - Math.log(x))).toBeLessThanOrEqual(
      2 ** -52 * Math.max(1, Math.abs(Math.log(x))),
    );
  }
  expect(() => preciseLog(0)).toThrow(RangeError);
});

describe('unite', () => {
  const filled = (options: Parameters<typeof RedisBloomFilter.create>[0], prefix: string, count: number) => {
    const filter = RedisBloomFilter.create(options);
    for (let i = 0; i < count; i++) filter.add(`${prefix}${i}`);
    return filter;
  };
  const allIn = (filter: RedisBloomFilter, prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => filter.has(`${prefix}${i}`)).every((found) => found);

  test('merges links that have room for both, as merge does', () => {
    const options = { capacity: 1000, falsePositiveRate: 0.01 };
    const one = filled(options, 'a', 400);
    const other = filled(options, 'b', 500);
    const merged = one.union(other);
    expect(one.copy().unite(other).equals(merged)).toBe(true);
    expect(other.size).toBeLessThanOrEqual(500);
  });

  test('appends links that differ or are full, and keeps the sum of the rates', () => {
    const one = filled({ capacity: 500, falsePositiveRate: 0.01 }, 'a', 1500);
    const other = filled({ capacity: 700, falsePositiveRate: 0.01, nonScaling: true }, 'b', 700);
    const links = one.links.length;
    const size = one.size + other.size;
    one.unite(other);
    expect(one.links).toHaveLength(links + 1);
    expect(one.size).toBe(size);
    expect(allIn(one, 'a', 1500) && allIn(one, 'b', 700)).toBe(true);
    expect(other.links).toHaveLength(1);
    const trials = withEffort(20_000, 10);
    let wrong = 0;
    for (let i = 0; i < trials; i++) if (one.has(`absent${i}`)) wrong++;
    expect(wrong).toBeLessThan(0.02 * trials + 5 * Math.sqrt(0.02 * trials));
    // It goes on growing, and survives a dump.
    for (let i = 0; i < 3000; i++) one.add(`c${i}`);
    const back = RedisBloomFilter.fromChunks(one.toChunks());
    expect(back.equals(one)).toBe(true);
    expect(allIn(back, 'c', 3000)).toBe(true);
  });

  test('full twins are not merged, because their rates would not hold', () => {
    const options = { capacity: 1000, falsePositiveRate: 0.01, nonScaling: true };
    const one = filled(options, 'a', 1000);
    const other = filled(options, 'b', 1000);
    expect(one.union(other).estimatedFalsePositiveRate()).toBeGreaterThan(0.1);
    const united = one.copy().unite(other);
    expect(united.links).toHaveLength(2);
    expect(united.estimatedFalsePositiveRate()).toBeLessThan(0.025);
    expect(allIn(united, 'a', 990) && allIn(united, 'b', 990)).toBe(true);
  });

  test('refuses another hash', () => {
    const old = RedisBloomFilter.decode(files.REDISBLOOM);
    expect(() => old.unite({} as RedisBloomFilter)).toThrow(/Cannot unite unlike filters/);
  });
});
