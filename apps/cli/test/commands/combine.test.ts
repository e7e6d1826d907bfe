import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SecretKey,
  StaticFilter,
} from 'bloomery';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GuavaFilter } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { compressFrame } from 'bloomery/wire';
import { describe, expect, it } from 'vitest';
import { bloom, keys, Scratch } from '../conversion-scratch.ts';

const scratch = new Scratch();
const a = bloom(0, 4000);
const b = bloom(3000, 7000);
scratch.put('a.blm', a);
scratch.put('b.blm', b);
scratch.put('c.blm', bloom(7000, 9000));
scratch.put('words.txt', 'apple\npear\n');
scratch.put('static.blm', StaticFilter.from(keys(0, 100)));

describe('union', () => {
  it('is, byte for byte, the filter of all keys', async () => {
    const { code, stdout, stderr } = scratch.run(['union', 'a.blm', 'b.blm', 'c.blm', '-o', 'week.blm']);
    expect([code, stdout, stderr]).toEqual([0, '', '']);
    expect(scratch.get('week.blm')).toEqual(bloom(0, 9000).encode());
  });

  it('reads standard input, writes standard output, and takes coded files', async () => {
    scratch.put('b.blmz', compressFrame(b.encode()));
    const { code, bytes } = scratch.run(['union', '-', 'b.blmz', '-o', '-'], a.encode());
    expect(code).toBe(0);
    expect(bytes).toEqual(a.union(b).encode());
  });

  it('reports in JSON', async () => {
    const report = JSON.parse(await scratch.ok('union a.blm b.blm -o json.blm --json'));
    expect(report).toMatchObject({
      output: 'json.blm',
      files: 2,
      format: 'bloomery',
      capacity: 10_000,
      overfull: false,
    });
    expect(report.bytes).toBe(scratch.get('json.blm').length);
    // The same formulas on the same bits, so the difference is rounding, below 5e-10 and 5e-13.
    expect(report.estimatedSize).toBeCloseTo(a.union(b).estimatedSize(), 9);
    expect(report.estimatedFalsePositiveRate).toBeCloseTo(a.union(b).estimatedFalsePositiveRate(), 12);
  });

  it('warns when the result is fuller than its capacity, and not at its capacity', async () => {
    scratch.put('full.blm', bloom(0, 10_000));
    scratch.put('more.blm', bloom(8000, 16_000));
    const [at, over] = await scratch.lines([
      'union full.blm a.blm -o at.blm',
      'union full.blm more.blm -o over.blm',
    ]);
    expect(at.stderr).toBe('');
    expect(over.code).toBe(0);
    expect(over.stderr).toMatch(
      /^bloomery: warning: over\.blm holds about 1[56],\d{3} keys and was made for 10,000: the false positive rate is [67]\.\d+ % now\n$/,
    );
  });

  const structures: Record<string, () => { encode(): Uint8Array; merge(other: never): unknown }> = {
    blocked: () => BlockedBloomFilter.forCapacity({ capacity: 500, falsePositiveRate: 0.01 }),
    counting: () => CountingBloomFilter.forCapacity({ capacity: 500, falsePositiveRate: 0.01 }),
    'count-min': () => CountMinSketch.forError({ epsilon: 0.01, delta: 0.01 }),
    'hash-list': () => HashList.forCapacity({ capacity: 500, falsePositiveRate: 0.01 }),
    rotating: () => new RotatingBloomFilter({ generations: 3, capacity: 500, falsePositiveRate: 0.01 }),
    attenuated: () =>
      AttenuatedBloomFilter.forCapacity({ levels: 2, capacity: 500, falsePositiveRate: 0.01 }),
  };
  it('merges every structure that the library can merge', async () => {
    const lines: string[] = [];
    for (const [name, make] of Object.entries(structures)) {
      for (const [file, from] of [
        ['one', 0],
        ['two', 200],
      ] as const) {
        const filter = make() as unknown as { addMany(batch: string[]): void; encode(): Uint8Array };
        filter.addMany(keys(from, from + 300));
        scratch.put(`${name}-${file}`, filter);
      }
      lines.push(`union ${name}-one ${name}-two -o ${name}-both`);
    }
    for (const { code, stderr } of await scratch.lines(lines)) expect([code, stderr]).toEqual([0, '']);
    for (const [name, make] of Object.entries(structures)) {
      const all = make() as unknown as { addMany(batch: string[]): void; encode(): Uint8Array };
      all.addMany(keys(0, 300));
      all.addMany(keys(200, 500));
      expect(scratch.get(`${name}-both`), name).toEqual(all.encode());
    }
  });

  it('unites files of other systems in their own format, gzip with gzip', async () => {
    const guava = (from: number) => {
      const filter = GuavaFilter.create({ capacity: 500, falsePositiveRate: 0.01, funnel: 'utf8' });
      for (const key of keys(from, from + 300)) filter.add(key);
      return filter;
    };
    const dcso = (from: number) => {
      const filter = DcsoFilter.create({ capacity: 500, falsePositiveRate: 0.01 });
      for (const key of keys(from, from + 300)) filter.add(key);
      return filter;
    };
    scratch.put('1.guava', guava(0));
    scratch.put('2.guava', guava(200));
    scratch.put('1.bloom.gz', await dcso(0).encodeGzip());
    scratch.put('2.bloom', dcso(200));
    const [java, gzip] = await scratch.lines([
      'union 1.guava 2.guava -o both.guava',
      'union 1.bloom.gz 2.bloom -o both.bloom.gz',
    ]);
    expect([java.code, gzip.code]).toEqual([0, 0]);
    expect(scratch.get('both.guava')).toEqual(guava(0).union(guava(200)).encode());
    expect(scratch.get('both.bloom.gz')[0]).toBe(0x1f);
    const read = await DcsoFilter.decodeMaybeGzip(scratch.get('both.bloom.gz'));
    expect(read.equals(dcso(0).union(dcso(200)))).toBe(true);
  });

  it('appends links of Redis that have no room for both, instead of overfilling them', async () => {
    const chain = RedisBloomFilter.create({ capacity: 300 });
    for (const key of keys(0, 250)) chain.add(key);
    scratch.put('1.redis', chain);
    const { stderr, code } = await scratch.line('union 1.redis 1.redis -o both.redis');
    expect([code, stderr]).toEqual([0, '']);
    const both = RedisBloomFilter.decode(scratch.get('both.redis'));
    expect(both.links).toHaveLength(2);
    expect(both.estimatedFalsePositiveRate()).toBeLessThan(0.01);
  });

  it('takes keyed filters with their key', async () => {
    const key = new SecretKey(new Uint8Array(16).fill(7));
    scratch.put('secret', new Uint8Array(16).fill(7));
    const make = (from: number) => {
      const filter = BloomFilter.forCapacity({ capacity: 500, falsePositiveRate: 0.01, key });
      filter.addMany(keys(from, from + 100));
      return filter;
    };
    scratch.put('k1.blm', make(0));
    scratch.put('k2.blm', make(50));
    const [without, given] = await scratch.lines([
      'union k1.blm k2.blm -o k.blm',
      'union k1.blm k2.blm -o k.blm --key-file secret',
    ]);
    expect(without.code).toBe(2);
    expect(without.stderr).toMatch(/k1\.blm.*--key-file/);
    expect(given.code).toBe(0);
    expect(scratch.get('k.blm')).toEqual(make(0).union(make(50)).encode());
  });
});

describe('intersect', () => {
  it('writes the AND of the bits, which says "maybe" to all common keys', async () => {
    await scratch.ok('intersect a.blm b.blm -o common.blm');
    expect(scratch.get('common.blm')).toEqual(a.intersection(b).encode());
    const common = BloomFilter.decode(scratch.get('common.blm'));
    expect(common.hasMany(keys(3000, 4000)).every((answer) => answer === 1)).toBe(true);
  });

  it('works for Parquet filters', async () => {
    const make = (from: number) => {
      const filter = ParquetFilter.create({ capacity: 500 });
      for (const key of keys(from, from + 300)) filter.add(key);
      return filter;
    };
    scratch.put('1.parquet', make(0));
    scratch.put('2.parquet', make(200));
    await scratch.ok('intersect 1.parquet 2.parquet -o common.parquet');
    const common = ParquetFilter.decode(scratch.get('common.parquet'));
    expect(common.filter.equals(make(0).filter.intersection(make(200).filter))).toBe(true);
  });

  it('says in its help that it is not the filter of the intersection', async () => {
    const { stdout } = await scratch.line('intersect --help');
    expect(stdout).toMatch(/It is not the filter of the common keys/);
    expect(stdout).toMatch(/more false positives/);
  });
});

describe('what cannot be combined', () => {
  scratch.put('seed.blm', bloom(0, 10, { seed: 7 }));
  scratch.put('xxh64.blm', bloom(0, 10, { hash: 'xxh64' }));
  scratch.put('half.blm', a.halve());
  const counting = new CountingBloomFilter({ counters: a.bits, hashes: a.hashes });
  scratch.put('counting.blm', counting);
  scratch.put('grown.blm', new ScalableBloomFilter({ falsePositiveRate: 0.01 }));
  scratch.put('g.guava', GuavaFilter.create({ capacity: 10, funnel: 'utf8' }));
  scratch.put('cut.blm', a.encode().subarray(0, 1000));
  scratch.put('flipped.blm', a.encode().with(500, a.encode()[500] ^ 1));
  scratch.put('empty.blm', '');
  const cases: [line: string, message: RegExp][] = [
    ['union a.blm xxh64.blm -o x', /classic, forge64\/0\) and BloomFilter\(.*classic, xxh64\/0\)/],
    [
      'union a.blm seed.blm -o x',
      /cannot unite a\.blm and seed\.blm: BloomFilter\(95936 bits, 7 hashes, classic, forge64\/0\) and BloomFilter\(95936 bits, 7 hashes, classic, forge64\/7\).*same structure, size, hashes and seed/,
    ],
    [
      'intersect a.blm half.blm -o x',
      /cannot intersect.*95936 bits.*47968 bits.*bloomery halve a\.blm --times 1/,
    ],
    ['union half.blm a.blm -o x', /bloomery halve a\.blm --times 1/],
    [
      'union a.blm counting.blm -o x',
      /BloomFilter\(.*CountingBloomFilter\(.*bloomery convert counting\.blm --to bloom/,
    ],
    ['union static.blm static.blm -o x', /StaticFilter is built from all its keys at once/],
    ['union grown.blm grown.blm -o x', /rates of their stages would add up/],
    ['intersect g.guava g.guava -o x', /no intersection of guava filters/],
    ['intersect grown.blm grown.blm -o x', /no intersection of ScalableBloomFilter/],
    ['union a.blm g.guava -o x', /different formats set different bits/],
    ['union a.blm -o x', /two or more filters, got 1/],
    ['union a.blm . -o x', /\. is a directory/],
    ['union a.blm missing.blm -o x', /missing\.blm: no such file/],
    ['union a.blm words.txt -o x', /words\.txt is not a filter/],
    ['union a.blm cut.blm -o x', /cut\.blm: the file is cut off/],
    ['union a.blm flipped.blm -o x', /flipped\.blm: the file was damaged/],
    ['union a.blm empty.blm -o x', /empty\.blm is empty/],
    ['union a.blm b.blm -o a.blm', /a\.blm exists already; --force/],
    ['union a.blm b.blm -o nowhere/x', /no directory nowhere/],
    ['union a.blm b.blm -o - --json', /--json and -o - both want standard output/],
    ['union - - -o x', /only one of the files/],
  ];
  it.each(cases)('%s', async (line, message) => {
    const outcome = await scratch.line(line);
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect([outcome.code, outcome.stdout]).toEqual([2, '']);
  });
  it('writes nothing', () => {
    expect(scratch.has('x')).toBe(false);
    expect(scratch.names().filter((name) => name.endsWith('tmp'))).toEqual([]);
    expect(scratch.get('a.blm')).toEqual(a.encode());
  });
  it('replaces an input with --force', async () => {
    scratch.put('own.blm', a);
    await scratch.ok('union own.blm b.blm -o own.blm --force');
    expect(scratch.get('own.blm')).toEqual(a.union(b).encode());
  });
});
