/** `bloomery spell` as people use it: the real command, in a temporary folder. */

import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const COMMAND = fileURLToPath(new URL('../../bin/bloomery.js', import.meta.url));
const DEBIAN_EN_US = '/usr/share/hunspell/en_US.dic';
let folder: string;

beforeAll(() => {
  if (!existsSync(DEBIAN_EN_US))
    throw new Error('en_US.dic is missing; as root: apt-get install hunspell hunspell-en-us');
  folder = mkdtempSync(join(tmpdir(), 'bloomery-spell-'));
  const { status, stderr } = bloomery(['spell', 'build', DEBIAN_EN_US, '-o', 'en.spell']);
  if (status !== 0) throw new Error(stderr);
});
afterAll(() => rmSync(folder, { recursive: true }));

function bloomery(args: string[], input = '', env: Record<string, string> = {}): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [COMMAND, ...args], {
    cwd: folder,
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    env: { PATH: process.env.PATH, HOME: folder, BLOOMERY_DICTIONARY: join(folder, 'en.spell'), ...env },
  });
}

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return name;
}

describe('check', () => {
  test('prints file, line, column, word and suggestions; exit code 1', () => {
    file('letter.txt', 'Dear Sir,\nI recieve teh letter.\n');
    const { stdout, stderr, status } = bloomery(['spell', 'letter.txt']);
    expect(stdout.split('\n')[0]).toMatch(/^letter\.txt:2:3: recieve → receive\b/);
    expect(stdout.split('\n')[1]).toMatch(/^letter\.txt:2:11: teh → .*\bthe\b/);
    expect(stdout.split('\n')).toHaveLength(3);
    expect([stderr, status]).toEqual(['', 1]);
  });

  test('nothing wrong: no output, exit code 0', () => {
    file('right.txt', 'The well-known dogs’ owner’s 21st walk isn’t far from Paris.\n');
    expect(bloomery(['spell', 'check', 'right.txt'])).toMatchObject({ stdout: '', stderr: '', status: 0 });
    expect(bloomery(['spell'], '')).toMatchObject({ stdout: '', status: 0 });
  });

  test('standard input, alone or as -', () => {
    expect(bloomery(['spell', '--suggest', '0'], 'recieve\r\n')).toMatchObject({
      stdout: '-:1:1: recieve\n',
      status: 1,
    });
    expect(bloomery(['spell', 'check', '-s', '0', '-'], 'a\nrecieve')).toMatchObject({
      stdout: '-:2:1: recieve\n',
      status: 1,
    });
  });

  test('--list prints distinct words', () => {
    const { stdout, status } = bloomery(['spell', '--list'], 'recieve teh recieve well-konwn\n');
    expect([stdout, status]).toEqual(['recieve\nteh\nkonwn\n', 1]);
    expect(bloomery(['spell', '--list', '--json'], 'recieve recieve').stdout).toBe('{"word":"recieve"}\n');
  });

  test('only the wrong part of a word with hyphens, at its place', () => {
    expect(bloomery(['spell', '-s', '0'], 'a well-konwn fact').stdout).toBe('-:1:8: konwn\n');
  });

  test('parts that are words together with their neighbours, or with the full stop behind them, are right', () => {
    expect(bloomery(['spell', '-s', '0'], 'a wel-X-ray wel-etc. konwn-jack-of-all-trades').stdout).toBe(
      '-:1:3: wel\n-:1:13: wel\n-:1:22: konwn\n',
    );
  });

  test('a named pipe is opened once, and standard input read once', () => {
    spawnSync('mkfifo', [join(folder, 'pipe')]);
    const script = `echo konwn > pipe & exec "$0" "$1" spell -s 0 pipe`;
    const { stdout, status } = spawnSync('sh', ['-c', script, process.execPath, COMMAND], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 30_000,
      env: { PATH: process.env.PATH, BLOOMERY_DICTIONARY: join(folder, 'en.spell') },
    });
    rmSync(join(folder, 'pipe'));
    expect([stdout, status]).toEqual(['pipe:1:1: konwn\n', 1]);
    for (const args of [
      ['-', '-'],
      ['-p', '-'],
      ['-d', '-', '-'],
      ['build', '-', '--aff', '-', '-o', 'x'],
    ]) {
      const { stdout, stderr, status } = bloomery(['spell', ...args], 'konwn');
      expect(stderr).toContain('standard input can be read once only');
      expect([stdout, status]).toEqual(['', 2]);
    }
  });

  test('text that was hyphenated with soft hyphens is right as it was', () => {
    expect(bloomery(['spell', '-s', '0'], 'hy\u00adphen\u00adation ko\u00adnwn').stdout).toBe(
      '-:1:15: ko\u00adnwn\n',
    );
  });

  test('--json prints an object for each word', () => {
    const { stdout } = bloomery(['spell', '--json', '--suggest', '1'], 'I recieve.');
    expect(JSON.parse(stdout)).toEqual({
      file: '-',
      line: 1,
      column: 3,
      word: 'recieve',
      suggestions: ['receive'],
    });
  });

  test('Markdown by the name or by --markdown; --text reads the same as text', () => {
    const text = '# Titel\n\n```\nkonwn\n```\n\nA `teh` word, [recieve](http://xyz).\n';
    file('page.md', text);
    expect(bloomery(['spell', '-l', 'page.md']).stdout).toBe('Titel\nrecieve\n');
    expect(bloomery(['spell', '-l', '--markdown'], text).stdout).toBe('Titel\nrecieve\n');
    expect(bloomery(['spell', '-l', '--text', 'page.md']).stdout).toBe('Titel\nkonwn\nteh\nrecieve\n');
  });

  test('--personal words are right', () => {
    file('own.txt', 'bloomery\n\nForge\n');
    expect(bloomery(['spell', '-l', '-p', 'own.txt'], 'Bloomery bloomery konwn').stdout).toBe('konwn\n');
  });

  test('lines across the pieces that are read, and wide characters at their borders', () => {
    const line = `${'Ä word '.repeat(60_000)}konwn\n`;
    expect(bloomery(['spell', '-s', '0'], line + line).stdout).toMatch(
      /^(-:\d:\d+: Ä\n)*-:1:420001: konwn\n(-:2:\d+: Ä\n)*-:2:420001: konwn\n$/,
    );
  });

  test('no colours and no summary in a pipe', () => {
    const { stdout, stderr } = bloomery(['spell'], 'konwn');
    expect(stdout).not.toContain('\u001b');
    expect(stderr).toBe('');
    expect(bloomery(['spell'], 'konwn', { FORCE_COLOR: '1' }).stdout).toContain('\u001b[31mkonwn');
  });
});

describe('build', () => {
  test('says what it made, names it after its source, and does not replace it', () => {
    const first = bloomery(['spell', 'build', DEBIAN_EN_US]);
    expect(first.stdout).toMatch(
      /^en_US\.spell: 131,\d{3} words in 39\d kB; up to 0\.0977 % of misspellings go unseen, twice that with a capital\n$/,
    );
    expect([first.stderr, first.status]).toEqual(['', 0]);
    expect(statSync(join(folder, 'en_US.spell')).size).toBeLessThan(400_000);
    const again = bloomery(['spell', 'build', DEBIAN_EN_US]);
    expect([again.stdout, again.status]).toEqual(['', 2]);
    expect(again.stderr).toMatch(/^bloomery: error: en_US\.spell exists already; --force replaces it/);
    file('tiny.txt', 'apple\npear\n');
    const forced = bloomery([
      'spell',
      'build',
      'tiny.txt',
      '-o',
      'en_US.spell',
      '--force',
      '--json',
      '--rate',
      '1/256',
    ]);
    expect(JSON.parse(forced.stdout)).toMatchObject({
      output: 'en_US.spell',
      words: 2,
      language: '',
      falsePositiveRate: 1 / 256,
    });
    expect(statSync(join(folder, 'en_US.spell')).size).toBe(JSON.parse(forced.stdout).bytes);
  });

  test('a word list, other rates, both structures, standard output', () => {
    file('words', 'apple\npear\nquince\n');
    expect(
      bloomery(['spell', 'build', 'words', '--rate', '1e-6', '-o', 'fruit.spell', '--language', 'en']).status,
    ).toBe(0);
    expect(bloomery(['spell', '-d', 'fruit.spell', '-l'], 'Apple PEAR plum').stdout).toBe('plum\n');
    expect(
      bloomery(['spell', 'build', 'words', '--rate', '1e-6', '--structure', 'bloom', '-o', 'bloom.spell'])
        .status,
    ).toBe(0);
    expect(bloomery(['spell', '-d', 'bloom.spell', '-l'], 'Apple PEAR plum').stdout).toBe('plum\n');
    const piped = spawnSync(process.execPath, [COMMAND, 'spell', 'build', '-', '-o', '-'], {
      input: 'apple\n',
      cwd: folder,
    });
    expect([piped.stdout.subarray(0, 4).toString(), piped.status]).toEqual(['BSPL', 0]);
  });

  test("Debian's large word list", () => {
    const list = '/usr/share/dict/american-english-huge';
    if (!existsSync(list)) throw new Error(`${list} is missing; as root: apt-get install wamerican-huge`);
    const { stdout, status } = bloomery(['spell', 'build', list, '-o', 'huge.spell', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout).bytes).toBeLessThan(1_200_000);
    expect(bloomery(['spell', '-d', 'huge.spell', '-l'], "abaci abacus's Zulu").stdout).toBe('');
  });

  test('--corpus counts the words of texts, which are suggested first', () => {
    file('dishes', 'farm\nform\nfirm\n');
    file('text.txt', 'The firm has a firm grip.\n');
    const args = ['spell', 'build', 'dishes', '-o', 'dishes.spell', '--force'];
    const first = () => bloomery(['spell', 'suggest', 'furm', '-s', '1', '-d', 'dishes.spell']).stdout;
    expect([bloomery(args).status, first()]).toEqual([0, 'farm\n']);
    expect([bloomery([...args, '--corpus', 'text.txt']).status, first()]).toEqual([0, 'firm\n']);
    expect(bloomery([...args, '--corpus', 'absent']).stderr).toMatch(/absent: no such file/);
  });

  test('a dictionary of an earlier version checks, and says why it suggests nothing', () => {
    // Three words, written when files had no list: the words walk, walks and kHz among others.
    const earlier =
      'QlNQTAEuJgBDAAAAJAAAACwAAAAkAAAABwAAAHh4HmFja2xkcndobW5lb3N1eh4wHh7igJkfJx8eZh9waB8eH3MfQkxNWQEHAAEAAAAAAAAAAAcAAAAK' +
      'AAEAAAcAAAAAAAAAAAAAAAAAAAAAAMi+DwAAACgIAAAA4AkAam7wCAAA2Kc5+EJMTVkBBwABBAAAAAAAAAAIAAAAAQABAAAIAACARBCgyK393kJMTVkB' +
      'BwABAwAAAAAAAAAKAAAAAwABAAAIAAAAABCDAAADABRABdxDTPfAQkxNWQEHAAEIAAAAAAAAAAEAAAAIAAEAAAEAAAAAAGertTPOESiWjA==';
    file('earlier.spell', Buffer.from(earlier, 'base64'));
    const { stdout, stderr } = bloomery(['spell', '-d', 'earlier.spell'], 'walks konwn');
    expect(stdout).toBe('-:1:7: konwn\n');
    expect(stderr).toMatch(/^bloomery: warning: the dictionary was made by an earlier version and gives no/);
    expect(bloomery(['spell', '-d', 'earlier.spell', '-l'], 'walks konwn').stderr).toBe('');
  });

  test('the affix file names the language before the name of the file does', () => {
    file('index.dic', '1\nılık\n');
    file('index.aff', 'SET UTF-8\nLANG tr_TR\n');
    const args = ['spell', 'build', 'index.dic', '--rate', '1e-6', '--force', '--json'];
    expect(JSON.parse(bloomery(args).stdout).language).toBe('tr_TR');
    expect(bloomery(['spell', '-d', 'index.spell', '-l'], 'ILIK İLİK').stdout).toBe('İLİK\n');
    expect(JSON.parse(bloomery([...args, '--language', 'xx']).stdout).language).toBe('xx');
    file('index.aff', 'SET UTF-8\n');
    expect(JSON.parse(bloomery(args).stdout).language).toBe('index');
  });

  test('warns of compounds', () => {
    file('de.dic', '2\nHaus/x\nTür/x\n');
    file('de.aff', 'SET UTF-8\nCOMPOUNDFLAG x\n');
    const { stderr, status } = bloomery(['spell', 'build', 'de.dic']);
    expect(stderr).toMatch(/^bloomery: warning: de\.dic also makes compounds, which cannot be listed/);
    expect(status).toBe(0);
    expect(bloomery(['spell', '-d', 'de.spell', '-l'], 'Haus Tür HAUS tür').stdout).toBe('tür\n');
  });
});

describe('suggest', () => {
  test('prints words, one a line', () => {
    const { stdout, status } = bloomery(['spell', 'suggest', 'beleive']);
    expect(stdout.split('\n')[0]).toBe('believe');
    expect(status).toBe(0);
    expect(bloomery(['spell', 'suggest', 'believe'])).toMatchObject({ stdout: 'believe\n', status: 0 });
    expect(bloomery(['spell', 'suggest', 'xqzjvkwxq'])).toMatchObject({ stdout: '', status: 1 });
    expect(bloomery(['spell', 'suggest', 'Knowlege']).stdout).toBe('Knowledge\n');
    expect(JSON.parse(bloomery(['spell', 'suggest', 'beleive', '-s', '1', '--json']).stdout)).toEqual({
      word: 'beleive',
      right: false,
      suggestions: ['believe'],
    });
  });
});

describe("the system's dictionary", () => {
  const none = { BLOOMERY_DICTIONARY: '' };

  beforeAll(() => {
    mkdirSync(join(folder, 'dicts'));
    file('dicts/xx_YY.dic', '1\nfoo\n');
    file('dicts/xx_YY.aff', 'SET UTF-8\n');
  });

  test('is built once and kept; a damaged copy is built again', () => {
    const cache = {
      ...none,
      DICPATH: join(folder, 'dicts'),
      XDG_CACHE_HOME: join(folder, 'cache'),
      LANG: 'xx_YY.UTF-8',
    };
    expect(bloomery(['spell', '-l'], 'foo konwn', cache)).toMatchObject({
      stdout: 'konwn\n',
      stderr: '',
      status: 1,
    });
    const [name] = readdirSync(join(folder, 'cache/bloomery'));
    expect(name).toMatch(/^xx_YY-[0-9a-f]{16}\.spell$/);
    const path = join(folder, 'cache/bloomery', name);
    const bytes = readFileSync(path);
    truncateSync(path, 100);
    expect(bloomery(['spell', '-l'], 'foo konwn', cache).stdout).toBe('konwn\n');
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  test('is that of the locale, or of --language; the error lists those that there are', () => {
    const env = { ...none, DICPATH: join(folder, 'dicts'), XDG_CACHE_HOME: join(folder, 'cache2') };
    expect(bloomery(['spell', '-l'], 'Foo', { ...env, LC_ALL: 'xx_ZZ.UTF-8' }).stdout).toBe('');
    expect(bloomery(['spell', '-l', '--language', 'xx_YY'], 'Foo', { ...env, LANG: 'C' }).stdout).toBe('');
    const { stderr, status } = bloomery(['spell'], 'foo', { ...env, LANG: 'qq_QQ.UTF-8' });
    expect(stderr).toMatch(
      /^bloomery: error: no hunspell dictionary for qq_QQ: there are .*xx_YY.*en_US.*; install one/,
    );
    expect(status).toBe(2);
    expect(bloomery(['spell', '--language', 'qq'], 'foo', env).stderr).toMatch(
      /no hunspell dictionary for qq: there are/,
    );
  });

  test('is en_US in the locale C, and works without a place to keep it', () => {
    file('no-folder', '');
    const env = { ...none, XDG_CACHE_HOME: join(folder, 'no-folder') };
    expect(bloomery(['spell', '-l'], 'the konwn', env)).toMatchObject({
      stdout: 'konwn\n',
      stderr: '',
      status: 1,
    });
  });
});

describe('errors are one line that says what to do, and exit code 2', () => {
  const cases: [what: string, args: string[], message: RegExp, input?: string | Uint8Array][] = [
    ['a file that is missing', ['spell', 'absent.txt'], /absent\.txt: no such file or directory/],
    ['a directory', ['spell', '.'], /\. is a directory; name the files in it/],
    ['a binary file', ['spell', 'binary'], /binary has NUL bytes: it is binary, or UTF-16/],
    ['Latin 1', ['spell', 'latin1'], /latin1 is not UTF-8; if it is Latin 1: iconv/],
    ['a file cut off inside a character', ['spell', 'cut'], /cut is not UTF-8/],
    ['both kinds', ['spell', '--text', '--markdown', 'binary'], /--markdown and --text exclude each other/],
    [
      'a dictionary that is none',
      ['spell', '-d', 'latin1', 'binary'],
      /latin1: this is no dictionary made by bloomery spell build/,
    ],
    ['a dictionary that is missing', ['spell', '-d', 'absent.spell'], /absent\.spell: no such file/],
    [
      'a dictionary that is cut off',
      ['spell', '-d', 'short.spell'],
      /short\.spell: Cannot read dictionary: expected \d+ bytes, got 5000/,
    ],
    [
      'a damaged dictionary',
      ['spell', '-d', 'damaged.spell'],
      /damaged\.spell: Cannot read dictionary: expected checksum/,
    ],
    [
      'a hunspell dictionary',
      ['spell', '-d', DEBIAN_EN_US],
      /is a hunspell dictionary; bloomery spell build .* makes/,
    ],
    ['a personal list that is missing', ['spell', '-p', 'absent'], /absent: no such file/],
    ['a count that is none', ['spell', '--suggest', 'x'], /Expected a whole number/],
    ['a rate that is none', ['spell', 'build', 'latin1', '--rate', '2'], /Expected a rate between 0 and 1/],
    [
      'a rate that is too small',
      ['spell', 'build', 'one', '--rate', '1e-12'],
      /falsePositiveRate: expected at least 2\^-32/,
    ],
    [
      'an unknown structure',
      ['spell', 'build', 'one', '--structure', 'xor'],
      /Allowed choices are static, bloom/,
    ],
    [
      'no affix file',
      ['spell', 'build', 'lonely.dic'],
      /there is no lonely\.aff beside lonely\.dic; --aff names the affix file/,
    ],
    [
      'an affix file that is missing',
      ['spell', 'build', 'lonely.dic', '--aff', 'absent.aff'],
      /absent\.aff: no such file/,
    ],
    [
      'an affix file that is none',
      ['spell', 'build', 'lonely.dic', '--aff', 'bad.aff'],
      /bad\.aff, line 1: expected SFX with a flag/,
    ],
    [
      'a .dic that is none',
      ['spell', 'build', 'bad.dic', '--aff', 'empty'],
      /bad\.dic, line 1: expected the number of words, got "foo"/,
    ],
    [
      'a word list that is binary',
      ['spell', 'build', 'binary'],
      /binary, line 1: a NUL byte; this is no word list/,
    ],
    ['a word list in Latin 1', ['spell', 'build', 'latin1'], /latin1, line 1: not UTF-8/],
    ['no words', ['spell', 'build', 'empty'], /empty has no words/],
    [
      'no folder for the output',
      ['spell', 'build', 'one', '-o', 'absent/x'],
      /there is no directory absent for x/,
    ],
    ['no word', ['spell', 'suggest'], /missing required argument 'word'/],
  ];
  beforeAll(() => {
    file('binary', Uint8Array.of(97, 0, 98));
    file('latin1', Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 10));
    file('cut', Uint8Array.of(0x61, 0xc3));
    file('one', 'word\n');
    file('empty', '');
    file('lonely.dic', '1\nfoo\n');
    file('bad.dic', 'foo\n');
    file('bad.aff', 'SFX\n');
    const bytes = readFileSync(join(folder, 'en.spell'));
    file('short.spell', bytes.subarray(0, 5000));
    bytes[5000] ^= 1;
    file('damaged.spell', bytes);
  });

  test.each(cases)('%s', (_, args, message) => {
    const before = readdirSync(folder).sort();
    const { stdout, stderr, status } = bloomery(args, 'foo');
    expect(stderr).toMatch(message);
    expect(stderr.split('\n')[0]).toMatch(/^bloomery: error: /);
    expect([stdout, status]).toEqual(['', 2]);
    expect(readdirSync(folder).sort()).toEqual(before);
  });
});

test('--help has examples, on every command', () => {
  for (const args of [['spell'], ['spell', 'check'], ['spell', 'build'], ['spell', 'suggest']]) {
    const { stdout, status } = bloomery([...args, '--help']);
    expect(stdout).toContain('Examples:');
    expect(status).toBe(0);
  }
});

describe('beside hunspell, on a real text', () => {
  test('agrees on at least 98 % of distinct words', () => {
    const shelf = '/usr/share/games/fortunes';
    if (!existsSync(join(shelf, 'literature')))
      throw new Error('the text is missing; as root: apt-get install fortunes');
    const books = readdirSync(shelf)
      .filter((name) => !name.includes('.'))
      .sort();
    const text = books
      .map((name) => readFileSync(join(shelf, name), 'utf8'))
      .join('\n')
      .replaceAll('\ufffd', ' ');
    const distinct = new Set(
      text.match(/[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}\p{N}]+)*/gu)?.filter((word) => /\p{L}/u.test(word)),
    );
    expect(text.split(/\s+/).length).toBeGreaterThan(100_000);
    expect(distinct.size).toBeGreaterThan(20_000);
    const hunspell = spawnSync('hunspell', ['-d', 'en_US', '-i', 'utf-8', '-l'], {
      input: text,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      env: { ...process.env, LC_ALL: 'C.UTF-8' },
    });
    expect(hunspell.status, 'hunspell runs; as root: apt-get install hunspell hunspell-en-us').toBe(0);
    const theirs = new Set(hunspell.stdout.split('\n').filter((word) => word !== ''));
    const ours = new Set(
      bloomery(['spell', '--list', '--text'], text)
        .stdout.split('\n')
        .filter((word) => word !== ''),
    );
    expect(theirs.size).toBeGreaterThan(3000);
    let unlike = 0;
    for (const word of theirs) if (!ours.has(word)) unlike++;
    for (const word of ours) if (!theirs.has(word)) unlike++;
    expect(1 - unlike / distinct.size).toBeGreaterThan(0.98);
  });
});
