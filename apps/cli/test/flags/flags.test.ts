import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/main.ts';
import { COMMAND } from '../run-command.ts';
import { lineFilters } from './line-filters.ts';

const { at, run } = lineFilters();

describe('flags', () => {
  test('a letter means one option in all commands for sets', async () => {
    const program = await createProgram();
    // `grep` has the letters of grep, also those that mean something else for sets.
    const own = ['spell', 'password', 'hyphenate', 'cache', 'simulate', 'papers', 'grep'];
    const meanings = new Map<string, string>();
    const visit = (command: Command) => {
      if (own.includes(command.name())) return;
      for (const { short, long, hidden } of command.options) {
        if (short === undefined || long === undefined || hidden) continue;
        expect(meanings.get(short) ?? long, `${command.name()} ${short}`).toBe(long);
        meanings.set(short, long);
      }
      for (const one of command.commands) visit(one);
    };
    visit(program);
    for (const [short, long] of Object.entries(GREP)) expect(meanings.get(short), short).toBe(long);
  });

  test('former letters still work, and warn with the name to write', () => {
    const built = run(['build', 'low.txt', '-n', '2k', '-o', 'former.blm', '--json']);
    expect(built.code).toBe(0);
    expect(built.stderr).toMatch(/warning: -n is --capacity now/);
    expect(JSON.parse(run(['info', '--json', 'former.blm']).stdout).capacity).toBe(2000);
    const forced = run(['build', 'low.txt', '-f', '-o', 'former.blm']);
    expect(forced.code).toBe(0);
    expect(forced.stderr).toMatch(/warning: -f is --force now/);
    writeFileSync(at('table.csv'), 'id,name\n1,line 2\n');
    const added = run(['add', 'former.blm', 'table.csv', '-c', 'name', '--json']);
    expect(added.stderr).toMatch(/warning: -c is --column now/);
    expect(JSON.parse(added.stdout)).toMatchObject({ keys: 1, present: 1 });
    expect(run(['build', '--help']).stdout).not.toMatch(/^ {2}-[nfc] /m);
  });

  test('the examples of --help work in an empty folder', () => {
    const lines = [...run(['--help']).stdout.matchAll(/^ {2}(seq .*)$/gm)].map(([, line]) => line);
    expect(lines.length).toBe(2);
    mkdirSync(at('empty'));
    const script = `bloomery() { "${process.execPath}" "${COMMAND}" "$@"; }\n${lines.join('\n')}`;
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', script], { cwd: at('empty') });
    expect(stderr.toString()).toBe('');
    expect(status).toBe(0);
    expect(stdout.toString()).toMatch(/^990\n(99\d\n){9}1000\n/);
  });
});

const GREP = { '-c': '--count', '-f': '--filter', '-H': '--with-filename', '-n': '--line-number' };

describe('check', () => {
  test('-c counts, and with -H for each file', () => {
    expect(run(['check', 'low.blm', '-c', 'high.txt']).stdout).toBe('500\n');
    expect(run(['check', '-c', 'low.blm', 'low.txt', 'high.txt']).stdout).toBe('1500\n');
    expect(run(['check', '-cH', 'low.blm', 'low.txt', 'high.txt']).stdout).toBe(
      'low.txt:1000\nhigh.txt:500\n',
    );
    expect(run(['check', '-cH', '--json', 'low.blm', 'high.txt']).stdout).toBe(
      '{"file":"high.txt","checked":1000,"matched":500}\n',
    );
  });

  test('-f takes one filter, and all arguments are then files of keys', () => {
    expect(run(['check', '-f', 'high.blm', 'low.txt', '-c']).stdout).toBe('500\n');
    expect(run(['check', '-f', 'low.blm', '-f', 'high.blm'], 'line 1\nline 600\nx\n').stdout).toBe(
      'line 1\tlow.blm\nline 600\tlow.blm,high.blm\n',
    );
    const mixed = run(['check', 'low.blm', '-f', 'high.blm', 'low.txt', '-c']);
    expect(mixed).toMatchObject({ code: 2, stdout: '500\n' });
    expect(mixed.stderr).toMatch(/low\.blm is a filter, expected a file of keys; .* -f/);
    expect(run(['check']).stderr).toMatch(/which filter\?/);
  });

  test('--all prints the lines that every filter may have, and with -v the others', () => {
    const input = 'line 1\nline 600\nline 1400\nx\n';
    const both = ['check', '--all', '-f', 'low.blm', '-f', 'high.blm'];
    expect(run(both, input).stdout).toBe('line 600\n');
    expect(run([...both, '-v'], input).stdout).toBe('line 1\nline 1400\nx\n');
    expect(run([...both, '-c'], input).stdout).toBe('1\n');
    expect(run([...both, '--json'], input).stdout).toBe('{"file":"-","record":2,"text":"line 600"}\n');
    expect(run(['check', '--all', 'low.blm'], input).stderr).toMatch(/--all is about several filters/);
  });

  test('a file that cannot be read does not stop the others', () => {
    writeFileSync(at('cut.gz'), Buffer.from([0x1f, 0x8b, 8, 0, 0, 0]));
    const files = ['nowhere.txt', 'cut.gz', 'low.txt', '.'];
    const { code, stdout, stderr } = run(['check', 'high.blm', '-c', ...files]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '500\n' });
    const problems = stderr.trim().split('\n');
    expect(problems.map((line) => line.replace('bloomery: error: ', '').split(/[: ]/)[0])).toEqual([
      'nowhere.txt',
      '.',
      'cut.gz',
    ]);
    // As grep -q, which is content with the first match.
    expect(run(['check', 'high.blm', '-q', ...files]).code).toBe(0);
    expect(run(['check', 'high.blm', '-q', 'nowhere.txt']).code).toBe(2);
  });

  test.skipIf(process.getuid?.() === 0)('a file without read permission is passed over', () => {
    writeFileSync(at('secret.txt'), 'line 1\n');
    chmodSync(at('secret.txt'), 0);
    const { code, stderr } = run(['check', 'low.blm', 'secret.txt', 'low.txt', '-c']);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('permission denied') });
  });
});
