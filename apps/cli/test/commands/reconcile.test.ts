/** `reconcile` on files and over real programs, compared with `comm`. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { eventually } from '@bloomery/testkit/eventually';
import { Random } from '@bloomery/testkit/statistics';
import { describe, expect, test } from 'vitest';
import { bloomery, COMMAND, startBloomery, temporaryFolder } from '../run-command.ts';

const cwd = temporaryFolder();
const run = (...args: string[]) => bloomery(['reconcile', ...args], { cwd });
const put = (name: string, bytes: string | Uint8Array) => writeFileSync(join(cwd, name), bytes);
/** The words that answer a session with the keys of a file. */
const serve = (...args: string[]) => ['--', process.execPath, COMMAND, 'reconcile', '--serve', ...args];
const shell = (script: string) => ['--', 'sh', '-c', script];
const answer = `'${process.execPath}' '${COMMAND}' reconcile --serve`;

put('a.txt', 'ant\nbee\ncat\nbee\n');
put('b.txt', 'dog\ncat\neel\nbee\n');
const random = new Random(21);
const words = Array.from({ length: 3000 }, () => random.bytes(6).reduce((text, byte) => text + byte, 'k'));
put('many-a.txt', `${words.slice(0, 2900).join('\n')}\n`);
put('many-b.txt', `${words.slice(250).toReversed().join('\n')}\n`);

describe('two files', () => {
  test('prints what each side lacks in the order of the files, and ends like diff', () => {
    expect(run('a.txt', 'b.txt')).toEqual({ code: 1, stdout: '< ant\n> dog\n> eel\n', stderr: '' });
    expect(run('a.txt', 'a.txt')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(run('a.txt', 'missing.txt')).toMatchObject({
      code: 2,
      stderr: 'bloomery: error: missing.txt: no such file or directory\n',
    });
  });

  test('--only-here, --only-there and --count', () => {
    expect(run('--only-here', 'a.txt', 'b.txt')).toMatchObject({ code: 1, stdout: 'ant\n' });
    expect(run('--only-there', 'a.txt', 'b.txt')).toMatchObject({ code: 1, stdout: 'dog\neel\n' });
    expect(run('--count', 'a.txt', 'b.txt')).toMatchObject({ code: 1, stdout: '< 1\n> 2\n' });
    expect(run('-c', '--only-there', 'a.txt', 'b.txt').stdout).toBe('2\n');
    expect(run('--only-here', '--only-there', 'a.txt', 'b.txt').code).toBe(2);
  });

  test('agrees with comm', () => {
    const compared = (column: string) =>
      execFileSync(
        'bash',
        ['-c', `LC_ALL=C comm ${column} <(LC_ALL=C sort -u many-a.txt) <(LC_ALL=C sort -u many-b.txt)`],
        { cwd },
      )
        .toString()
        .split('\n');
    const found = (side: string) => run(side, 'many-a.txt', 'many-b.txt').stdout.split('\n').sort();
    expect(found('--only-here')).toEqual(compared('-23').sort());
    expect(found('--only-there')).toEqual(compared('-13').sort());
    expect(compared('-23').length).toBeGreaterThan(240);
  });

  test('--json and --stats tell the cost, and bytes that are no text', () => {
    put('raw', Uint8Array.of(0xff, 10, 0x41, 10));
    const { stdout, stderr, code } = run('--json', 'raw', 'a.txt');
    expect([code, stderr]).toEqual([1, '']);
    expect(JSON.parse(stdout)).toEqual({
      equal: false,
      onlyHereCount: 2,
      onlyThereCount: 3,
      onlyHere: [{ base64: '/w==' }, 'A'],
      onlyThere: ['ant', 'bee', 'cat'],
      method: 'list',
      bytesSent: expect.any(Number),
      bytesReceived: expect.any(Number),
      roundTrips: 2,
      attempts: 1,
    });
    expect(run('--stats', '-c', 'many-a.txt', 'many-b.txt').stderr).toMatch(
      /^350 differences by \w+: [\d.]+ k?B sent, [\d.]+ kB received, \d+\.\d per difference; at most \d+ round trips\n$/,
    );
  });

  test('columns, fields, gzip and standard input are read as in the other commands', () => {
    put('a.csv', 'id,name\n1,ant\n2,"bee\nhive"\n');
    put('b.csv', 'id,name\n3,"bee\nhive"\n4,cat\n');
    expect(run('--column', 'name', 'a.csv', 'b.csv').stdout).toBe('< ant\n> cat\n');
    put('b.txt.gz', gzipSync(readFileSync(join(cwd, 'b.txt'))));
    expect(bloomery(['reconcile', '-', 'b.txt.gz'], { cwd, input: 'bee\ncat\n' }).stdout).toBe(
      '> dog\n> eel\n',
    );
    put('a.zero', 'x\ny\0z\0');
    put('b.zero', 'z\0');
    expect(run('-0', 'a.zero', 'b.zero').stdout).toBe('< x\ny\0');
  });

  test('a key with a newline is not printed as two lines', () => {
    const { code, stdout, stderr } = run('--column', 'id', 'a.csv', 'b.csv');
    expect([code, stdout]).toEqual([1, '< 1\n< 2\n> 3\n> 4\n']);
    expect(stderr).toBe('');
    put('c.csv', 'name\nant\n');
    expect(run('--column', 'name', 'a.csv', 'c.csv')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'bloomery: error: a key has a newline in it; --json prints such keys\n',
    });
  });

  test('says how it is used', () => {
    expect(run('a.txt').stderr).toMatch(/compares two files, got 1; for a file on another machine: /);
    expect(run('a.txt', 'b.txt', 'a.txt').code).toBe(2);
    expect(run('-', '-').stderr).toMatch(/only one of the two files can be standard input/);
    expect(run('--', 'a.txt', 'b.txt').stderr).toMatch(/one file before -- and a command after it/);
    expect(run('a.txt', '--').stderr).toMatch(/one file before -- and a command after it/);
  });
});

describe('over a program', () => {
  test('prints the same as for two files, and keys only where they are wanted', () => {
    expect(run('a.txt', ...serve('b.txt'))).toEqual({ code: 1, stdout: '< ant\n> dog\n> eel\n', stderr: '' });
    expect(run('a.txt', ...serve('a.txt'))).toEqual({ code: 0, stdout: '', stderr: '' });
    const here = run('many-a.txt', 'many-b.txt').stdout;
    const { stdout, stderr } = run('--stats', 'many-a.txt', ...serve('--stats', 'many-b.txt'));
    expect(stdout.split('\n').sort()).toEqual(here.split('\n').sort());
    expect(stderr).toMatch(/^served by \w+: /m); // its standard error passes through
    const bytes = (...args: string[]) => {
      const { bytesSent, bytesReceived } = JSON.parse(run('--json', ...args).stdout);
      return bytesSent + bytesReceived;
    };
    const count = bytes('--count', 'many-a.txt', ...serve('many-b.txt'));
    expect(bytes('many-a.txt', ...serve('many-b.txt'))).toBeGreaterThan(count + 350 * 6);
  });

  test('--no-keys sends no keys', () => {
    const { code, stdout, stderr } = run('a.txt', ...serve('--no-keys', 'b.txt'));
    expect([code, stdout]).toEqual([1, '< ant\n']);
    expect(stderr).toMatch(/the other side has 2 keys that are not here, and does not send them/);
    expect(JSON.parse(run('--json', '--no-keys', 'a.txt', ...serve('b.txt')).stdout)).toMatchObject({
      onlyThere: null,
      onlyThereCount: 2,
    });
  });

  test('a greeting, a wrong program and one that fails give one clear line each', () => {
    const fails = (args: string[], message: RegExp) => {
      const { code, stdout, stderr } = run('a.txt', ...args);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(message);
      // The other side may have something to say as well.
      const own = stderr
        .trim()
        .split('\n')
        .filter((line) => !/the other side closed/.test(line));
      expect(own).toHaveLength(1);
    };
    fails(
      shell(`echo Welcome to host; ${answer} b.txt`),
      /sh answered "Welcome to host" instead of a session/,
    );
    fails(shell('printf "\\n\\nmotd"; cat > /dev/null'), /sh answered "motd" instead of a session/);
    fails(['--', 'cat'], /cat answered "\\u0001.*" instead of a session/);
    fails(['--', 'true'], /true ended with exit code 0 before the session was over; it must run/);
    fails(shell('exit 255'), /sh ended with exit code 255 before the session was over/);
    fails(shell('kill -9 $$'), /sh was ended by SIGKILL before the session was over/);
    fails(['--', 'no-such-program'], /no-such-program: no such program; after -- comes the command/);
  });

  test('bytes that begin like a session and go on otherwise are no answer', () => {
    const { code, stdout, stderr } = run('a.txt', ...shell('printf "\\002\\005abcde"; cat > /dev/null'));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/sh sent something else than a session \(Cannot reconcile: /);
    const limited = run('--max-bytes', '1024', 'many-a.txt', ...serve('many-b.txt'));
    expect([limited.code, limited.stdout]).toEqual([2, '']);
    expect(limited.stderr).toMatch(/expected at most 1024 bytes .*; --max-bytes allows more/);
  });

  test('a broken connection is an error, and --retries starts again', () => {
    // The shell ends with `head`, so both directions close. Three bytes are less than any first
    // answer: head keeps what it has read until it ends.
    const broken = `{ ${answer} many-b.txt <&3 & } 3<&0 | head -c 3`;
    const once = run('many-a.txt', ...shell(broken));
    expect([once.code, once.stdout]).toEqual([2, '']);
    expect(once.stderr).toMatch(/before the session was over/);
    const again = run(
      '--retries',
      '2',
      '-c',
      'many-a.txt',
      ...shell(`if [ -e second ]; then exec ${answer} many-b.txt; fi; touch second; ${broken}`),
    );
    expect([again.code, again.stdout]).toEqual([1, '< 250\n> 100\n']);
    expect(again.stderr).toMatch(/before the session was over; starting again \(1 of 2\)/);
    expect(existsSync(join(cwd, 'second'))).toBe(true);
  });

  test('--silence ends a session that stalls', () => {
    const { code, stderr } = run(
      '--silence',
      '0.2',
      'many-a.txt',
      ...shell(`${answer} many-b.txt | { head -c 3; cat > /dev/null; sleep 1; }`),
    );
    expect(code).toBe(2);
    expect(stderr).toMatch(/nothing came from the other side for 0.2 s \(--silence\)/);
  });

  test('Ctrl-C ends the command by its signal, and the program with it', async () => {
    const words = shell('echo $$ > pid; cat > /dev/null; exit 3');
    const child = startBloomery(['reconcile', 'a.txt', ...words], cwd);
    await eventually(() => existsSync(join(cwd, 'pid')) && readFileSync(join(cwd, 'pid')).length > 0);
    const pid = Number(readFileSync(join(cwd, 'pid')));
    child.kill('SIGINT');
    expect((await once(child, 'exit'))[1]).toBe('SIGINT');
    await eventually(() => !isAlive(pid));
  });
});

describe('--serve', () => {
  test('refuses to be used by hand', () => {
    const served = (input: string, ...args: string[]) =>
      bloomery(['reconcile', '--serve', ...args], { cwd, input });
    expect(served('hello\n', 'a.txt').stderr).toMatch(
      /standard input begins with "hello" instead of a session/,
    );
    expect(served('', 'a.txt')).toMatchObject({ code: 2, stdout: '' });
    expect(served('', '-').stderr).toMatch(/uses standard input for the connection; name a file/);
    expect(served('').stderr).toMatch(/--serve takes one file of keys, got 0/);
    expect(served('', 'a.txt', '--count').code).toBe(2);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
