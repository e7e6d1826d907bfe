/** `bloomery add` and `bloomery remove` as users run them. */

import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
  readFrameLayout,
  ScalableBloomFilter,
  SecretKey,
  SpectralBloomFilter,
  StaticFilter,
} from 'bloomery';
import { DcsoFilter } from 'bloomery/formats/dcso';
import { GoBloomFilter } from 'bloomery/formats/go-bloom';
import { GuavaFilter } from 'bloomery/formats/guava';
import { ParquetFilter } from 'bloomery/formats/parquet';
import { RedisBloomFilter } from 'bloomery/formats/redisbloom';
import { SquidDigest } from 'bloomery/formats/squid';
import { compressFrame, expandFrame } from 'bloomery/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const BIN = fileURLToPath(new URL('../../bin/bloomery.js', import.meta.url));
const MAIN = new URL('../../../../packages/bloomery/bin/main.js', import.meta.url).href;
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'bloomery-add-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function bloomery(args: readonly string[], input = '', node: readonly string[] = [BIN]): Promise<Result> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [...node, ...args],
      { cwd: directory },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
    child.stdin!.on('error', () => {}); // it may not want to read
    child.stdin!.end(input);
  });
}

const at = (name: string) => join(directory, name);
const read = (name: string) => new Uint8Array(readFileSync(at(name)));
const same = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
const lines = (first: number, count: number) => Array.from({ length: count }, (_, i) => `key ${first + i}`);
/** Locks, journals and temporary files that were left behind. */
const traces = () => readdirSync(directory).filter((name) => name.startsWith('.'));

describe('in place', () => {
  const filters = {
    classic: () => BloomFilter.forCapacity({ capacity: 3_000_000, falsePositiveRate: 0.01 }),
    'split-block': () => new BlockedBloomFilter({ blocks: 50_001, layout: 'split-block', capacity: 900_000 }),
  };
  for (const [name, create] of Object.entries(filters)) {
    test(`${name}: the same bytes as loading, adding and encoding; what was done is in --json`, async () => {
      const filter = create();
      filter.addMany(lines(0, 400_000));
      writeFileSync(at('large.blm'), filter.encode());
      mkdirSync(at(name));
      symlinkSync('../large.blm', at(`${name}/link.blm`));
      const { ino } = statSync(at('large.blm'));
      const keys = lines(399_995, 15);
      writeFileSync(at('keys.txt'), `${keys.join('\n')}\n`);
      const { code, stdout, stderr } = await bloomery(['add', `${name}/link.blm`, 'keys.txt', '--json']);
      expect(stderr).toBe('');
      expect(code).toBe(0);
      const fresh = filter.addMany(keys);
      expect(same(read('large.blm'), filter.encode())).toBe(true);
      const report = JSON.parse(stdout);
      const frame = filter.encode().length;
      expect(report).toMatchObject({
        filter: `${name}/link.blm`,
        keys: 15,
        new: fresh,
        present: 15 - fresh,
        structure: filter.constructor.name,
        dryRun: false,
        written: 'pages',
        fileBytes: frame,
        capacity: filter.capacity,
        overfull: false,
      });
      expect(fresh).toBe(10);
      expect(report.pagesWritten).toBeLessThanOrEqual(10 * filter.hashes);
      expect(report.pagesRead).toBeLessThanOrEqual(15 * filter.hashes);
      expect(report.bytesRead).toBe(4096 * report.pagesRead);
      expect(report.bytesWritten).toBeLessThan(2 * 4200 * report.pagesWritten + 200);
      expect(report.bytesWritten).toBeGreaterThan(8192 * report.pagesWritten);
      // The estimate comes from a few pages; docs say five deviations.
      expect(Math.abs(report.estimatedSize - 400_010)).toBeLessThan(40_000);
      // The file is the same file, the link is still a link, and nothing else is left.
      expect(statSync(at('large.blm')).ino).toBe(ino);
      expect(lstatSync(at(`${name}/link.blm`)).isSymbolicLink()).toBe(true);
      expect(traces()).toEqual([]);
    });
  }

  test('keys from a pipe; silent unless asked; what is in already changes nothing', async () => {
    const filter = filters.classic();
    writeFileSync(at('pipe.blm'), filter.encode());
    filter.addMany(['a', 'b']);
    expect(await bloomery(['add', 'pipe.blm'], 'a\nb\n')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(same(read('pipe.blm'), filter.encode())).toBe(true);
    const { mtimeMs } = statSync(at('pipe.blm'));
    const again = await bloomery(['add', 'pipe.blm', '-', '--verbose'], 'a\nb');
    expect(again.stderr).toBe('pipe.blm: 2 keys, 0 new, 2 maybe in before; nothing changed\n');
    expect(statSync(at('pipe.blm')).mtimeMs).toBe(mtimeMs);
    const dry = await bloomery(['add', 'pipe.blm', '--dry-run', '--verbose'], 'c');
    expect(dry.stderr).toMatch(
      /^pipe.blm: 1 key, 1 new, 0 maybe in before; \d+ pages read, \d+ would be written in place\n$/,
    );
    expect(same(read('pipe.blm'), filter.encode())).toBe(true);
    const one = await bloomery(['add', 'pipe.blm', '--verbose'], 'c');
    expect(one.stderr).toMatch(/; \d+ pages read, \d+ written in place, [\d.]+ kB for a file of 3.60 MB\n$/);
    expect(traces()).toEqual([]);
  });

  test('too many pages: the rest is loaded around those that were changed, and the file is replaced', async () => {
    const filter = filters.classic();
    filter.addMany(lines(0, 1000));
    writeFileSync(at('many.blm'), filter.encode());
    // The first file touches few pages, the second one all of them.
    writeFileSync(at('few.txt'), lines(999, 8).join('\n'));
    writeFileSync(at('rest.txt'), lines(1000, 50_000).join('\n'));
    const { stdout } = await bloomery(['add', 'many.blm', 'few.txt', 'rest.txt', '--json']);
    const fresh = filter.addMany(lines(999, 8)) + filter.addMany(lines(1000, 50_000));
    expect(same(read('many.blm'), filter.encode())).toBe(true);
    expect(JSON.parse(stdout)).toMatchObject({ keys: 50_008, new: fresh, written: 'file', pagesWritten: 0 });
  });

  test('a filter that becomes overfull is said to be, from a sample of its pages as well', async () => {
    const filter = new BlockedBloomFilter({ blocks: 30_000, hashes: 8, capacity: 300_000 });
    filter.addMany(lines(0, 300_000));
    writeFileSync(at('full.blm'), filter.encode());
    const fine = await bloomery(['add', 'full.blm', '--json'], lines(300_000, 20).join('\n'));
    expect(fine.stderr).toBe('');
    filter.addMany(lines(300_000, 100_000));
    writeFileSync(at('full.blm'), filter.encode());
    const { code, stderr, stdout } = await bloomery(
      ['add', 'full.blm', '--json'],
      lines(600_000, 20).join('\n'),
    );
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /warning: full.blm was made for 300,000 keys and holds about \d{3},\d{3}; false positives are about [\d.]+ % now; .*--capacity.*\n$/,
    );
    const { overfull, estimatedSize, written } = JSON.parse(stdout);
    expect({ overfull, written }).toEqual({ overfull: true, written: 'pages' });
    expect(Math.abs(estimatedSize - 400_000)).toBeLessThan(20_000);
  });

  test('a keyed filter needs its key', async () => {
    const bytes = Uint8Array.from({ length: 16 }, (_, i) => 3 * i);
    const filter = new BloomFilter({ bits: 10_000_000, hashes: 7, key: new SecretKey(bytes) });
    writeFileSync(at('keyed.blm'), filter.encode());
    writeFileSync(at('secret'), bytes);
    writeFileSync(at('other'), new Uint8Array(16));
    const without = await bloomery(['add', 'keyed.blm'], 'a');
    expect(without.code).toBe(2);
    expect(without.stderr).toMatch(/keyed.blm: .*the filter is keyed; --key-file names the file/);
    expect((await bloomery(['add', 'keyed.blm', '--key-file', 'other'], 'a')).code).toBe(2);
    expect(same(read('keyed.blm'), filter.encode())).toBe(true);
    expect((await bloomery(['add', 'keyed.blm', '--key-file', 'secret'], 'a')).code).toBe(0);
    filter.add('a');
    expect(same(read('keyed.blm'), filter.encode())).toBe(true);
  });
});

describe('a sparse file of gigabytes', () => {
  const sizes = [
    {
      name: 'classic',
      bits: 2 ** 33 + 9,
      head: new BloomFilter({ bits: 8, hashes: 7 }).encode(),
      width: 5,
      size: 2 ** 33 + 9,
    },
    {
      name: 'blocked',
      bits: 2 ** 35,
      head: new BlockedBloomFilter({ blocks: 1, hashes: 8 }).encode(),
      width: 4,
      size: 2 ** 26,
    },
  ];
  for (const { name, bits, head, width, size } of sizes) {
    test(`${name}, ${bits} bits: few pages, bounded memory`, async () => {
      for (let i = 0, rest = size; i < width; i++, rest = Math.floor(rest / 256)) head[16 + i] = rest;
      const layout = readFrameLayout(head.subarray(0, 28));
      const path = at('sparse.blm');
      const file = openSync(path, 'w+');
      try {
        ftruncateSync(file, layout.length);
        writeSync(file, head, 0, layout.start, 0);
        const keys = lines(0, 100);
        const script = `
          process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)));
          const { main } = await import(${JSON.stringify(MAIN)});
          const start = performance.now();
          await main(process.argv.slice(1));
          process.stderr.write(Math.round(performance.now() - start) + ' ms, ');`;
        const node = ['--input-type=module', '-e', script, '--'];
        const { code, stdout, stderr } = await bloomery(
          ['add', 'sparse.blm', '--json'],
          keys.join('\n'),
          node,
        );
        expect(code).toBe(0);
        const report = JSON.parse(stdout);
        expect(report).toMatchObject({ keys: 100, new: 100, written: 'pages', fileBytes: layout.length });
        const [milliseconds, peak] = stderr.split(' ms, ').map(Number);
        expect(peak, `peak of memory in kB; it took ${milliseconds} ms`).toBeLessThan(200_000);
        expect(statSync(path).blocks * 512).toBeLessThan(100 * layout.hashes * 4096 + 2 ** 20);

        // Exactly the bits of the keys, and the checksum moved by what their pages did.
        const pages = new Map<number, Uint8Array>();
        let sum = 0;
        for (const bit of layout.bitOffsets(keys)) {
          const page = Math.floor(bit / 8 / 4096);
          const contents = pages.get(page) ?? emptyPage(page);
          contents[Math.floor(bit / 8) % 4096] |= 1 << (bit % 8);
          pages.set(page, contents);
        }
        expect(report.pagesWritten).toBe(pages.size);
        for (const [page, contents] of pages) {
          const found = new Uint8Array(contents.length);
          readSync(file, found, 0, found.length, 4096 * page);
          expect(same(found, contents), `page ${page}`).toBe(true);
          sum ^= layout.pageSum(page, emptyPage(page)) ^ layout.pageSum(page, contents);
        }
        const checksum = Buffer.alloc(4);
        readSync(file, checksum, 0, 4, layout.end);
        expect(checksum.readUInt32LE()).toBe(sum >>> 0);

        function emptyPage(page: number): Uint8Array {
          const contents = new Uint8Array(Math.min(4096, layout.end - 4096 * page));
          if (page === 0) contents.set(head.subarray(0, layout.start));
          return contents;
        }
      } finally {
        closeSync(file);
        unlinkSync(path);
      }
    });
  }
});

describe('as a whole', () => {
  const keys = lines(50, 100);
  const structures = {
    'a small BloomFilter': () => new BloomFilter({ bits: 10_000, hashes: 7, capacity: 1000 }),
    CountingBloomFilter: () => new CountingBloomFilter({ counters: 10_000, hashes: 5 }),
    SpectralBloomFilter: () => new SpectralBloomFilter({ counters: 5000, hashes: 4 }),
    CountMinSketch: () => new CountMinSketch({ width: 500, depth: 4 }),
    HeavyHitters: () => new HeavyHitters({ width: 500, depth: 4, threshold: 0.01 }),
    ScalableBloomFilter: () => new ScalableBloomFilter({ falsePositiveRate: 0.01, initialCapacity: 64 }),
    'a RotatingBloomFilter': () =>
      new RotatingBloomFilter({ capacity: 90, falsePositiveRate: 0.01, rotateWhenFull: true }),
    AttenuatedBloomFilter: () => new AttenuatedBloomFilter({ levels: 2, bits: 4000, hashes: 4 }),
    HashList: () => HashList.forCapacity({ capacity: 200, falsePositiveRate: 0.01 }),
  };
  for (const [name, create] of Object.entries(structures)) {
    test.concurrent(`${name}: what loading, adding and encoding gives`, async () => {
      const path = `${name}.blm`;
      const filter = create();
      filter.addMany(lines(0, 100));
      writeFileSync(at(path), filter.encode());
      const { code, stdout, stderr } = await bloomery(['add', path, '--json'], keys.join('\n'));
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      // As bytes: heavy hitters remember what a key was.
      const fresh = filter.addMany({ lines: Buffer.from(keys.join('\n')) }) ?? null;
      expect(same(read(path), filter.encode())).toBe(true);
      expect(JSON.parse(stdout)).toMatchObject({ keys: 100, new: fresh, written: 'file', pagesWritten: 0 });
    });
  }

  test('a rotating filter is told the time first, so that keys go to the generation of now', async () => {
    const filter = new RotatingBloomFilter({
      capacity: 90,
      falsePositiveRate: 0.01,
      generations: 2,
      ttlMs: 60_000,
      nowMs: 1,
    });
    filter.add('long ago');
    writeFileSync(at('rotating.blm'), filter.encode());
    expect((await bloomery(['add', 'rotating.blm'], 'now')).code).toBe(0);
    const after = RotatingBloomFilter.decode(read('rotating.blm'));
    expect([after.has('long ago'), after.has('now')]).toEqual([false, true]);
    expect(Math.abs(after.nowMs! - Date.now())).toBeLessThan(60_000);
  });

  test('a coded frame stays coded', async () => {
    const filter = new BloomFilter({ bits: 50_000, hashes: 2 });
    filter.addMany(lines(0, 300));
    writeFileSync(at('coded.blm'), compressFrame(filter.encode()));
    expect((await bloomery(['add', 'coded.blm'], 'another')).code).toBe(0);
    filter.add('another');
    expect(read('coded.blm').length).toBeLessThan(3000);
    expect(same(expandFrame(read('coded.blm')), filter.encode())).toBe(true);
  });

  const foreign = {
    guava: () => GuavaFilter.create({ capacity: 500, funnel: 'utf8' }),
    redisbloom: () => RedisBloomFilter.create({ capacity: 100, falsePositiveRate: 0.01 }),
    parquet: () => ParquetFilter.create({ capacity: 500 }),
    dcso: () => DcsoFilter.create({ capacity: 500, falsePositiveRate: 0.01 }),
    'go-bloom': () => GoBloomFilter.create({ capacity: 500, falsePositiveRate: 0.01 }),
    squid: () => SquidDigest.create({ capacity: 500 }),
  };
  for (const [format, create] of Object.entries(foreign)) {
    test.concurrent(`${format}: as its own program would have written it`, async () => {
      const filter = create();
      const urls = lines(0, 150).map((key) => `http://example.org/${key.replace(' ', '/')}`);
      writeFileSync(at(`foreign.${format}`), filter.encode());
      const { code, stdout, stderr } = await bloomery(
        ['add', `foreign.${format}`, '--format', format, '--json'],
        urls.join('\n'),
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      let fresh = 0;
      for (const url of urls) if (filter.add(url)) fresh++;
      expect(same(read(`foreign.${format}`), filter.encode())).toBe(true);
      expect(JSON.parse(stdout)).toMatchObject({ keys: 150, new: fresh, structure: format, written: 'file' });
    });
  }

  test('dcso in gzip stays in gzip; a redisbloom filter that is full and does not scale is left as it was', async () => {
    const dcso = DcsoFilter.create({ capacity: 500, falsePositiveRate: 0.01 });
    writeFileSync(at('dcso.gz'), await dcso.encodeGzip());
    expect((await bloomery(['add', 'dcso.gz'], 'a\nb')).code).toBe(0);
    expect([...read('dcso.gz').subarray(0, 2)]).toEqual([0x1f, 0x8b]);
    const after = await DcsoFilter.decodeMaybeGzip(read('dcso.gz'));
    expect(after.has('a') && after.has('b') && after.size === 2).toBe(true);

    const redis = RedisBloomFilter.create({ capacity: 2, falsePositiveRate: 0.01, nonScaling: true });
    writeFileSync(at('redis'), redis.encode());
    const full = await bloomery(['add', 'redis', '--format', 'redisbloom'], 'a\nb\nc');
    expect(full.code).toBe(2);
    expect(full.stderr).toMatch(
      /redis: Cannot add the key: expected a filter that can grow, got a full one of 2 keys that does not scale; nothing was changed/,
    );
    expect(same(read('redis'), redis.encode())).toBe(true);
  });
});

describe('what cannot be done is said in one line, and nothing changes', () => {
  const made = {
    'static.blm': () => StaticFilter.from(lines(0, 100)).encode(),
    'bloomier.blm': () => BloomierFilter.from([['a', 1]], { valueBits: 4 }).encode(),
    'truncated.blm': () => new BloomFilter({ bits: 10_000_000, hashes: 7 }).encode().subarray(0, -9),
    'damaged.blm': () => {
      const bytes = new BloomFilter({ bits: 10_000, hashes: 7 }).encode();
      bytes[500] ^= 1;
      return bytes;
    },
    'large-damaged.blm': () => {
      const bytes = new BloomFilter({ bits: 10_000_000, hashes: 7 }).encode();
      bytes[500] ^= 1;
      return bytes;
    },
    'good.blm': () => new BloomFilter({ bits: 10_000_000, hashes: 7 }).encode(),
    'empty.blm': () => new Uint8Array(0),
    'text.txt': () => Buffer.from('a\nb\n'),
  };
  const cases: readonly (readonly [args: string[], message: RegExp])[] = [
    [
      ['add', 'static.blm'],
      /static.blm is a StaticFilter, which is made for its keys once and for all; build it again from all keys/,
    ],
    [['add', 'bloomier.blm'], /bloomier.blm is a BloomierFilter, .* build it again from all keys and values/],
    [['add', 'truncated.blm'], /truncated.blm: the file is cut off: .*expected 1250032 bytes, got 1250023/],
    [['add', 'damaged.blm'], /damaged.blm: the file was damaged: .*checksum/],
    [['add', 'large-damaged.blm', 'numbers'], /large-damaged.blm: the file was damaged: .*checksum/],
    [['add', 'empty.blm'], /empty.blm is empty, not a filter/],
    [['add', 'text.txt'], /text.txt is not a filter that bloomery knows/],
    [['add', 'none.blm'], /none.blm: no such file or directory/],
    [['add', '.'], /\. is a directory, expected a filter file/],
    [['add', '/dev/null'], /\/dev\/null is not a file, and only files can be changed/],
    [['add', '-'], /a filter is changed in its file; name it instead of -/],
    [['add', 'good.blm', 'no keys'], /no keys: no such file or directory/],
    [['add', 'good.blm', 'good.blm'], /good.blm is a filter, expected a file of keys/],
    [['add', 'good.blm', '--wait', 'long'], /Expected seconds, from 0 to 86400/],
    [
      ['remove', 'good.blm'],
      /good.blm is a BloomFilter, which cannot forget a key, because a key's bits may be other keys' bits too; a CountingBloomFilter can remove: bloomery build --structure counting/,
    ],
    [
      ['remove', 'static.blm'],
      /static.blm is a StaticFilter, which is made for its keys once and for all; a CountingBloomFilter can/,
    ],
  ];
  beforeAll(() => {
    for (const [name, make] of Object.entries(made)) writeFileSync(at(name), make());
    writeFileSync(at('numbers'), Array.from({ length: 50_000 }, (_, i) => i).join('\n'));
  });
  for (const [args, message] of cases) {
    test.concurrent(args.join(' '), async () => {
      const before = existsSync(at(args[1])) && statSync(at(args[1])).isFile() ? read(args[1]) : undefined;
      const { code, stdout, stderr } = await bloomery(args, 'a\n');
      expect(code).toBe(2);
      expect(stdout).toBe('');
      expect(stderr).toMatch(message);
      expect(stderr).toMatch(/^bloomery: [^\n]+\n(\(--help[^\n]+\n)?$/);
      if (before !== undefined) expect(same(read(args[1]), before)).toBe(true);
    });
  }

  test('and nothing is left behind', () => {
    expect(traces()).toEqual([]);
  });

  test('another process that changes the file is waited for as long as --wait says', async () => {
    const start = readFileSync(`/proc/${process.pid}/stat`, 'latin1').split(') ')[1].split(' ')[19];
    const host = execFileSync('hostname').toString().trim();
    symlinkSync(`${process.pid} ${start} ${host} 01234567`, at('.good.blm.bloomery-lock'));
    const before = read('good.blm');
    const { code, stderr } = await bloomery(['add', 'good.blm', '--wait', '0.7'], 'a');
    expect(code).toBe(2);
    const [waiting, error] = stderr.split('\n');
    expect(waiting).toMatch(/warning: .*good.blm is being changed by process \d+; waiting for it$/);
    expect(error).toMatch(
      /good.blm is being changed by process \d+ and was not free within 0.7 s; nothing was changed/,
    );
    expect(same(read('good.blm'), before)).toBe(true);
    // A dry run does not write and need not wait.
    expect((await bloomery(['add', 'good.blm', '--dry-run', '--wait', '0'], 'a')).code).toBe(0);
    unlinkSync(at('.good.blm.bloomery-lock'));
  });
});

describe('remove', () => {
  test('takes back additions; what is certainly not in is counted and left alone', async () => {
    const filter = new CountingBloomFilter({ counters: 10_000, hashes: 5 });
    filter.addMany(lines(0, 100));
    writeFileSync(at('counting.blm'), filter.encode());
    const keys = [...lines(0, 10), 'never', 'ever'];
    const strict = await bloomery(['remove', 'counting.blm', '--strict'], keys.join('\n'));
    expect(strict).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'bloomery: warning: counting.blm: 2 of 12 keys were certainly not in; nothing was changed (--strict)\n',
    });
    expect(same(read('counting.blm'), filter.encode())).toBe(true);
    const dry = await bloomery(['remove', 'counting.blm', '--dry-run', '--json'], keys.join('\n'));
    expect(JSON.parse(dry.stdout)).toMatchObject({
      keys: 12,
      removed: 10,
      notIn: 2,
      dryRun: true,
      bytesWritten: 0,
    });
    expect(same(read('counting.blm'), filter.encode())).toBe(true);
    const done = await bloomery(['remove', 'counting.blm', '--verbose'], keys.join('\n'));
    expect(done.code).toBe(0);
    expect(done.stderr).toMatch(
      /2 of 12 keys were certainly not in; they were left alone\ncounting.blm: 12 keys, 10 removed; the file was replaced/,
    );
    filter.deleteMany(keys);
    expect(same(read('counting.blm'), filter.encode())).toBe(true);
    const all = await bloomery(['remove', 'counting.blm', '--strict', '--json'], lines(10, 90).join('\n'));
    expect(all.code).toBe(0);
    expect(JSON.parse(all.stdout)).toMatchObject({ removed: 90, notIn: 0, estimatedSize: 0 });
  });

  test('also from spectral filters and count-min sketches, where their methods allow it', async () => {
    const spectral = new SpectralBloomFilter({ counters: 5000, hashes: 4, method: 'minimum-selection' });
    spectral.addMany(['a', 'a', 'b']);
    writeFileSync(at('spectral.blm'), spectral.encode());
    expect((await bloomery(['remove', 'spectral.blm'], 'a\nb')).code).toBe(0);
    spectral.deleteMany(['a', 'b']);
    expect(same(read('spectral.blm'), spectral.encode())).toBe(true);

    const sketch = new CountMinSketch({ width: 500, depth: 4, update: 'conservative' });
    writeFileSync(at('sketch.blm'), sketch.encode());
    const refused = await bloomery(['remove', 'sketch.blm'], 'a');
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /sketch.blm: Cannot subtract with conservative update: .*; nothing was changed/,
    );
    const plain = new CountMinSketch({ width: 500, depth: 4 });
    plain.add('a', 5);
    writeFileSync(at('sketch.blm'), plain.encode());
    expect((await bloomery(['remove', 'sketch.blm'], 'a\na')).code).toBe(0);
    expect(CountMinSketch.decode(read('sketch.blm')).count('a')).toBe(3);
  });
});

describe('several at once', () => {
  test('lose nothing, in place and as a whole', async () => {
    const large = new BloomFilter({ bits: 16_000_000, hashes: 7 });
    const counting = new CountingBloomFilter({ counters: 20_000, hashes: 4, counterBits: 16 });
    writeFileSync(at('shared.blm'), large.encode());
    writeFileSync(at('counted.blm'), counting.encode());
    // The lock of a process that died waits for all of them.
    const gone = Number(execFileSync('sh', ['-c', 'echo $$']).toString());
    const host = execFileSync('hostname').toString().trim();
    symlinkSync(`${gone} ? ${host} 01234567`, at('.shared.blm.bloomery-lock'));
    const writers = [0, 1, 2, 3].flatMap((i) => [
      bloomery(['add', 'shared.blm', '--wait', '60'], lines(1000 * i, 12).join('\n')),
      bloomery(['add', 'counted.blm', '--wait', '60'], 'the same key\n'),
    ]);
    for (const { code } of await Promise.all(writers)) expect(code).toBe(0);
    for (let i = 0; i < 4; i++) large.addMany(lines(1000 * i, 12));
    expect(same(read('shared.blm'), large.encode())).toBe(true);
    expect(CountingBloomFilter.decode(read('counted.blm')).count('the same key')).toBe(4);
    expect(traces()).toEqual([]);
  });
});

describe('a full disk', () => {
  test('leaves the file as it was, whether dense or with holes', async (context) => {
    const mounted = at('disk');
    mkdirSync(mounted);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', mounted], { stdio: 'pipe' });
    } catch (error) {
      context.skip(`cannot mount a small file system here (it takes root): ${(error as Error).message}`);
    }
    try {
      // 4 MiB: 1024 pages, of which the file takes 880.
      const filter = new BloomFilter({ bits: 8 * 3_600_000, hashes: 7 });
      writeFileSync(join(mounted, 'dense.blm'), filter.encode());
      const full = /^bloomery: error: [^\n]*no space left on the disk; nothing was changed\n$/;
      // The journal of some 170 pages does not fit, a second file does not fit, the journal of at
      // most 84 pages does.
      for (const keys of [lines(0, 28), lines(0, 90_000)]) {
        const { code, stderr } = await bloomery(['add', 'disk/dense.blm'], keys.join('\n'));
        expect(code).toBe(2);
        expect(stderr).toMatch(full);
        expect(same(read('disk/dense.blm'), filter.encode())).toBe(true);
        expect(readdirSync(mounted)).toEqual(['dense.blm']);
      }
      expect((await bloomery(['add', 'disk/dense.blm'], lines(0, 12).join('\n'))).code).toBe(0);
      filter.addMany(lines(0, 12));
      expect(same(read('disk/dense.blm'), filter.encode())).toBe(true);
      unlinkSync(join(mounted, 'dense.blm'));

      const empty = new BloomFilter({ bits: 8 * 50_000_000, hashes: 7 });
      const frame = empty.encode();
      // 100 keys: their pages fit and the journal does not. 200 keys: not even the pages do.
      for (const count of [100, 200]) {
        const file = openSync(join(mounted, 'holes.blm'), 'w');
        ftruncateSync(file, frame.length);
        writeSync(file, frame, 0, 28, 0);
        writeSync(file, frame, frame.length - 4, 4, frame.length - 4);
        closeSync(file);
        const { code, stderr } = await bloomery(['add', 'disk/holes.blm'], lines(0, count).join('\n'));
        expect(code).toBe(2);
        expect(stderr).toMatch(full);
        expect(same(read('disk/holes.blm'), frame)).toBe(true);
        expect(readdirSync(mounted)).toEqual(['holes.blm']);
        if (count === 100) expect((await bloomery(['add', 'disk/holes.blm'], 'a')).code).toBe(0);
      }
    } finally {
      execFileSync('umount', [mounted]);
    }
  });
});

test('on a terminal the summary is shown without asking', async () => {
  writeFileSync(at('tty.blm'), new BloomFilter({ bits: 1000, hashes: 3 }).encode());
  writeFileSync(at('tty.txt'), 'a\nb\n');
  const child = spawn('script', ['-qec', `${process.execPath} ${BIN} add tty.blm tty.txt`, '/dev/null'], {
    cwd: directory,
  });
  let shown = '';
  child.stdout.on('data', (part) => (shown += part));
  await new Promise((resolve) => child.once('close', resolve));
  expect(shown).toContain('tty.blm: 2 keys, 2 new, 0 maybe in before; the file was replaced, 157 B');
});
