/**
 * Inputs that people give a command by accident: pipes with names, marks of other systems, quotes,
 * files that are no files.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { BlockedBloomFilter } from 'bloomery';
import { GuavaFilter } from 'bloomery/formats/guava';
import { beforeAll, describe, expect, test } from 'vitest';
import { bloomery, COMMAND, startBloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();
const at = (name: string) => join(folder, name);
const run = (args: readonly string[], input: string | Uint8Array = '') =>
  bloomery(args, { input, cwd: folder });
/** How many of the lines of `input` a filter may have. */
const found = (filter: string, input: string) => run(['check', filter, '--count'], input).stdout.trim();

beforeAll(() => {
  writeFileSync(at('keys.txt'), 'one\ntwo\nthree\n');
  expect(run(['build', 'keys.txt', '-r', '1e-9', '-o', 'keys.blm']).code).toBe(0);
});

function refused(args: readonly string[], why: RegExp, input: string | Uint8Array = ''): void {
  const { code, stdout, stderr } = run(args, input);
  expect(stderr).toMatch(why);
  expect(stderr.trimEnd().split('\n').length).toBe(1);
  expect(stdout).toBe('');
  expect(code).toBe(2);
}

test('devices are no filters: one that never ends would never be read', () => {
  refused(['info', '/dev/zero'], /device, expected a filter file/);
  refused(['check', '/dev/zero', 'keys.txt'], /device, expected a filter file/);
});

test('lists of passwords may come from other systems, without a warning', () => {
  const { code, stderr } = run(['password', 'build', '-o', 'marked.blpw'], '\ufeffpassword\r\nletmein\r\n');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(run(['password', 'check', '-b', 'marked.blpw'], 'password\n').code).toBe(1);
});

describe('standard input', () => {
  test('is read once only, and a second request for it is refused', () => {
    refused(['build', '-', '-', '-o', 'no.blm'], /standard input can be read once only/, 'x\n');
    refused(['add', 'keys.blm', '-', '-'], /standard input can be read once only/, 'x\n');
    expect(existsSync(at('no.blm'))).toBe(false);
    // The filter from there, and no files: the keys would come from there as well.
    refused(['check', '-'], /standard input can be read once only/, readFileSync(at('keys.blm')));
    expect(run(['check', '-', 'keys.txt', '--count'], readFileSync(at('keys.blm'))).stdout).toBe('3\n');
  });

  test('is answered line by line if it comes so, as from tail -f', async () => {
    const child = startBloomery(['check', at('keys.blm')]);
    const answer = () => new Promise((resolve) => child.stdout.once('data', (text) => resolve(String(text))));
    for (const key of ['one', 'two']) {
      child.stdin.write(`${key}\nanother\n`);
      expect(await answer()).toBe(`${key}\n`);
    }
    child.stdin.end('three');
    expect(await answer()).toBe('three\n');
    // And who has an answer does not wait for the end.
    const quiet = startBloomery(['check', '-q', at('keys.blm')]);
    quiet.stdin.on('error', () => {}); // it went away
    quiet.stdin.write('one\n');
    expect(await new Promise((resolve) => quiet.once('exit', resolve))).toBe(0);
  });
});

describe('named pipes', () => {
  /** Runs a line of shell in the folder, with `bloomery` as a command, and with a deadline. */
  function shell(line: string): { code: number | null; stdout: string } {
    const script = `bloomery() { "${process.execPath}" "${COMMAND}" "$@"; }; ${line}`;
    const { status, stdout } = spawnSync('bash', ['-c', script], { cwd: folder, timeout: 30_000 });
    return { code: status, stdout: stdout.toString() };
  }

  test('give keys, all of them, to who opens them once', () => {
    execFileSync('mkfifo', [at('in')]);
    const line = 'cat keys.txt > in & bloomery build in --json -o piped.blm';
    expect(JSON.parse(shell(line).stdout)).toMatchObject({ keys: 3 });
    expect(found('piped.blm', 'one\ntwo\nthree\n')).toBe('3');
    // The exit code of `cat`: 0, because its reader stayed until it had written.
    expect(shell('cat keys.txt > in & bloomery check keys.blm in --count; wait $!').code).toBe(0);
  });

  test('and devices take a filter, and stay what they are, forced or not', () => {
    execFileSync('mkfifo', [at('out')]);
    for (const force of ['', '--force']) {
      const line = `cat out > copy.blm & bloomery build keys.txt ${force} -o out && wait $!`;
      expect(shell(line).code, force).toBe(0);
      expect(lstatSync(at('out')).isFIFO()).toBe(true);
      expect(found('copy.blm', 'one\ntwo\nthree\nfour\n'), force).toBe('3');
      expect(run(['halve', 'keys.blm', '-o', '/dev/null', ...(force ? [force] : [])]).stderr).not.toMatch(
        /exists already/,
      );
      expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true);
    }
    expect(readdirSync(folder).filter((name) => name.endsWith('-tmp'))).toEqual([]);
  });

  test('who reads one may go away', () => {
    execFileSync('mkfifo', [at('short')]);
    const line = 'head -c 10 short > /dev/null & bloomery build keys.txt --bits 8M -k 3 -s bloom -o short';
    expect(shell(line).code).toBe(141);
  });
});

describe('files that are replaced', () => {
  test('keep their mode and their owner', (context) => {
    writeFileSync(at('kept.blm'), readFileSync(at('keys.blm')));
    chmodSync(at('kept.blm'), 0o664);
    expect(run(['add', 'kept.blm'], 'four\n').code).toBe(0);
    expect(found('kept.blm', 'four\n')).toBe('1');
    expect(statSync(at('kept.blm')).mode & 0o777).toBe(0o664);
    if (process.getuid?.() !== 0) context.skip('only root can change a file of another user');
    chmodSync(at('kept.blm'), 0o600);
    chownSync(at('kept.blm'), 12_345, 12_346);
    expect(run(['add', 'kept.blm'], 'five\n').code).toBe(0);
    expect(statSync(at('kept.blm'))).toMatchObject({ uid: 12_345, gid: 12_346 });
    expect(statSync(at('kept.blm')).mode & 0o777).toBe(0o600);
  });

  test('a file that a dead process left and that may not be removed does not matter', () => {
    // A directory of that name is as stubborn as the file of another user in /tmp, also for root.
    mkdirSync(at('.stubborn.blm.99999999.bloomery-tmp'));
    writeFileSync(at('.stubborn.blm.99999998.bloomery-tmp'), 'left behind');
    expect(run(['build', 'keys.txt', '-o', 'stubborn.blm'])).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(folder).filter((name) => name.startsWith('.stubborn'))).toEqual([
      '.stubborn.blm.99999999.bloomery-tmp',
    ]);
  });

  test('only if they were there before: what comes while keys come in stays', async () => {
    const child = startBloomery(['build', '-o', at('late.blm')]);
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // It has looked for the output when it has taken more than a pipe holds.
    await new Promise((resolve) => child.stdin.write('x\n'.repeat(1 << 20), resolve));
    writeFileSync(at('late.blm'), 'precious');
    child.stdin.end();
    expect(await ended).toBe(2);
    expect(stderr).toMatch(/late\.blm exists already; --force replaces it, nothing was changed/);
    expect(readFileSync(at('late.blm'), 'utf8')).toBe('precious');
    expect(readdirSync(folder).filter((name) => name.startsWith('.late'))).toEqual([]);
  });

  test('and a change by another process while keys are added is not undone', async () => {
    writeFileSync(at('changed.blm'), readFileSync(at('keys.blm')));
    const child = startBloomery(['add', at('changed.blm')]);
    let stderr = '';
    child.stderr.on('data', (text) => {
      stderr += text;
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // It has looked at the filter when it reads keys.
    await new Promise((resolve) => child.stdin.write('x\n'.repeat(1 << 20), resolve));
    writeFileSync(at('changed.blm'), 'precious');
    child.stdin.end();
    expect(await ended).toBe(2);
    expect(stderr).toMatch(/changed\.blm (was changed by another process|is not a filter)/);
    expect(readFileSync(at('changed.blm'), 'utf8')).toBe('precious');
  });

  test('a link that leads nowhere is not replaced without being told to', () => {
    symlinkSync('nowhere', at('dangling.blm'));
    refused(['build', 'keys.txt', '-o', 'dangling.blm'], /dangling\.blm exists already/);
    expect(lstatSync(at('dangling.blm')).isSymbolicLink()).toBe(true);
  });
});

describe('packed keys that are cut off or damaged', () => {
  const text = Array.from({ length: 50_000 }, (_, i) => `key ${i}\n`).join('');

  test('are an error of their file, in words', () => {
    const zstd = spawnSync('zstd', ['-q'], { input: text }).stdout;
    const gzip = spawnSync('gzip', [], { input: text }).stdout;
    const xz = spawnSync('xz', ['-c'], { input: text }).stdout;
    for (const [name, bytes] of Object.entries({ zstd, gzip, xz })) {
      expect(bytes.length, `${name} must be installed`).toBeGreaterThan(1000);
      for (const length of [12, 1000, bytes.length - 1]) {
        writeFileSync(at('packed'), bytes.subarray(0, length));
        refused(
          ['build', 'packed', '-o', 'no.blm'],
          new RegExp(`packed: the ${name} data is damaged or cut off`),
        );
      }
      writeFileSync(at('packed'), Buffer.concat([bytes, Buffer.from('and more text\n')]));
      refused(
        ['build', 'packed', '-o', 'no.blm'],
        new RegExp(`packed: the ${name} data is damaged or cut off`),
      );
    }
  });

  test('xz needs the program of that name, and the message says so where it is missing', () => {
    writeFileSync(at('keys.xz'), spawnSync('xz', ['-c'], { input: text }).stdout);
    const { code, stderr } = bloomery(['build', 'keys.xz', '-o', 'no.blm'], {
      cwd: folder,
      env: { PATH: '' },
    });
    expect(stderr).toContain('keys.xz is packed with xz; install the program xz (Debian: xz-utils)');
    expect(code).toBe(2);
  });

  test('zstd may begin with a frame to be skipped, and gzip, zstd and xz have several', () => {
    const skip = Buffer.from('502a4d1804000000deadbeef', 'hex');
    const zstd = spawnSync('zstd', ['-q'], { input: text }).stdout;
    const gzip = spawnSync('gzip', [], { input: text }).stdout;
    writeFileSync(at('skip.zst'), Buffer.concat([skip, zstd, skip, zstd]));
    const xz = spawnSync('xz', ['-c'], { input: text }).stdout;
    writeFileSync(at('two.gz'), Buffer.concat([gzip, gzip]));
    writeFileSync(at('two.xz'), Buffer.concat([xz, xz]));
    for (const name of ['skip.zst', 'two.gz', 'two.xz']) {
      const { stdout } = run(['build', name, '--json', '--force', '-o', 'packed.blm']);
      expect(JSON.parse(stdout), name).toMatchObject({ keys: 100_000 });
    }
  });
});

describe('CSV', () => {
  test('a quote within a field opens nothing, wherever a file is cut into chunks', () => {
    // 2 MB: several chunks, with stray quotes, quoted newlines and doubled quotes.
    const rows = Array.from({ length: 40_000 }, (_, i) =>
      i % 3 === 0 ? `${i},5" pipe ${i},n${i}` : `${i},"two\nlines, ""${i}""",n${i}`,
    );
    writeFileSync(at('quotes.csv'), `id,what,name\n${rows.join('\n')}\n`);
    writeFileSync(at('names.txt'), rows.map((_, i) => `n${i}\n`).join(''));
    for (const args of [['quotes.csv'], ['-']]) {
      const input = args[0] === '-' ? readFileSync(at('quotes.csv')) : '';
      const { stdout } = run(
        ['build', ...args, '--column', 'name', '--json', '--force', '-o', 'quotes.blm'],
        input,
      );
      expect(JSON.parse(stdout)).toMatchObject({ keys: rows.length });
      expect(run(['check', 'quotes.blm', '-v', 'names.txt'])).toMatchObject({ code: 1, stdout: '' });
    }
    const what = run([
      'build',
      'quotes.csv',
      '--column',
      'what',
      '--force',
      '-r',
      '1e-9',
      '-o',
      'quotes.blm',
    ]);
    expect(what.code).toBe(0);
    expect(run(['check', 'quotes.blm', '-0', '--count'], '5" pipe 39999\0two\nlines, "39998"\0').stdout).toBe(
      '2\n',
    );
  });

  test('a quote that is never closed, and text behind a closed one, are errors', () => {
    refused(
      ['build', '--column', 'b', '-o', 'no.blm'],
      /-: the quote that begins "\\"x\\n2,y\\n3,z\\n" is never closed/,
      'a,b\n1,"x\n2,y\n3,z\n',
    );
    writeFileSync(at('open.csv'), 'a,b\n1,"x\n2,y\n');
    refused(
      ['build', 'open.csv', '--column', 'b', '-o', 'no.blm'],
      /open\.csv: the quote that begins .* is never closed/,
    );
    refused(
      ['build', '--column', '2', '-o', 'no.blm'],
      /-: line 3 has text behind a closing quote in column 2/,
      '1,"two\nlines"\n2,"x" y\n',
    );
  });
});

describe('a byte order mark', () => {
  test('before lines is told', () => {
    writeFileSync(at('mark.txt'), '\uFEFFone\ntwo\n');
    expect(run(['check', 'keys.blm', 'mark.txt'])).toEqual({
      code: 0,
      stdout: 'two\n',
      stderr:
        'bloomery: warning: mark.txt begins with a byte order mark, which is taken as part of the first key; without it: tail -c +4 mark.txt\n',
    });
    writeFileSync(at('mark-large.txt'), `\uFEFF${'one\n'.repeat(200_000)}`);
    expect(run(['check', 'keys.blm', 'mark-large.txt', '--count'])).toMatchObject({
      stdout: '199999\n',
      stderr: expect.stringMatching(/byte order mark/),
    });
  });

  test('before CSV and JSON is no part of them', () => {
    writeFileSync(at('mark.csv'), '\uFEFF"name","x"\r\n"one",1\r\n');
    expect(run(['check', 'keys.blm', 'mark.csv', '--column', 'name', '--count'])).toEqual({
      code: 0,
      stdout: '1\n',
      stderr: '',
    });
    expect(run(['check', 'keys.blm', '--column', '1', '--count'], '\uFEFF"one",1\n').stdout).toBe('1\n');
    expect(run(['check', 'keys.blm', '--jsonl', '.k', '--count'], '\uFEFF{"k":"one"}\n').stdout).toBe('1\n');
  });
});

describe('files of other systems are asked for the keys that were added to them', () => {
  test('text that is no UTF-8, and text with a mark, in Guava', () => {
    const keys = Buffer.from('caf\xe9\n\xef\xbb\xbfmarked\nplain\n', 'latin1');
    writeFileSync(
      at('x.guava'),
      GuavaFilter.create({ capacity: 100, falsePositiveRate: 1e-9, funnel: 'utf8' }).encode(),
    );
    writeFileSync(at('latin.txt'), keys);
    expect(run(['add', 'x.guava', 'latin.txt']).code).toBe(0);
    expect(run(['check', 'x.guava', 'latin.txt', '--count']).stdout).toBe('3\n');
    expect(run(['check', 'x.guava', 'latin.txt', '--funnel', 'bytes', '--count']).stdout).toBe('3\n');
    expect(run(['verify', 'x.guava', '--keys', 'latin.txt', '--trials', '1000']).stdout).toMatch(
      /3 of 3 found/,
    );
    expect(
      run(['verify', 'x.guava', '--funnel', 'bytes', '--keys', 'latin.txt', '--trials', '1000']).code,
    ).toBe(0);
  });

  test('a blank line is no number', () => {
    const guava = GuavaFilter.create({ capacity: 100, falsePositiveRate: 1e-9, funnel: 'long' });
    guava.add(0n);
    writeFileSync(at('zero.guava'), guava.encode());
    refused(['check', 'zero.guava', '--funnel', 'long'], /its keys are integers, got ""/, '\n');
    refused(['check', 'zero.guava', '--funnel', 'long'], /its keys are integers, got "0x0"/, '0x0\n');
    expect(run(['check', 'zero.guava', '--funnel', 'long'], '0\n').stdout).toBe('0\n');
  });
});

test('options that would be passed over are refused', () => {
  refused(
    ['build', 'keys.txt', '--header', '-o', 'no.blm'],
    /--header is about columns; --column says which/,
  );
  refused(['check', 'keys.blm', 'keys.txt', '-d', ';'], /--delimiter is about columns; --column says which/);
  refused(['add', 'keys.blm', '--jsonl', 'a..b'], /--jsonl must be a path such as/);
});

test('a journal of another user, or one that is no file, does not stop reading or writing', (context) => {
  const large = new BlockedBloomFilter({ blocks: 20_000, hashes: 7 });
  large.add('one');
  for (const name of ['pipe.blm', 'stranger.blm']) writeFileSync(at(name), large.encode());
  execFileSync('mkfifo', [at('.pipe.blm.bloomery-journal')]);
  const { code, stdout, stderr } = run(['check', 'pipe.blm'], 'one\n');
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'one\n' });
  expect(stderr).toMatch(/^[^\n]*journal belongs to another user and was left alone\n$/);
  expect(run(['add', 'pipe.blm'], 'two\n').code).toBe(0);
  expect(found('pipe.blm', 'one\ntwo\n')).toBe('2');
  if (process.getuid?.() !== 0) context.skip('only root can make a file that belongs to another user');
  writeFileSync(at('.stranger.blm.bloomery-journal'), 'rubbish');
  chownSync(at('.stranger.blm.bloomery-journal'), 12_345, 12_345);
  expect(run(['check', 'stranger.blm'], 'one\n')).toMatchObject({
    code: 0,
    stdout: 'one\n',
    stderr: expect.stringMatching(/^[^\n]*journal belongs to another user and was left alone\n$/),
  });
});
