import { execFileSync } from 'node:child_process';
import { gunzipSync, gzipSync } from 'node:zlib';
import {
  DATASKETCHES,
  FUSE8_C,
  FUSE8_GO,
  GO_BINARY,
  GO_JSON,
  GUAVA_UTF8,
  GUAVA_UTF16,
  KEYS,
  SPARK_V2,
} from '@bloomery/testkit/golden/foreign-files';
import { expectBinomial } from '@bloomery/testkit/statistics';
import {
  BlockedBloomFilter,
  BloomFilter,
  CountingBloomFilter,
  HashList,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';
import { BinaryFuseFile } from 'bloomery/formats/binary-fuse';
import { DataSketchesFilter } from 'bloomery/formats/datasketches';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { GuavaFilter } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { SparkFilter } from 'bloomery/formats/spark';
import { SquidDigest } from 'bloomery/formats/squid';
import { compressFrame } from 'bloomery/wire';
import { describe, expect, it } from 'vitest';
import { bloom, keys, Scratch } from '../conversion-scratch.ts';

const scratch = new Scratch();
const plain = bloom(0, 1000);
scratch.put('plain.blm', plain);
scratch.put('keys.txt', `${keys(0, 1000).join('\n')}\n`);
scratch.put('golden.txt', `${KEYS.join('\n')}\n`);
scratch.put('words.guava', GUAVA_UTF8);

describe('bridges: the bits stay', () => {
  const counting = CountingBloomFilter.forCapacity({ capacity: 500, falsePositiveRate: 0.01 });
  counting.addMany(keys(0, 300));
  const spectral = SpectralBloomFilter.forCapacity({ capacity: 500, falsePositiveRate: 0.01 });
  spectral.addMany(keys(0, 300));
  const rotating = new RotatingBloomFilter({ generations: 2, capacity: 500, falsePositiveRate: 0.01 });
  rotating.addMany(keys(0, 300));
  const list = HashList.forCapacity({ capacity: 500, falsePositiveRate: 0.01, hashes: 3 });
  list.addMany(keys(0, 300));
  const split = new BlockedBloomFilter({ blocks: 32, layout: 'split-block' });
  split.addMany(keys(0, 300));
  const parquet = new ParquetFilter(split);
  const dcso = DcsoFilter.create({ capacity: 500, falsePositiveRate: 0.01, data: Uint8Array.of(1, 2, 3) });
  for (const key of keys(0, 300)) dcso.add(key);
  const partitioned = new BloomFilter({ bits: 3000, hashes: 6, layout: 'partitioned' });
  partitioned.addMany(keys(0, 300));

  const fixed = StaticFilter.from(keys(0, 500));

  const cases: [from: string, file: Uint8Array, to: string, expected: Uint8Array][] = [
    ['coded', compressFrame(plain.encode()), 'bloomery', plain.encode()],
    ['bloom', plain.encode(), 'coded', compressFrame(plain.encode())],
    ['counting', counting.encode(), 'bloom', counting.snapshot().encode()],
    ['coded counting', compressFrame(counting.encode()), 'counting', counting.encode()],
    ['static', fixed.encode(), 'coded', compressFrame(fixed.encode())],
    ['spectral', spectral.encode(), 'bloom', spectral.toBloomFilter().encode()],
    ['rotating', rotating.encode(), 'bloom', rotating.flattened().encode()],
    ['hash list', list.encode(), 'bloom', list.toFilter().encode()],
    ['bloom', plain.encode(), 'hash-list', HashList.fromFilter(plain).encode()],
    ['counting', counting.encode(), 'hash-list', HashList.fromFilter(counting.snapshot()).encode()],
    ['partitioned', partitioned.encode(), 'bloom', partitioned.encode()],
    ['parquet', parquet.encode(), 'bloomery', split.encode()],
    ['parquet', parquet.encode(), 'split-block', split.encode()],
    ['split blocks', split.encode(), 'parquet', parquet.encode()],
    ['coded split blocks', compressFrame(split.encode()), 'parquet', parquet.encode()],
    ['dcso in gzip', gzipSync(dcso.encode()), 'dcso', dcso.encode()],
    ['go binary', GO_BINARY, 'go-bloom-json', GO_JSON],
    ['go JSON', GO_JSON, 'go-bloom', GO_BINARY],
    ['guava', GUAVA_UTF8, 'guava', GUAVA_UTF8],
    ['spark', SPARK_V2, 'spark', SPARK_V2],
    ['datasketches', DATASKETCHES, 'datasketches', DATASKETCHES],
  ];
  it.each(cases)('%s to %s', async (from, file, to, expected) => {
    scratch.put('from', file);
    const report = JSON.parse(await scratch.ok(`convert from --to ${to} -o to --force --json`));
    expect(report, from).toMatchObject({ to, bitsKept: true, bytes: expected.length });
    expect(scratch.get('to')).toEqual(expected);
  });

  it('dcso to gzip', async () => {
    scratch.put('dcso', dcso);
    await scratch.ok('convert dcso --to dcso-gzip -o dcso.gz');
    expect(Uint8Array.from(gunzipSync(scratch.get('dcso.gz')))).toEqual(dcso.encode());
  });

  it('warns of sizes that readers of Parquet refuse', async () => {
    scratch.put('odd.blm', new BlockedBloomFilter({ blocks: 33, layout: 'split-block' }));
    const { code, stderr } = await scratch.line('convert odd.blm --to parquet -o odd.parquet');
    expect(code).toBe(0);
    expect(stderr).toMatch(/33 blocks are no power of two/);
  });
});

describe('--keys: built again', () => {
  it('makes the files that the programs of the formats make of these keys', async () => {
    // The golden Guava file is of version 31; its k, 7, is the one of the new formula too.
    await scratch.ok('convert plain.blm --to guava --keys golden.txt -N 1000 -r 1% -o made.guava');
    expect(scratch.get('made.guava')).toEqual(GUAVA_UTF8);
    await scratch.ok(
      'convert plain.blm --to guava --funnel utf16 --keys golden.txt -N 1000 -r 1% -o made.utf16',
    );
    expect(scratch.get('made.utf16')).toEqual(GUAVA_UTF16);
    await scratch.ok('convert words.guava --to go-bloom --keys golden.txt -N 1000 -r 1% -o made.go');
    expect(scratch.get('made.go')).toEqual(GO_BINARY);
    await scratch.ok('convert words.guava --to go-bloom-json --keys golden.txt -N 1000 -r 1% -o made.json');
    expect(scratch.get('made.json')).toEqual(GO_JSON);
    await scratch.ok('convert words.guava --to spark --keys golden.txt -N 1000 -r 1% -o made.spark');
    expect(scratch.get('made.spark')).toEqual(SPARK_V2);
    await scratch.ok('convert words.guava --to datasketches --keys golden.txt -N 1000 -r 1% -o made.sk');
    expect(scratch.get('made.sk')).toEqual(DATASKETCHES);
  });

  it("makes FastFilter's files of integers, as wide as the rate needs", async () => {
    const integers = Array.from({ length: 1000 }, (_, i) => 1_000_003 * i + 7);
    scratch.put('integers.txt', `${integers.join('\n')}\n`);
    const old = BloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
    old.addMany(integers.map(String));
    scratch.put('integers.blm', old);
    await scratch.ok('convert integers.blm --to binary-fuse --keys integers.txt -o made.fuse');
    expect(scratch.get('made.fuse')).toEqual(FUSE8_GO);
    await scratch.ok('convert integers.blm --to binary-fuse-c --keys integers.txt -o made-c.fuse');
    expect(scratch.get('made-c.fuse')).toEqual(FUSE8_C);
    await scratch.ok('convert integers.blm --to binary-fuse --keys integers.txt -r 1e-6 -o wide.fuse');
    expect(BinaryFuseFile.decode(scratch.get('wide.fuse')).fingerprintBits).toBe(32);
  });

  it("makes a file that DCSO's bloom reads", async () => {
    await scratch.ok('convert plain.blm --to dcso --keys keys.txt -o made.bloom');
    const found = execFileSync('bloom', ['check', scratch.path('made.bloom')], {
      input: 'key-1\nkey-999\nno-such-key\n',
    });
    expect(found.toString()).toBe('key-1\nkey-999\n');
  });

  it('keeps capacity, rate and seed of a filter of bloomery', async () => {
    const seeded = BloomFilter.forCapacity({ capacity: 2000, falsePositiveRate: 0.001, seed: 77 });
    seeded.addMany(keys(0, 1000));
    scratch.put('seeded.blm', seeded);
    const report = JSON.parse(
      await scratch.ok('convert seeded.blm --to blocked --keys keys.txt -o b.blm --json'),
    );
    expect(report).toMatchObject({ bitsKept: false, keys: 1000, keysNotInInput: 0, capacity: 2000 });
    expect(report.falsePositiveRate).toBeGreaterThan(0.00099);
    expect(report.falsePositiveRate).toBeLessThanOrEqual(0.001);
    const made = BlockedBloomFilter.decode(scratch.get('b.blm'));
    expect([made.capacity, made.scheme.id]).toEqual([2000, seeded.scheme.id]);
    expect(made.hasMany(keys(0, 1000)).includes(0)).toBe(false);
  });

  it('knows what chains, growing and static filters were made for', async () => {
    const scalable = new ScalableBloomFilter({ falsePositiveRate: 0.002, initialCapacity: 600 });
    scalable.addMany(keys(0, 1000));
    const chain = RedisBloomFilter.create({ capacity: 600, falsePositiveRate: 0.02 });
    for (const key of keys(0, 1000)) chain.add(key);
    const capacity = (parts: readonly { capacity: number }[]) =>
      parts.reduce((sum, part) => sum + part.capacity, 0);
    const cases: [file: { encode(): Uint8Array }, capacity: number, rate: number][] = [
      [scalable, capacity(scalable.stages), 0.002],
      [chain, 600 + 1200, 0.02],
      [RedisBloomFilter.create({ capacity: 70, falsePositiveRate: 0.02, nonScaling: true }), 70, 0.02],
      [StaticFilter.from(keys(0, 1000), { fingerprintBits: 10 }), 1000, 2 ** -10],
      [DcsoFilter.create({ capacity: 1234, falsePositiveRate: 0.003 }), 1234, 0.003],
    ];
    for (const [file, expected, falsePositiveRate] of cases) {
      scratch.put('made-for', file);
      const { stdout } = await scratch.line(
        'convert made-for --to bloom --keys keys.txt --force -o made.blm --json',
      );
      const report = JSON.parse(stdout);
      expect(report.capacity, String(file)).toBe(expected);
      // The same formula, so the difference is rounding, below 5e-13.
      expect(report.falsePositiveRate, String(file)).toBeCloseTo(falsePositiveRate, 12);
    }
  });

  it('takes the number of keys and the rate from the bits where a file does not say', async () => {
    const guava = GuavaFilter.decode(GUAVA_UTF8);
    const report = JSON.parse(
      await scratch.ok('convert words.guava --to bloom --keys golden.txt -o g.blm --json'),
    );
    expect(report.capacity).toBe(Math.ceil(guava.estimatedSize()));
    // The same formula, so the difference is rounding, below 5e-13.
    expect(report.falsePositiveRate).toBeCloseTo(guava.estimatedFalsePositiveRate(), 12);
    const made = BloomFilter.decode(scratch.get('g.blm'));
    expect(made.hasMany([...KEYS]).includes(0)).toBe(false);
    const strangers = 20_000;
    const wrong = made.hasMany(keys(1_000_000, 1_000_000 + strangers)).reduce((sum, yes) => sum + yes, 0);
    expectBinomial(wrong, strangers, made.estimatedFalsePositiveRate(), 'false positives of the new filter');
  });

  const makers: [
    to: string,
    decode: (bytes: Uint8Array) => { has(key: string): boolean } | Promise<{ has(key: string): boolean }>,
  ][] = [
    ['bloomery', (bytes) => BloomFilter.decode(bytes)],
    ['bloom', (bytes) => BloomFilter.decode(bytes)],
    ['hash-list', (bytes) => HashList.decode(bytes)],
    ['counting', (bytes) => CountingBloomFilter.decode(bytes)],
    ['blocked', (bytes) => BlockedBloomFilter.decode(bytes)],
    ['split-block', (bytes) => BlockedBloomFilter.decode(bytes)],
    ['parquet', (bytes) => ParquetFilter.decode(bytes)],
    ['guava', (bytes) => GuavaFilter.decode(bytes, { funnel: 'utf8' })],
    ['redisbloom', (bytes) => RedisBloomFilter.decode(bytes)],
    ['dcso', (bytes) => DcsoFilter.decode(bytes)],
    ['dcso-gzip', (bytes) => DcsoFilter.decodeMaybeGzip(bytes)],
    ['go-bloom', (bytes) => GoBloomFilter.decode(bytes)],
    ['go-bloom-json', (bytes) => GoBloomFilter.decode(bytes)],
    ['spark', (bytes) => SparkFilter.decode(bytes)],
    ['spark-v1', (bytes) => SparkFilter.decode(bytes)],
    ['datasketches', (bytes) => DataSketchesFilter.decode(bytes)],
  ];
  it.each(makers)('%s has every key', async (to, decode) => {
    const { code, stderr } = await scratch.line(`convert plain.blm --to ${to} --keys keys.txt -o made-${to}`);
    expect([code, stderr]).toEqual([0, '']);
    const made = await decode(scratch.get(`made-${to}`));
    expect(keys(0, 1000).filter((key) => !made.has(key))).toEqual([]);
    expect(keys(5000, 6000).filter((key) => made.has(key)).length).toBeLessThan(50);
  });

  it("makes Squid's digests of URLs, with the bits that the rate needs", async () => {
    const urls = keys(0, 500).map((key) => `http://example.org/${key}`);
    scratch.put('urls.txt', urls.join('\n'));
    const old = BloomFilter.forCapacity({ capacity: 500, falsePositiveRate: 0.03 });
    old.addMany(urls);
    scratch.put('urls.blm', old);
    await scratch.ok('convert urls.blm --to squid --keys urls.txt -o digest');
    const digest = SquidDigest.decode(scratch.get('digest'));
    expect(urls.every((url) => digest.has(url))).toBe(true);
    // 8 bits an entry: 2.4 %; 7: 3.6 %.
    expect(digest.bitsPerEntry).toBe(8);
    // And back: the digest knows its capacity.
    const report = JSON.parse(
      await scratch.ok('convert digest --to bloom --keys urls.txt -o again.blm --json'),
    );
    expect(report).toMatchObject({ capacity: 500, keysNotInInput: 0 });
  });

  it('reads columns, gzip and standard input like every command', () => {
    const csv = keys(0, 1000).map((key, i) => `${i},${key}`);
    scratch.put('table.csv.gz', gzipSync(`id,name\n${csv.join('\n')}\n`));
    const table = scratch.run([
      'convert',
      'plain.blm',
      '--to',
      'dcso',
      '--keys',
      'table.csv.gz',
      '--column',
      'name',
      '-o',
      '-',
    ]);
    const piped = scratch.run(
      ['convert', 'plain.blm', '--to', 'dcso', '--keys', '-', '-o', '-'],
      `${keys(0, 1000).join('\n')}\n`,
    );
    expect([table.code, piped.code, table.stderr, piped.stderr]).toEqual([0, 0, '', '']);
    expect(table.bytes).toEqual(piped.bytes);
    expect(DcsoFilter.decode(table.bytes).size).toBeGreaterThan(990);
  });

  it("takes integers for Guava's int and long", async () => {
    scratch.put('numbers.txt', '1\n-5\n2147483647\n');
    const old = BloomFilter.forCapacity({ capacity: 10, falsePositiveRate: 0.01 });
    old.addMany(['1', '-5', '2147483647']);
    scratch.put('numbers.blm', old);
    for (const funnel of ['int', 'long'] as const) {
      await scratch.ok(`convert numbers.blm --to guava --funnel ${funnel} --keys numbers.txt -o n.${funnel}`);
      const made = GuavaFilter.decode(scratch.get(`n.${funnel}`), { funnel });
      expect([1, -5, 2147483647].every((n) => made.has(n))).toBe(true);
      await scratch.ok(`convert n.${funnel} --funnel ${funnel} --to bloom --keys numbers.txt -o m.${funnel}`);
    }
  });

  it('warns when the keys are not those of the filter', async () => {
    scratch.put('others.txt', `${keys(900, 1100).join('\n')}\n`);
    const { code, stderr } = await scratch.line('convert plain.blm --to dcso --keys others.txt -o o.bloom');
    expect(code).toBe(0);
    expect(stderr).toMatch(/(9\d|100) of the 200 keys are certainly not in plain\.blm/);
    expect(stderr).toMatch(/plain\.blm holds at least 9\d\d keys, --keys has only 200: some are missing/);
  });

  it('warns when there are more keys than the filter was made for', async () => {
    const { code, stderr } = await scratch.line(
      'convert plain.blm --to dcso --keys keys.txt -N 500 -o small.bloom',
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /more than the 500 that the new filter was made for: \d+(\.\d+)? % false positives; --capacity/,
    );
  });
});

describe('--list', () => {
  it('names all targets', async () => {
    const text = await scratch.ok('convert --list');
    for (const name of [
      'bloomery',
      'hash-list',
      'parquet',
      'guava',
      'redisbloom',
      'dcso-gzip',
      'go-bloom-json',
      'squid',
      'spark',
    ]) {
      expect(text).toMatch(new RegExp(`^ *${name} `, 'm'));
    }
    const list = JSON.parse(await scratch.ok('convert --list --json'));
    expect(list.read).toContain('datasketches');
    expect(list.write.find(({ to }: { to: string }) => to === 'coded').fromKeys).toBe(false);
    const { stdout } = await scratch.line('convert --help');
    for (const { to } of list.write) expect(stdout).toContain(`"${to}"`);
  });
});

describe('what cannot be converted', () => {
  scratch.put('static.blm', StaticFilter.from(keys(0, 10)));
  scratch.put('empty.guava', GuavaFilter.create({ capacity: 10, funnel: 'utf8' }));
  scratch.put('slices.blm', new BloomFilter({ bits: 60, hashes: 6, layout: 'partitioned' }));
  scratch.put('text.txt', 'apple\n');
  it.each([
    [
      'convert words.guava --to dcso -o x',
      /words\.guava: Cannot convert a guava filter \(murmur3-x64-128\/MURMUR128_MITZ_64\) to dcso \(fnv1-64\/dcso\): a filter holds bits, not keys, and the other hash would have set other bits; name the files of its keys and it is built again: --keys FILE/,
    ],
    [
      'convert plain.blm --to blocked -o x',
      /BloomFilter filter \(forge64\/0 classic\) to blocked \(forge64 blocked\)/,
    ],
    ['convert slices.blm --to hash-list -o x', /forge64\/0 partitioned\) to hash-list \(forge64 classic\)/],
    ['convert plain.blm --to parquet -o x', /to parquet \(xxh64\/0 split-block\)/],
    ['convert empty.guava --to coded -o x', /empty\.guava is a .*guava.*, which has no coded form/i],
    ['convert static.blm --to bloom -o x', /a filter holds bits, not keys/],
    [
      'convert plain.blm --to coded --keys keys.txt -o x',
      /--to coded takes no --keys: convert first, then bloomery encode/,
    ],
    [
      'convert plain.blm --to dcso -N 5 -o x',
      /--capacity and --rate are for a filter that is built again: name its --keys/,
    ],
    [
      'convert empty.guava --to dcso --keys keys.txt -o x',
      /empty\.guava does not say how many keys it was made for; --capacity/,
    ],
    [
      'convert empty.guava --to dcso --keys keys.txt -N 9 -o x',
      /empty\.guava does not say which rate it was made for; --rate/,
    ],
    ['convert plain.blm --to squid --keys keys.txt -o x', /absolute URL.*key-0/],
    ['convert plain.blm --to squid --keys keys.txt -r 1e-12 -o x', /at most 255 bits an entry/],
    [
      'convert plain.blm --to guava --funnel int --keys keys.txt -o x',
      /--funnel int and long take integers, got "key-0"/,
    ],
    [
      'convert plain.blm --to binary-fuse --keys keys.txt -o x',
      /--to binary-fuse takes integers of 64 bits as keys, got "key-0"/,
    ],
    [
      'convert plain.blm --to binary-fuse-c --keys keys.txt -r 1e-6 -o x',
      /binary fuse filters of c have no rate below 1\.6e-5/,
    ],
    ['convert . --to bloom -o x', /\. is a directory/],
    ['convert plain.blm --to guava --keys gone.txt -o x', /gone\.txt: no such file/],
    ['convert plain.blm --to lunar -o x', /Allowed choices are bloomery, coded, bloom/],
    ['convert plain.blm -o x', /to which format\? --to/],
    ['convert plain.blm --to bloom', /where to\? -o/],
    ['convert', /which filter\?.*-o FILE\n/],
    ['convert --to dcso -o x --keys keys.txt plain.blm', /which filter\?.*stands before --keys/],
    ['convert text.txt --to bloom -o x', /text\.txt is not a filter/],
    ['convert plain.blm --to coded -o plain.blm', /plain\.blm exists already/],
    ['convert - --to dcso --keys - -o x', /only one of the files/],
  ])('%s', async (line, message) => {
    const { code, stdout, stderr } = await scratch.line(line);
    expect(stderr).toMatch(message);
    expect([code, stdout]).toEqual([2, '']);
    expect(scratch.has('x')).toBe(false);
  });
});
