import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as golden from '@bloomery/testkit/golden/foreign-files';
import { expectNormal, Random } from '@bloomery/testkit/statistics';
import {
  AttenuatedBloomFilter,
  BlockedBloomFilter,
  BloomFilter,
  BloomierFilter,
  CountingBloomFilter,
  CountMinSketch,
  HashList,
  HeavyHitters,
  RotatingBloomFilter,
  ScalableBloomFilter,
  SecretKey,
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';
import { compressFrame } from 'bloomery/wire';
import { describe, expect, test } from 'vitest';
import { SAMPLES } from '../../src/selftest/sample-filters.ts';
import { drawBits, onesBetween } from '../../src/terminal/bit-picture.ts';
import { bloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const info = (...args: string[]) => bloomery(['info', ...args], { cwd: folder });
const KEYS = Array.from({ length: 3000 }, (_, i) => `key-${i}`);

interface Described {
  path: string;
  format: string;
  structure: string;
  keyed: boolean;
  estimatedSize?: { value: number; low: number; high: number; standardError: number };
  [name: string]: unknown;
}

/** The descriptions of several files, which come a line each. */
function described(...args: string[]): Described[] {
  const { code, stdout } = info('--json', ...args);
  expect(code).toBe(0);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describe('files of the library', () => {
  const names = Object.keys(SAMPLES);
  const paths = names.map((name) => `${name.replaceAll(/\W+/g, '-')}.blm`);
  for (const [i, name] of names.entries()) writeFileSync(at(paths[i]), SAMPLES[name](3000).encode());

  test('all structures: name, keys, promise', () => {
    const all = described(...paths);
    expect(all.map(({ path }) => path)).toEqual(paths);
    for (const [i, name] of names.entries()) {
      const filter = SAMPLES[name](1);
      const one = all[i];
      expect(one).toMatchObject({
        format: 'bloomery',
        structure: filter.constructor.name,
        keyed: name.endsWith('keyed'),
      });
      expect(one.bytes).toMatchObject({ file: readFileSync(at(paths[i])).length });
      if (one.estimatedSize !== undefined) {
        expectNormal(one.estimatedSize.value, 3000, one.estimatedSize.standardError, name);
        expect(one.estimatedSize.low).toBeLessThan(one.estimatedSize.high);
        expect(one.overfull ?? false).toBe(false);
      }
    }
    const byName = Object.fromEntries(names.map((name, i) => [name, all[i]]));
    // The sample is made for 1 % at the number of keys that it holds; sizes come in steps, never
    // above.
    for (const name of [
      'bloom',
      'bloom, partitioned',
      'blocked',
      'blocked, split-block',
      'counting',
      'spectral',
      'hash list',
    ]) {
      const { capacity, promisedFalsePositiveRate: promised } = byName[name];
      expect(capacity).toBe(3000);
      expect(promised).toBeLessThanOrEqual(0.01);
      expect(promised).toBeGreaterThan(0.009);
    }
    expect(byName.static).toMatchObject({ size: 3000, promisedFalsePositiveRate: 1 / 256 });
    expect(byName.bloomier).toMatchObject({ size: 3000 });
    expect(byName.rotating).toMatchObject({ capacity: 3000, parts: { length: 3 } });
    expect(byName.scalable).toMatchObject({
      promisedFalsePositiveRate: 0.01,
      parts: [{ estimatedSize: 1500 }, {}],
    });
    expect(byName.attenuated).toMatchObject({ parts: [{ estimatedSize: 0 }, { capacity: 3000 }] });
    expect(byName['count-min']).toMatchObject({ parameters: { total: 3000, width: 6000, depth: 3 } });
    expect(byName['heavy hitters']).toMatchObject({ parameters: { heavyKeys: 1, total: 4500 } });
    expect(byName['bloom, seeded']).toMatchObject({ hash: 'forge64', seed: String(0x0123456789abcdefn) });
    expect(byName['blocked, split-block']).toMatchObject({ hash: 'xxh64' });
  });

  test('one of them, for people', () => {
    const { code, stdout, stderr } = info('bloom.blm');
    expect(code).toBe(0);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^structure +BloomFilter$/m);
    expect(stdout).toMatch(/^bits +28,7\d\d$/m);
    expect(stdout).toMatch(/^hash +forge64, seed 0$/m);
    expect(stdout).toMatch(/^keys +about [23],\d\d\d \(95 %: [23],\d\d\d to 3,\d\d\d\)$/m);
    expect(stdout).toMatch(/^made for +3,000 keys$/m);
    expect(stdout).toMatch(/^rate promised +1 % at that many$/m);
    expect(stdout).toMatch(/^compressed +3\.\d\d kB/m);
    expect(stdout.split('\n').filter((line) => /^▕.{78}▏$/.test(line))).toHaveLength(4);
    expect(stdout).not.toContain('\u001b');
    expect(info('--no-picture', 'bloom.blm').stdout).not.toContain('▕');
  });

  test('several, a line each, and those that cannot be read apart', () => {
    writeFileSync(at('words.txt'), 'a\nb\n');
    const { code, stdout, stderr } = info('bloom.blm', 'words.txt', 'nowhere.blm', 'bloom-keyed.blm');
    expect(code).toBe(2);
    expect(stdout.trim().split('\n')).toHaveLength(3);
    expect(stdout).toMatch(/^bloom-keyed\.blm +BloomFilter .* keyed$/m);
    expect(stderr).toMatch(/words\.txt is not a filter/);
    expect(stderr).toMatch(/nowhere\.blm: no such file/);
  });

  test('from a pipe', () => {
    const { code, stdout } = bloomery(['info', '--json', '-'], { input: readFileSync(at('static.blm')) });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ path: '-', structure: 'StaticFilter' });
  });

  test('coded: sizes before and after, close to the entropy', () => {
    const filter = new BloomFilter({ bits: 140_000, hashes: 2 });
    for (let i = 0; i < 10_000; i++) filter.add(i);
    const message = compressFrame(filter.encode());
    writeFileSync(at('coded.blm'), message);
    const [one] = described('coded.blm');
    const bytes = one.bytes as { file: number; plain: number; compressed: number; entropy: number };
    expect(bytes).toMatchObject({
      file: message.length,
      plain: filter.encode().length,
      compressed: message.length,
    });
    expect(bytes.compressed - bytes.entropy).toBeGreaterThan(28);
    expect(bytes.compressed - bytes.entropy).toBeLessThan(48); // 32 bytes of header, and the coder
    expect(one.parameters).toMatchObject({ coded: true, bits: 140_000 });
  });
});

test('a keyed filter is described without its key exactly as with it', () => {
  const key = new SecretKey(new Uint8Array(16).fill(7));
  writeFileSync(at('secret'), new Uint8Array(16).fill(7));
  const size = { capacity: 3000, falsePositiveRate: 0.01, key };
  const counts = KEYS.map((_, i) => i % 16);
  const attenuated = AttenuatedBloomFilter.forCapacity({ levels: 2, ...size });
  attenuated.addMany(KEYS);
  const heavy = new HeavyHitters({ width: 500, depth: 3, threshold: 0.05, key });
  for (let i = 0; i < 20; i++) heavy.add('heavy', 10);
  const filters = {
    bloom: BloomFilter.forCapacity(size),
    blocked: BlockedBloomFilter.forCapacity(size),
    counting: CountingBloomFilter.forCapacity(size),
    spectral: SpectralBloomFilter.forCapacity(size),
    sketch: new CountMinSketch({ width: 5000, depth: 3, key }),
    bloomier: BloomierFilter.fromColumns(KEYS, counts, { valueBits: 4, falsePositiveRate: 0.01, key }),
    static: StaticFilter.from(KEYS, { key }),
    list: HashList.from(KEYS, { falsePositiveRate: 0.01, key }),
    scalable: new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 500, key }),
    rotating: new RotatingBloomFilter({
      generations: 3,
      capacity: 1000,
      falsePositiveRate: 0.01,
      rotateWhenFull: true,
      key,
    }),
    attenuated,
    heavy,
  };
  const paths = Object.entries(filters).map(([name, filter]) => {
    if ('addMany' in filter && filter !== attenuated) filter.addMany(KEYS);
    writeFileSync(at(`keyed-${name}.blm`), filter.encode());
    return `keyed-${name}.blm`;
  });
  writeFileSync(at('keyed-coded.blm'), compressFrame(filters.bloom.encode()));
  paths.push('keyed-coded.blm');
  const without = described(...paths);
  expect(without).toEqual(described('--key-file', 'secret', ...paths));
  for (const one of without) expect(one).toMatchObject({ keyed: true, hash: 'siphash-2-4' });
  const [withKey, withoutKey] = [
    info('keyed-scalable.blm', '--key-file', 'secret'),
    info('keyed-scalable.blm'),
  ];
  expect(withoutKey.stdout).toBe(withKey.stdout); // the picture too
  expect(withoutKey.stdout).toMatch(/siphash-2-4 with a secret key \(not in the file\)/);
});

describe('files of other systems', () => {
  const files: [name: string, format: string, bytes: Uint8Array, keys: number | undefined][] = [
    ['a.guava', 'guava', golden.GUAVA_UTF8, 1000],
    ['a.dcso', 'dcso', golden.DCSO, 1000],
    ['a.gz', 'dcso', golden.DCSO_GZIP, 1000],
    ['a.redis', 'redisbloom', golden.REDISBLOOM, undefined],
    ['a.go', 'go-bloom', golden.GO_BINARY, 1000],
    ['a.json', 'go-bloom', golden.GO_JSON, 1000],
    ['a.spark', 'spark', golden.SPARK_V2, 1000],
    ['a.squid', 'squid', golden.SQUID, 251],
    ['a.sketches', 'datasketches', golden.DATASKETCHES, 1000],
    ['a.parquet', 'parquet', golden.PARQUET_XXHASH, 4],
    ['a.fuse', 'binary-fuse', golden.FUSE8_C, undefined],
    ['nb-1-big-Filter.db', 'cassandra', golden.CASSANDRA_4, 1003],
    ['me-1-big-Filter.db', 'cassandra', golden.CASSANDRA_3, 1003],
    ['a.pybloom', 'pybloom', golden.PYBLOOM_SHA1, 1000],
  ];
  for (const [name, , bytes] of files) writeFileSync(at(name), bytes);

  test('format, size, promise', () => {
    const all = described(...files.map(([name]) => name));
    for (const [i, [name, format, , keys]] of files.entries()) {
      const one = all[i];
      expect(one).toMatchObject({ path: name, format, keyed: false });
      if (keys !== undefined)
        expectNormal(one.estimatedSize!.value, keys, one.estimatedSize!.standardError, name);
    }
    const byName = Object.fromEntries(all.map((one) => [one.path, one]));
    expect(byName['a.dcso']).toMatchObject({ capacity: 1000, promisedFalsePositiveRate: 0.01, size: 999 });
    expect(byName['a.redis']).toMatchObject({
      size: 998,
      promisedFalsePositiveRate: 0.01,
      parts: { length: 1 },
    });
    expect(byName['a.pybloom']).toMatchObject({
      size: 1000,
      capacity: 1000,
      promisedFalsePositiveRate: 0.001,
    });
    expect(byName['me-1-big-Filter.db'].parameters).toMatchObject({ release: 3 });
    expect(byName['a.fuse']).toMatchObject({ size: 1000, promisedFalsePositiveRate: 1 / 256 });
  });

  test('a picture where the bits are found', () => {
    for (const name of ['a.guava', 'a.dcso']) expect(info(name).stdout).toContain('▕');
    expect(info('a.json').stdout).not.toContain('▕');
  });
});

describe('warnings', () => {
  test('of a filter that holds more than it was made for', () => {
    const filter = BloomFilter.forCapacity({ capacity: 1500, falsePositiveRate: 0.01 });
    filter.addMany(KEYS);
    writeFileSync(at('overfull.blm'), filter.encode());
    const { code, stderr, stdout } = info('overfull.blm', '--json');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /overfull\.blm is overfull: it holds more than the 1,500 keys it was made for; its rate is 1\d(\.\d)? %/,
    );
    expect(JSON.parse(stdout).overfull).toBe(true);
  });

  test('of one that was made for nothing in particular and says maybe to most', () => {
    const filter = new BloomFilter({ bits: 1000, hashes: 4 });
    filter.addMany(KEYS);
    writeFileSync(at('full.blm'), filter.encode());
    const { stderr, stdout } = info('full.blm');
    expect(stderr).toMatch(/full\.blm is nearly full: it says "maybe" to (99\.\d|100) %/);
    expect(stdout).toMatch(/no zero is left/);
  });
});

describe('what is no filter is one line and exit code 2', () => {
  const frame = SAMPLES.bloom(100).encode();
  const flipped = frame.slice();
  flipped[40] ^= 4;
  writeFileSync(at('cut.blm'), frame.subarray(0, 60));
  writeFileSync(at('flipped.blm'), flipped);
  writeFileSync(at('empty.blm'), '');
  writeFileSync(at('text.txt'), 'apple\npear\n');
  mkdirSync(at('directory'));
  const cases: [args: string[], message: RegExp][] = [
    [['cut.blm'], /cut\.blm: the file is cut off: .*expected \d+ bytes, got 60/],
    [['-', '-'], /- can be given once only/],
    [['cut.blm', '--format', 'guava'], /cut\.blm: Cannot read guava/],
  ];
  for (const [args, message] of cases) {
    test(args.join(' '), () => {
      const { code, stdout, stderr } = info(...args);
      expect(code).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toMatch(message);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    });
  }
});

test('of several files each gets its line, also if none can be read', () => {
  const { code, stdout, stderr } = info('flipped.blm', 'empty.blm', 'text.txt', 'directory', 'missing.blm');
  expect(code).toBe(2);
  expect(stdout).toBe('');
  const lines = stderr.trim().split('\n');
  expect(lines).toHaveLength(5);
  expect(lines[0]).toMatch(/flipped\.blm: the file was damaged: .*checksum/);
  expect(lines[1]).toMatch(/empty\.blm is empty, not a filter/);
  expect(lines[2]).toMatch(/text\.txt is not a filter that bloomery knows; --format/);
  expect(lines[3]).toMatch(/directory is a directory/);
  expect(lines[4]).toMatch(/missing\.blm: no such file/);
});

describe('the picture', () => {
  test('of a few bits is the bits themselves', () => {
    const { rows, bitsPerCharacter } = drawBits(Uint8Array.of(0b10110001, 0b11), 10, { columns: 6, rows: 4 });
    expect(rows).toEqual(['█   ██', ' ███']);
    expect(bitsPerCharacter).toBe(1);
  });

  test('of many is as high as their share of ones', () => {
    const bytes = new Uint8Array(1000);
    bytes.fill(0x11, 0, 250); // a quarter
    bytes.fill(0xff, 250, 500);
    bytes.fill(0x7f, 750);
    expect(drawBits(bytes, 8000, { columns: 8, rows: 1 }).rows).toEqual(['▂▂██  ▇▇']);
    bytes[600] = 1; // a single one is seen
    expect(drawBits(bytes, 8000, { columns: 8, rows: 1 }).rows).toEqual(['▂▂██▁ ▇▇']);
  });

  test('counts ones between any two bits as a loop over bits does', () => {
    const random = new Random(7);
    const bytes = Uint8Array.from({ length: 40 }, () => random.below(256));
    const bit = (i: number) => (bytes[i >> 3] >> (i & 7)) & 1;
    for (let start = 0; start <= 320; start += 3) {
      let ones = 0;
      for (let end = start; end <= 320; end++) {
        if (end > start) ones += bit(end - 1);
        expect(onesBetween(bytes, start, end)).toBe(ones);
      }
    }
  });
});
