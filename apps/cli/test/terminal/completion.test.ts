import { execFileSync, spawnSync } from 'node:child_process';
import { eventually } from '@bloomery/testkit/eventually';
import { describe, expect, it } from 'vitest';
import { Scratch } from '../conversion-scratch.ts';

const scratch = new Scratch();
const script = scratch.run(['completion', 'bash']).stdout;
scratch.put('completion.bash', script);
scratch.put('words.blm', '');
scratch.put('with blank.blm', '');

/** Words that bash offers for the last one, as its completion calls the function. */
function offered(...words: string[]): string[] {
  const ask = `
    source completion.bash
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _bloomery
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['--norc', '-c', ask, 'bash', 'bloomery', ...words], {
    cwd: scratch.directory,
  });
  return output.toString().split('\n').filter(Boolean);
}

describe('completion in bash', () => {
  it('has no errors', () => {
    expect(spawnSync('bash', ['-n', scratch.path('completion.bash')]).status).toBe(0);
  });

  it('completes commands', () => {
    expect(offered('un')).toEqual(['uniq', 'union']);
    expect(offered('')).toContain('completion');
    expect(offered('help', 'hal')).toEqual(['halve']);
  });

  it('completes options', () => {
    expect(offered('union', '--fo')).toEqual(['--force', '--format']);
    expect(offered('convert', 'a.blm', '--keys', 'k.txt', '--li')).toEqual(['--list']);
    expect(offered('--ver')).toEqual(['--version']);
  });

  it('completes values of options, joined by = or not, long or short', () => {
    expect(offered('union', '--format', 'gu')).toEqual(['guava']);
    expect(offered('union', '--format', '=', 'gu')).toEqual(['guava']);
    expect(offered('union', '--format', '=')).toContain('redisbloom');
    expect(offered('convert', '-t', 'go')).toEqual(['go-bloom', 'go-bloom-json']);
  });

  it('completes arguments with choices, and only where they belong', () => {
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(offered('completion', 'bash', '')).toEqual([]);
    expect(offered('completion', '--json', 'z')).toEqual(['zsh']);
  });

  it('offers nothing for numbers, and leaves files to bash', () => {
    expect(offered('halve', '--times', '')).toEqual([]);
    expect(offered('halve', 'w')).toEqual([]);
    expect(offered('halve', '-o', 'w')).toEqual([]);
    expect(offered('halve', '--', '-')).toEqual([]);
  });

  it('works at a real prompt', async () => {
    const server = ['-L', `bloomery-test-${process.pid}`];
    const tmux = (...args: string[]) => execFileSync('tmux', [...server, ...args]).toString();
    const seen = async (expected: string) => {
      let screen = '';
      await eventually(() => {
        screen = tmux('capture-pane', '-p');
        return screen.includes(expected);
      }, 30_000).catch(() => expect.fail(`expected ${expected} on the screen, got ${screen}`));
      return screen;
    };
    tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      '100',
      '-y',
      '20',
      '-c',
      scratch.directory,
      'bash --norc',
    );
    try {
      tmux('send-keys', "PS1='rea''dy> '; source completion.bash; clear", 'Enter');
      await seen('ready>');
      for (const [typed, completed] of [
        ['bloomery inter', 'bloomery intersect'],
        ['bloomery union --format=gu', 'bloomery union --format=guava'],
        ['bloomery union wo', 'bloomery union words.blm'],
        ['bloomery halve wi', 'bloomery halve with\\ blank.blm'],
        ['bloomery union -o wo', 'bloomery union -o words.blm'],
      ]) {
        tmux('send-keys', typed, 'Tab');
        await seen(completed);
        tmux('send-keys', 'C-u');
      }
    } finally {
      tmux('kill-server');
    }
  });
});

describe('completion of the whole program', () => {
  it('knows every command and every option that the help shows', async () => {
    const { stdout: help } = await scratch.line('--help');
    const listed = /^Commands:\n((?: .*\n)*)/m.exec(help)?.[1] ?? '';
    const commands = [...listed.matchAll(/^ {2}([a-z][a-z-]*)(?= [[<]| {2,})/gm)].map(([, name]) => name);
    expect(commands.length).toBeGreaterThan(9);
    const scripts = { zsh: await scratch.ok('completion zsh'), fish: await scratch.ok('completion fish') };
    for (const command of commands) {
      expect(offered(command), command).toContain(command);
      expect(scripts.zsh, command).toContain(`\n        ${command})`);
      expect(scripts.fish, command).toContain(` -a ${command} `);
      if (command === 'help') continue;
      const shown = (await scratch.line(`${command} --help`)).stdout;
      const options = [...shown.matchAll(/^ {2}(?:-\w, )?(--[a-z][a-z0-9-]*)/gm)].map(([, name]) => name);
      expect(offered(command, '--').sort(), command).toEqual([...new Set(options)].sort());
      for (const option of options) {
        expect(scripts.zsh, `${command} ${option}`).toContain(option);
        expect(scripts.fish, `${command} ${option}`).toContain(`-l ${option.slice(2)} `);
      }
    }
  });

  it('is JSON with --json', async () => {
    const { shell, script: text } = JSON.parse(await scratch.ok('completion bash --json'));
    expect([shell, text]).toEqual(['bash', script]);
  });

  it('refuses other shells', async () => {
    const { code, stderr, stdout } = await scratch.line('completion tcsh');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(/Allowed choices are bash, zsh, fish/);
    expect((await scratch.line('completion')).code).toBe(2);
  });
});

// zsh and fish are not among the packages that the tests install; where they are, they read their
// scripts.
describe.each([
  ['zsh', ['-n']],
  ['fish', ['--no-execute']],
] as const)('completion in %s', (shell, check) => {
  const installed = spawnSync(shell, ['--version']).error === undefined;
  it.skipIf(!installed)('has no errors', async () => {
    scratch.put(`completion.${shell}`, await scratch.ok(`completion ${shell}`));
    const { status, stderr } = spawnSync(shell, [...check, scratch.path(`completion.${shell}`)]);
    expect([status, stderr.toString()]).toEqual([0, '']);
  });
});
