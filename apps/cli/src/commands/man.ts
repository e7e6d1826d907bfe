/**
 * `bloomery man`: prints a man page, or writes all of them into a folder. The pages are made from
 * the help of the commands (completion/man-page.ts). A package installs them; without one,
 * `bloomery man build | man -l -` shows a page.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { withExamples } from '../command-options.ts';
import { manPages } from '../completion/man-page.ts';
import { writeTarget } from '../files/target-file.ts';
import { write } from '../terminal/standard-output.ts';
import { UsageError } from '../usage-error.ts';

export function register(program: Command): void {
  const command = program
    .command('man')
    .description('print the man page of a command, or write all man pages into a folder')
    .argument('[command]', 'the command; none: the page of bloomery itself')
    .option('--into <directory>', 'write all pages there')
    .action((name: string | undefined, { into }: { into?: string }) => {
      const pages = manPages(program);
      if (into !== undefined) {
        mkdirSync(into, { recursive: true });
        for (const { file, text } of pages) writeTarget(join(into, file), Buffer.from(text), { force: true });
        return;
      }
      const wanted = name === undefined ? `${program.name()}.1` : `${program.name()}-${name}.1`;
      const page = pages.find(({ file }) => file === wanted);
      if (page === undefined) throw new UsageError(`there is no command ${name}; bloomery --help lists them`);
      write(page.text);
    });
  withExamples(command, [
    ['bloomery man check | man -l -', 'read the page of a command'],
    ['bloomery man --into ~/.local/share/man/man1', 'install all pages for man'],
  ]);
}
