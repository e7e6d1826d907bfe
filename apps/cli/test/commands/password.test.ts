/**
 * `bloomery password`, as people run it: in a directory of its own, with pipes, and in a terminal
 * (tmux).
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { eventually } from '@bloomery/testkit/eventually';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type } from '../../src/terminal/secret-prompt.ts';

const COMMAND = join(import.meta.dirname, '../../bin/bloomery.js');
const directory = mkdtempSync(join(tmpdir(), 'bloomery-password-'));
afterAll(() => rmSync(directory, { recursive: true }));

function run(args: string[], { input = '', env = {} }: { input?: string | Uint8Array; env?: object } = {}) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [COMMAND, 'password', ...args], {
    cwd: directory,
    input,
    env: { ...process.env, NO_COLOR: '1', BLOOMERY_BLOCKLIST: undefined, ...env },
    encoding: 'utf8',
  });
  return { stdout, stderr, status };
}

const file = (name: string, content: string | Uint8Array) => writeFileSync(join(directory, name), content);

beforeAll(() => {
  file('words.txt', 'dragon\nmonkey\r\nsunshine\nsmørrebrød\ncat\n');
  file('key', '000102030405060708090a0b0c0d0e0f\n');
  expect(run(['build', 'words.txt', '-o', 'bad.blpw', '--rate', '1e-6'])).toEqual({
    stdout: '',
    stderr: '',
    status: 0,
  });
  expect(run(['build', 'words.txt', '-o', 'keyed.blpw', '--key-file', 'key']).status).toBe(0);
  const bytes = readFileSync(join(directory, 'bad.blpw'));
  const change = (at: number, value: number) => bytes.map((byte, i) => (i === at ? value : byte));
  file('cut.blpw', bytes.subarray(0, 60));
  file('damaged.blpw', change(bytes.length - 9, bytes[bytes.length - 9] ^ 1));
  file('later.blpw', change(4, 2));
});

describe('build', () => {
  test('gzip, several lists and standard input give one blocklist', () => {
    file('more.gz', gzipSync('dragon\nmonkey\nsunshine\n'));
    const { status, stdout } = run(
      ['build', 'more.gz', '-', '-o', 'piped.blpw', '--rate', '1e-6', '--json'],
      {
        input: 'smørrebrød\ncat\n',
      },
    );
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      words: 5,
      caseSensitive: false,
      nearMinimum: 4,
      leftOut: 0,
      latin1: 0,
    });
    expect(readFileSync(join(directory, 'piped.blpw'))).toEqual(readFileSync(join(directory, 'bad.blpw')));
  });

  test('a column of CSV', () => {
    file('list.csv', 'rank,password\n1,hunter2\n2,"a,b,c,d"\n');
    expect(run(['build', 'list.csv', '--column', 'password', '-o', 'csv.blpw', '--verbose']).stderr).toMatch(
      /^2 words in 1\d\d B \(\d+\.\d bits a word\), 0\.00\d+ % mistaken refusals, /,
    );
    expect(run(['check', '-b', 'csv.blpw'], { input: 'a,b,c,d' }).stdout).toBe(
      'refused: it is on the list\n',
    );
  });

  test('standard output', () => {
    const { stdout } = spawnSync(
      process.execPath,
      [COMMAND, 'password', 'build', 'words.txt', '-o', '-', '-r', '1e-6'],
      {
        cwd: directory,
      },
    );
    expect(stdout).toEqual(readFileSync(join(directory, 'bad.blpw')));
  });

  test('what was left out or guessed is told', () => {
    const input = Buffer.concat([Buffer.from(`${'x'.repeat(73)}\n`), Buffer.from('jörg\n', 'latin1')]);
    expect(run(['build', '-o', 'odd.blpw'], { input })).toEqual({
      stdout: '',
      stderr:
        'bloomery: warning: 1 words of more than 72 characters were left out\n' +
        'bloomery: warning: 1 lines were no UTF-8 and were read as Latin-1\n',
      status: 0,
    });
    expect(run(['build', '-o', 'odd2.blpw', '--quiet'], { input }).stderr).toBe('');
  });

  test.each([
    [['words.txt', '-o', 'bad.blpw'], 'bad.blpw exists already; --force replaces it, nothing was changed'],
    [
      ['words.txt', '-o', 'bad.blpw', '--force', '--rate', '1e-12'],
      '--rate is too small: expected refusalRate to be at least',
    ],
    [['missing.txt', '-o', 'new.blpw'], 'missing.txt: no such file or directory'],
    [['.', '-o', 'new.blpw'], '. is a directory'],
    [['bad.blpw', '-o', 'new.blpw'], 'bad.blpw looks binary'],
    [['-o', 'new.blpw'], 'no words came; a blocklist needs at least one'],
    [['words.txt', '-o', 'new.blpw', '--rate', '2'], 'Expected a rate between 0 and 1'],
    [['words.txt', '-o', 'new.blpw', '--length', '300'], 'lengths go up to 255 characters, got 300'],
    [['words.txt', '-o', 'new.blpw', '--key-file', 'words.txt'], 'words.txt is no key'],
    [['words.txt', '-o', 'nowhere/new.blpw'], 'there is no directory nowhere'],
    [['words.txt', '-o', '-', '--json'], '--json and -o - both want standard output'],
    [['words.txt'], "required option '-o, --output <file>' not specified"],
  ])('%j is refused and changes nothing', (args, message) => {
    const before = readFileSync(join(directory, 'bad.blpw'));
    const { stdout, stderr, status } = run(['build', ...args]);
    expect(stderr).toContain(message);
    expect({ stdout, status }).toEqual({ stdout: '', status: 2 });
    expect(readFileSync(join(directory, 'bad.blpw'))).toEqual(before);
    expect(existsSync(join(directory, 'new.blpw'))).toBe(false);
    expect(readdirSync(directory).filter((name) => name.endsWith('tmp'))).toEqual([]);
  });
});

describe('check, from a pipe', () => {
  test('a verdict a line, exit code 1 if any is refused', () => {
    const input = 'Dragon\r\nm0nkey\nsunshin\nsmorrebrød\ncats\n\nXk3$9fLq2pWm';
    expect(run(['check', '-b', 'bad.blpw'], { input })).toEqual({
      stdout: [
        'refused: it is on the list',
        'refused: it is one character away from a word on the list',
        'refused: it is one character away from a word on the list',
        'refused: it is one character away from a word on the list',
        'accepted',
        'refused: it is empty',
        'accepted\n',
      ].join('\n'),
      stderr: '',
      status: 1,
    });
  });

  test('exit code 0 if all are accepted; the blocklist from the environment', () => {
    expect(run(['check'], { input: 'Xk3$9fLq2pWm\n', env: { BLOOMERY_BLOCKLIST: 'bad.blpw' } })).toEqual({
      stdout: 'accepted\n',
      stderr: '',
      status: 0,
    });
    expect(run(['check', '-b', 'bad.blpw', '-q'], { input: 'dragon\n' })).toEqual({
      stdout: '',
      stderr: '',
      status: 1,
    });
  });

  test('JSON', () => {
    const { stdout } = run(['check', '-b', 'bad.blpw', '--json'], { input: 'dragons\nXk3$9fLq2pWm\n' });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([
      { number: 1, refused: true, reason: 'near' },
      { number: 2, refused: false, reason: null },
    ]);
  });

  test.each([[['hunter2']], [['-b', 'bad.blpw', 'hunter2']], [['--hunter2']]])(
    '%j: never an argument',
    (args) => {
      const { stdout, stderr, status } = run(['check', ...args]);
      expect({ stdout, status }).toEqual({ stdout: '', status: 2 });
      expect(stderr).toContain('a password on the command line is seen by all users in ps');
      expect(stderr).not.toContain('hunter2');
    },
  );

  test.each([
    [[], 'dragon', '--blocklist names the file; make one with: bloomery password build'],
    [['-b', 'bad.blpw'], '', 'no password came on standard input'],
    [
      ['-b', 'words.txt'],
      'dragon',
      'words.txt is no password blocklist; make one with: bloomery password build',
    ],
    [['-b', 'missing'], 'dragon', 'missing: no such file or directory'],
    [['-b', '-'], 'dragon', '--blocklist must be a file: standard input is for passwords'],
    [['-b', 'cut.blpw'], 'dragon', 'cut.blpw is cut off, or no password blocklist'],
    [['-b', 'damaged.blpw'], 'dragon', 'damaged.blpw was damaged; build it again'],
    [['-b', 'later.blpw'], 'dragon', 'later.blpw was written by a later version of bloomery'],
    [['-b', 'keyed.blpw'], 'dragon', 'keyed.blpw needs its secret key (--key-file)'],
    [['-b', 'bad.blpw', '--key-file', 'key'], 'dragon', 'bad.blpw was made with another key, or with none'],
  ])('%j with %j on standard input', (args, input, message) => {
    expect(run(['check', ...args], { input })).toEqual({
      stdout: '',
      stderr: `bloomery: error: ${message}\n`,
      status: 2,
    });
  });

  test('a password that is no UTF-8 is not printed either', () => {
    const { stderr, status } = run(['check', '-b', 'bad.blpw'], {
      input: Buffer.from('geheimnißvoll\n', 'latin1'),
    });
    expect({ stderr, status }).toEqual({
      stderr: 'bloomery: error: a password on standard input is not UTF-8\n',
      status: 2,
    });
  });

  test('UTF-16 is no UTF-8, and is not taken for other passwords', () => {
    const { stdout, stderr, status } = run(['check', '-b', 'bad.blpw'], {
      input: Buffer.from('dragon\r\n', 'utf16le'),
    });
    expect({ stdout, stderr, status }).toEqual({
      stdout: '',
      stderr:
        'bloomery: error: a password on standard input has zero bytes: it is binary, or UTF-16; expected UTF-8\n',
      status: 2,
    });
  });

  test('a byte order mark is no part of the first password', () => {
    const { stdout } = run(['check', '-b', 'bad.blpw'], { input: '\ufeffcat\n\ufeffcat\n' });
    expect(stdout).toBe('refused: it is on the list\naccepted\n');
    expect(run(['check', '-b', 'bad.blpw'], { input: '\ufeffm0nkey\n' }).stdout).toBe(
      'refused: it is one character away from a word on the list\n',
    );
  });

  test('with its key', () => {
    expect(run(['check', '-b', 'keyed.blpw', '--key-file', 'key'], { input: 'dragon1' }).status).toBe(1);
  });
});

test('info', () => {
  const { stdout, status } = run(['info', 'bad.blpw']);
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^words +5\nlength +3 to 10 characters\nsize +\d+ B, [\d.]+ bits a word\nmistaken refusals /,
  );
  const facts = JSON.parse(run(['info', 'bad.blpw', '--json']).stdout);
  expect(facts).toMatchObject({ words: 5, refusalRate: 1e-6, typicalLength: 12, hash: 'forge64/0' });
  expect(facts.estimatedRefusalRate).toBeLessThanOrEqual(1e-6);
  expect(run(['info', 'words.txt'])).toMatchObject({ stdout: '', status: 2 });
});

describe('in a terminal', () => {
  const socket = `bloomery-password-${process.pid}`;
  const tmux = (...args: string[]) => execFileSync('tmux', ['-L', socket, ...args], { encoding: 'utf8' });
  const screen = () => tmux('capture-pane', '-p').trim();
  const line = `${process.execPath} ${COMMAND} password check -b bad.blpw`;
  let starts = 0;

  /**
   * Types a line, and waits until it asks: for this question, not for one that is still on the
   * screen.
   */
  async function askFor(rest: string): Promise<void> {
    const mark = `begin${++starts}`;
    tmux('send-keys', `clear; echo ${mark}; ${line}; ${rest}`, 'Enter');
    await waitFor(new RegExp(`^${mark}\\s+Password:`, 'm'));
  }

  async function waitFor(pattern: RegExp): Promise<string> {
    await eventually(() => pattern.test(screen()), 30_000).catch(() => {
      expect.fail(`${pattern} did not come; the screen shows:\n${screen()}`);
    });
    return screen();
  }

  beforeAll(() => {
    tmux('new-session', '-d', '-x', '200', '-y', '50', '-c', directory, 'sh');
  });
  afterAll(() => {
    tmux('kill-server');
  });

  test('what is typed is not shown', async () => {
    await askFor('echo code=$?');
    // Typed, mended, moved about in: 'dragon' comes out.
    tmux('send-keys', '-l', 'wrongdragonx');
    tmux('send-keys', 'BSpace', 'Left', 'Up');
    tmux('send-keys', 'C-u');
    tmux('send-keys', '-l', 'dragon');
    expect(screen()).not.toMatch(/dragon/);
    tmux('send-keys', 'Enter');
    const shown = await waitFor(/code=\d/);
    expect(shown).toMatch(/^Password:\s+refused: it is on the list\s+code=1/m);
    expect(shown).not.toMatch(/dragon/);
  });

  test('Ctrl-C gives the terminal back', async () => {
    await askFor(
      "echo code=$?; stty -a | tr ' ;' '\\n\\n' | grep -x -e '-\\?echo' -e '-\\?icanon'; echo done",
    );
    tmux('send-keys', '-l', 'secret');
    tmux('send-keys', 'C-c');
    // A shell may stop the whole line at an interrupt: then ask again.
    await waitFor(/^Password:\s*\n[\s\S]*[$#]\s*$|done$/m);
    tmux(
      'send-keys',
      "stty -a | tr ' ;' '\\n\\n' | grep -x -e '-\\?echo' -e '-\\?icanon'; echo end=",
      'Enter',
    );
    const shown = await waitFor(/^end=/m);
    expect(shown).toMatch(/^echo$/m);
    expect(shown).toMatch(/^icanon$/m);
    expect(shown).not.toMatch(/secret|-icanon$/m);
  });

  test('letters that are no UTF-8 are not taken for others', async () => {
    await askFor('echo code=$?');
    tmux('send-keys', '-l', 'drag');
    // Latin-1, as a terminal with another setting sends it.
    tmux('send-keys', '-H', 'f6');
    tmux('send-keys', 'Enter');
    expect(await waitFor(/code=\d/)).toMatch(/error: the password that was typed is not UTF-8; .*\s+code=2/);
  });

  test('Ctrl-D without a password is an error', async () => {
    await askFor('echo code=$?');
    tmux('send-keys', 'C-d');
    expect(await waitFor(/code=\d/)).toMatch(/error: no password came\s+code=2/);
  });
});

test('editing a line that is not shown', () => {
  const typed = (...inputs: string[]) =>
    inputs.reduce(type, { text: '', state: 'typing' } as Parameters<typeof type>[0]);
  expect(typed('ab', 'c\r')).toEqual({ text: 'abc', state: 'entered' });
  expect(typed('ab🔑\u007f\u007fc\n')).toEqual({ text: 'ac', state: 'entered' });
  expect(typed('one two\u0017x\r')).toEqual({ text: 'one x', state: 'entered' });
  expect(typed('abc\u0015d\u0004')).toEqual({ text: 'd', state: 'entered' });
  expect(typed('a\u001b[Db\u001bOPc\u001b[1;5C\td')).toEqual({ text: 'abcd', state: 'typing' });
  expect(typed('abc\u0003')).toEqual({ text: '', state: 'interrupted' });
  expect(typed('\u0004')).toEqual({ text: '', state: 'ended' });
});

test('help shows how', () => {
  for (const command of [[], ['build'], ['check'], ['info']]) {
    const { stdout, status } = run([...command, '--help']);
    expect(status).toBe(0);
    expect(stdout).toContain('Examples:\n  # ');
  }
});
