import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/main.ts';
import { bloomery, temporaryFolder } from '../run-command.ts';

const folder = temporaryFolder();

test('man pages: one for each command, with every option of its help', async () => {
  expect(bloomery(['man', '--into', folder])).toEqual({ code: 0, stdout: '', stderr: '' });
  const program = await createProgram();
  const help = program.createHelp();
  const commands = help.visibleCommands(program).filter((command) => command.name() !== 'help');
  const files = ['bloomery.1', ...commands.map((command) => `bloomery-${command.name()}.1`)];
  expect(readdirSync(folder).sort()).toEqual(files.sort());
  for (const command of commands) {
    const page = readFileSync(join(folder, `bloomery-${command.name()}.1`), 'utf8').replaceAll('\\-', '-');
    for (const option of help.visibleOptions(command)) expect(page, command.name()).toContain(option.flags);
    if (!['check', 'uniq', 'add'].includes(command.name())) continue;
    const shown = bloomery([command.name(), '--help']).stdout;
    for (const [, example] of shown.matchAll(/^ {2}(bloomery [a-z].*)$/gm)) {
      expect(page.replaceAll('\\e', '\\'), command.name()).toContain(example);
    }
  }
  expect(readFileSync(join(folder, 'bloomery.1'), 'utf8')).toContain('bloomery\\-uniq(1)');
});

test('man prints one page, and refuses a command that does not exist', () => {
  expect(bloomery(['man', 'check']).stdout).toMatch(/^\.TH BLOOMERY\\-CHECK 1 /);
  expect(bloomery(['man', 'chekc'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no command chekc/),
  });
});

test('groff has nothing to complain about', (context) => {
  const groff = (text: string) =>
    spawnSync('groff', ['-man', '-Kutf8', '-Tutf8', '-ww', '-z'], { input: text });
  if (groff('').error) context.skip('groff is not installed');
  for (const name of readdirSync(folder)) {
    const { stderr } = groff(readFileSync(join(folder, name), 'utf8'));
    expect(`${name}: ${stderr}`).toBe(`${name}: `);
  }
});
