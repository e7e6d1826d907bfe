/**
 * `completion`: a script that lets the shell complete commands, options, their values and file
 * names. It is generated from the commands as they are, so it never lags behind; print it again
 * after an update.
 */

import { Argument, type Command } from 'commander';
import { withExamples, withJson } from '../command-options.ts';
import { bashCompletion } from '../completion/bash.ts';
import { type CommandTree, readCommandTree } from '../completion/command-tree.ts';
import { fishCompletion } from '../completion/fish.ts';
import { zshCompletion } from '../completion/zsh.ts';
import { write, writeJson } from '../terminal/standard-output.ts';

export function register(program: Command): void {
  const command = program
    .command('completion')
    .description('print a script that completes commands, options and file names in your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(SHELLS)))
    .action((shell: string, options: { readonly json?: boolean }) => {
      const script = SHELLS[shell](readCommandTree(program));
      if (options.json) writeJson({ shell, script });
      else write(script);
    });
  withJson(command);
  withExamples(command, [
    ['source <(bloomery completion bash)', 'in this bash, now'],
    ['echo "source <(bloomery completion zsh)" >> ~/.zshrc', 'in every zsh from now on, behind compinit'],
    ['bloomery completion fish > ~/.config/fish/completions/bloomery.fish', 'in every fish from now on'],
  ]);
}

const SHELLS: Record<string, (tree: CommandTree) => string> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};
