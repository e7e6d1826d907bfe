/** Completion for fish: a `complete` line for each command, option and argument with choices. */

import type { CommandNode, CommandTree, OptionNode } from './command-tree.ts';

export function fishCompletion(tree: CommandTree): string {
  const { name } = tree;
  return `# Completion of ${name} for fish. Made by: ${name} completion fish
# Load it now:   ${name} completion fish | source
# Or forever:    ${name} completion fish > ~/.config/fish/completions/${name}.fish

complete -c ${name} -e
${tree.options.map((option) => optionLine(name, '__fish_use_subcommand', option)).join('\n')}
${tree.commands
  .map(
    (command) =>
      `complete -c ${name} -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.description)}`,
  )
  .join('\n')}
${tree.commands.flatMap((command) => commandLines(name, command)).join('\n')}
`;
}

function commandLines(program: string, { name, options, arguments: args }: CommandNode): string[] {
  const condition = quoted(`__fish_seen_subcommand_from ${name}`);
  const lines = options.map((option) => optionLine(program, condition, option));
  const choices = args.flatMap((argument) => argument.choices);
  if (choices.length > 0)
    lines.push(`complete -c ${program} -n ${condition} -f -a ${quoted(choices.join(' '))}`);
  else if (args.length === 0) lines.push(`complete -c ${program} -n ${condition} -f`);
  return lines;
}

/**
 * The line of an option. -x means that it takes a value that is not a file, -r a value that may be
 * one.
 */
function optionLine(
  program: string,
  condition: string,
  { short, long, description, value }: OptionNode,
): string {
  const parts = [`complete -c ${program} -n ${condition}`];
  if (short !== undefined) parts.push(`-s ${short.slice(1)}`);
  if (long !== undefined) parts.push(`-l ${long.slice(2)}`);
  if (value !== undefined) parts.push(value.isFile ? '-r -F' : '-x');
  if (value !== undefined && value.choices.length > 0) parts.push(`-a ${quoted(value.choices.join(' '))}`);
  return `${parts.join(' ')} -d ${quoted(description)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
}
