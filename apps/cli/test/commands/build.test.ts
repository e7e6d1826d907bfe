import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BlockedBloomFilter, BloomFilter, SecretKey } from 'bloomery';
import { beforeAll, describe, expect, test } from 'vitest';
import { bloomery, COMMAND, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const KEYS = Array.from({ length: 5000 }, (_, i) => `https://example.org/objects/${i}/é`);

beforeAll(() => {
  writeFileSync(at('keys.txt'), `${KEYS.join('\n')}\n`);
});

function built(args: readonly string[], input = ''): Uint8Array {
  const { code, stderr } = bloomery(['build', ...args, '-o', at('out.blm'), '--force'], { input });
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return Uint8Array.from(readFileSync(at('out.blm')));
}

describe('what comes out', () => {
  test('is what the library makes of the same keys, byte for byte', () => {
    const usual = BlockedBloomFilter.forCapacity({ capacity: KEYS.length, falsePositiveRate: 0.01 });
    usual.addMany(KEYS);
    expect(built([at('keys.txt')])).toEqual(usual.encode());
    // From a pipe, without the last newline.
    expect(built(['-'], KEYS.join('\n'))).toEqual(usual.encode());
    const small = BloomFilter.forCapacity({ capacity: KEYS.length, falsePositiveRate: 0.0001 });
    small.addMany(KEYS);
    expect(built([at('keys.txt'), '--rate', '1e-4'])).toEqual(small.encode());
    const blocked = BlockedBloomFilter.forCapacity({
      capacity: 8000,
      falsePositiveRate: 0.001,
      layout: 'split-block',
    });
    blocked.addMany(KEYS);
    const options = ['-s', 'blocked', '-l', 'split-block', '-N', '8k', '-r', '0.1%'];
    expect(built([...options, at('keys.txt')])).toEqual(blocked.encode());
  });

  test('is hashed by XXH64 with --hash xxh64, on any number of threads', () => {
    const options = { capacity: KEYS.length, falsePositiveRate: 0.0001, hash: 'xxh64', seed: 9 };
    const filter = BloomFilter.forCapacity(options);
    filter.addMany(KEYS);
    for (const threads of ['0', '2']) {
      const args = ['-r', '1e-4', '--hash', 'xxh64', '--seed', '9', '--threads', threads];
      expect(built([...args, at('keys.txt')])).toEqual(filter.encode());
    }
    expect(bloomery(['info', at('out.blm')]).stdout).toMatch(/^hash +xxh64, seed 9$/m);
    expect(bloomery(['check', at('out.blm'), '--count'], { input: KEYS.join('\n') }).stdout).toBe('5000\n');
    expect(bloomery(['add', at('out.blm'), '-'], { input: 'one more\n' }).code).toBe(0);
    expect(bloomery(['check', at('out.blm')], { input: 'one more\n' }).stdout).toBe('one more\n');
    filter.add('one more');
    expect(Uint8Array.from(readFileSync(at('out.blm')))).toEqual(filter.encode());
  });

  test.each(['counting', 'static', 'count-min', 'heavy-hitters', 'scalable', 'hash-list', 'spectral'])(
    'is a %s filter by XXH64 that finds its keys',
    (structure) => {
      built(['-s', structure, '--hash', 'xxh64', at('keys.txt')]);
      expect(JSON.parse(bloomery(['info', at('out.blm'), '--json']).stdout)).toMatchObject({ hash: 'xxh64' });
      const { stdout } = bloomery(['check', at('out.blm'), '--count'], { input: KEYS.join('\n') });
      expect(stdout).toBe('5000\n');
    },
  );

  test('is the same for any number of threads, and for packed inputs', () => {
    const lines = Array.from({ length: 120_000 }, (_, i) => `key number ${i}`).join('\n');
    writeFileSync(at('many.txt'), lines);
    writeFileSync(at('many.gz'), gzipSync(lines));
    expect(spawnSync('zstd', ['-qf', at('many.txt'), '-o', at('many.zst')]).status).toBe(0);
    const alone = built([at('many.txt'), '--threads', '0']);
    for (const threads of ['1', '3']) expect(built([at('many.txt'), '--threads', threads])).toEqual(alone);
    expect(built([at('many.gz')])).toEqual(alone);
    expect(built([at('many.zst')])).toEqual(alone);
  });

  test('is the same for a file of many pieces', () => {
    // Five million keys. Lines differ in length, so that they lie across every place where the file
    // is cut.
    const parts: string[] = [];
    for (let i = 0; i < 5_000_000; i += 1000) {
      parts.push(Array.from({ length: 1000 }, (_, j) => `${(i + j) * 7919}\n`).join(''));
    }
    const text = Buffer.from(parts.join(''));
    writeFileSync(at('large.txt'), text);
    const whole = BlockedBloomFilter.forCapacity({ capacity: 5_000_000, falsePositiveRate: 0.01 });
    whole.addMany({ lines: text });
    const expected = whole.encode();
    expect(Buffer.compare(built([at('large.txt')]), expected)).toBe(0);
    expect(Buffer.compare(built([at('large.txt'), '--threads', '0']), expected)).toBe(0);
    const twice = BlockedBloomFilter.forCapacity({ capacity: 5_005_000, falsePositiveRate: 0.01 });
    twice.addMany({ lines: text });
    twice.addMany(KEYS);
    expect(Buffer.compare(built([at('large.txt'), at('keys.txt')]), twice.encode())).toBe(0);
  });

  test('holds every key, whatever the structure', () => {
    for (const structure of [
      'bloom',
      'blocked',
      'static',
      'counting',
      'spectral',
      'count-min',
      'heavy-hitters',
      'scalable',
      'rotating',
      'attenuated',
      'hash-list',
    ]) {
      built(['-s', structure, at('keys.txt')]);
      const missing = bloomery(['check', at('out.blm'), '-v', at('keys.txt')]);
      expect(missing, structure).toEqual({ code: 1, stdout: '', stderr: '' });
    }
  });

  test('keyed filters hold no key and need it', () => {
    const secret = Uint8Array.from({ length: 16 }, (_, i) => i);
    writeFileSync(at('secret'), secret);
    const keyed = BlockedBloomFilter.forCapacity({
      capacity: KEYS.length,
      falsePositiveRate: 0.01,
      key: new SecretKey(secret),
    });
    keyed.addMany(KEYS);
    expect(built(['--key-file', at('secret'), at('keys.txt')])).toEqual(keyed.encode());
    expect(bloomery(['check', at('out.blm'), at('keys.txt')])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--key-file names the file with the secret'),
    });
    const checked = bloomery(['check', '--key-file', at('secret'), at('out.blm'), at('keys.txt'), '--count']);
    expect(checked.stdout).toBe('5000\n');
  });

  test('columns, fields and values', () => {
    writeFileSync(at('users.csv'), 'id,email,age\n1,"a,a@x",30\n2,b@x,41\n');
    built([at('users.csv'), '--column', 'email']);
    expect(bloomery(['check', at('out.blm'), '-'], { input: 'a,a@x\nb@x\nemail\n' }).stdout).toBe(
      'a,a@x\nb@x\n',
    );
    built([at('users.csv'), '-s', 'bloomier', '--column', 'email', '--value-column', 'age']);
    expect(bloomery(['check', at('out.blm'), '--count'], { input: 'a,a@x\nb@x\n' }).stdout).toBe('2\n');
    built(['--jsonl', '.u.id'], '{"u":{"id":"x"}}\n{"u":{"id":7}}\n');
    expect(bloomery(['check', at('out.blm')], { input: 'x\n7\nid\n' }).stdout).toBe('x\n7\n');
  });

  test('nothing at all is a filter of nothing', () => {
    built([], '');
    expect(bloomery(['check', at('out.blm')], { input: 'x\n' }).code).toBe(1);
  });
});

describe('reports', () => {
  test('as JSON on standard output, in words on standard error if asked, else nothing', () => {
    const { stdout } = bloomery(['build', at('keys.txt'), '-o', at('r.blm'), '--json']);
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ keys: 5000, structure: 'BlockedBloomFilter', output: at('r.blm') });
    expect(report.estimatedFalsePositiveRate).toBeGreaterThan(0.008);
    expect(report.estimatedFalsePositiveRate).toBeLessThan(0.012);
    // A bundle renames this class.
    const fixed = bloomery(['build', at('keys.txt'), '-s', 'static', '-o', at('r.blm'), '--force', '--json']);
    expect(JSON.parse(fixed.stdout).structure).toBe('StaticFilter');
    const { stderr } = bloomery(['build', at('keys.txt'), '-o', at('r.blm'), '--force', '--verbose']);
    expect(stderr).toMatch(
      /^.*r\.blm: 5,000 keys in 6\.\d\d kB, 9\.\d\d bits per key, false positives .* %, .* s\n$/,
    );
  });

  test('too many keys for the capacity are told', () => {
    const { code, stderr } = bloomery(['build', at('keys.txt'), '-N', '1000', '-o', at('r.blm'), '--force']);
    expect(code).toBe(0);
    expect(stderr).toContain('5,000 keys went into a filter for 1,000; false positives are now about');
  });

  test('CR LF is told', () => {
    const { stderr } = bloomery(['build', '-o', at('r.blm'), '--force'], { input: 'a\r\nb\r\n' });
    expect(stderr).toContain('--crlf drops it');
    built(['--crlf'], 'a\r\nb\r\n');
    expect(bloomery(['check', at('out.blm')], { input: 'a\nb\r\n' }).stdout).toBe('a\n');
  });
});

describe('what cannot be', () => {
  const refused = (args: readonly string[], what: string | RegExp, input: string | Uint8Array = '') => {
    const before = readdirSync(folder).sort();
    const { code, stdout, stderr } = bloomery(['build', ...args], { input, cwd: folder });
    expect(stderr, args.join(' ')).toMatch(what);
    expect(stderr.trimEnd().split('\n').length, stderr).toBeLessThanOrEqual(3);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(readdirSync(folder).sort()).toEqual(before);
  };

  test('inputs that are not there, are directories, or no text', () => {
    refused(['nowhere.txt', '-o', 'x.blm'], /nowhere\.txt: no such file/);
    mkdirSync(at('dir'), { recursive: true });
    refused(['dir', '-o', 'x.blm'], /dir is a directory/);
    refused(['-o', 'x.blm'], /looks binary .*--null/, Uint8Array.of(65, 0, 66));
    refused(['-o', 'x.blm'], /UTF-16/, Uint8Array.of(0xff, 0xfe, 65, 0));
    writeFileSync(at('broken.gz'), gzipSync('a\nb\n').subarray(0, 20));
    refused(['broken.gz', '-o', 'x.blm'], /gzip data is damaged or cut off/);
  });

  test('outputs that are there already, are directories, or have no place', () => {
    writeFileSync(at('there.blm'), 'precious');
    refused(['keys.txt', '-o', 'there.blm'], /there\.blm exists already; --force replaces it/);
    expect(readFileSync(at('there.blm'), 'utf8')).toBe('precious');
    refused(['keys.txt', '-o', 'dir'], /dir is a directory/);
    refused(['keys.txt', '-o', 'no/where.blm'], /there is no directory no/);
    refused(['keys.txt'], /required option '-o, --output <file>'/);
  });

  test('options that make no sense', () => {
    refused(['keys.txt', '-o', 'x.blm', '-r', '2'], /Expected a rate between 0 and 1/);
    refused(['keys.txt', '-o', 'x.blm', '-s', 'blom'], /Allowed choices/);
    refused(
      ['keys.txt', '-o', 'x.blm', '--counter-bits', '4'],
      /--counter-bits means nothing for --structure blocked/,
    );
    refused(
      ['keys.txt', '-o', 'x.blm', '--bits', '100', '--rate', '1%'],
      /--bits and --rate exclude each other/,
    );
    refused(
      ['keys.txt', '-o', 'x.blm', '-s', 'bloom', '--bits', '100'],
      /--bits needs --capacity or --hashes/,
    );
    refused(
      ['keys.txt', '-o', 'x.blm', '-s', 'bloom', '-l', 'blocked'],
      /--layout for --structure bloom is classic or partitioned/,
    );
    refused(['keys.txt', '-o', 'x.blm', '--hash', 'md5'], /Allowed choices are forge64, xxh64/);
    refused(
      ['keys.txt', '-o', 'x.blm', '--hash', 'xxh64', '--key-file', 'secret'],
      /--hash and --key-file exclude each other/,
    );
    refused(
      ['keys.txt', '-o', 'x.blm', '-s', 'blocked', '-l', 'split-block', '--hash', 'forge64'],
      /--layout split-block has a hash of its own/,
    );
    refused(['keys.txt', '-o', 'x.blm', '-s', 'bloomier'], /needs --column .* --value-column/);
    refused(['keys.txt', '-o', 'x.blm', '--structur', 'static'], /unknown option '--structur'/);
  });

  test('a full disk: the old file stays, and nothing is left behind', () => {
    const disk = at('disk');
    mkdirSync(disk);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]);
    expect(mounted.stderr.toString(), 'this test mounts a small tmpfs, as root').toBe('');
    try {
      writeFileSync(join(disk, 'old.blm'), 'precious');
      const { code, stderr } = bloomery([
        'build',
        at('keys.txt'),
        '--rate',
        '1e-40',
        '-o',
        join(disk, 'old.blm'),
        '--force',
      ]);
      expect(stderr).toContain('no space left on the disk; nothing was changed');
      expect(code).toBe(2);
      expect(readdirSync(disk)).toEqual(['old.blm']);
      expect(readFileSync(join(disk, 'old.blm'), 'utf8')).toBe('precious');
    } finally {
      spawnSync('umount', [disk]);
    }
  });
});

test('a link stays a link, and what it points to is replaced', () => {
  writeFileSync(at('real.blm'), 'old');
  symlinkSync('real.blm', at('link.blm'));
  expect(bloomery(['build', at('keys.txt'), '-o', at('link.blm'), '--force']).code).toBe(0);
  expect(readFileSync(at('real.blm')).subarray(0, 4).toString()).toBe('BLMY');
  expect(existsSync(at('link.blm'))).toBe(true);
});

test('the filter can go to a pipe', () => {
  const script = `"${process.execPath}" "${COMMAND}" build "${at('keys.txt')}" -o - | "${process.execPath}" "${COMMAND}" check - "${at('keys.txt')}" --count`;
  expect(spawnSync('bash', ['-c', script]).stdout.toString()).toBe('5000\n');
});
