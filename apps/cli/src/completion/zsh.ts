/**
 * Completion for zsh: a function for `compdef`, built on zsh's own `_arguments`, which knows
 * `--option=value`, options that can be given only once, and descriptions.
 */

import type { ArgumentNode, CommandNode, CommandTree, OptionNode, ValueNode } from './command-tree.ts';

export function zshCompletion(tree: CommandTree): string {
  const { name } = tree;
  return `#compdef ${name}
# Completion of ${name} for zsh. Made by: ${name} completion zsh
# Load it now:   source <(${name} completion zsh)
# Or forever:    ${name} completion zsh > "\${fpath[1]}/_${name}"

_${name}() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C \\
${tree.options
  .flatMap(optionSpecs)
  .map((spec) => `    ${spec} \\`)
  .join('\n')}
    '1: :->command' \\
    '*:: :->arguments' && return
  case $state in
    command)
      local -a commands=(
${tree.commands.map(({ name: command, description }) => `        ${quoted(`${command}:${description}`)}`).join('\n')}
      )
      _describe -t commands 'command' commands
      ;;
    arguments)
      case $words[1] in
${tree.commands.map(commandCase).join('\n')}
      esac
      ;;
  esac
}

# Sourced: register it. Loaded from fpath: this file is the function itself.
if [[ $funcstack[1] == _${name} ]]; then
  _${name} "$@"
else
  compdef _${name} ${name}
fi
`;
}

function commandCase({ name, options, arguments: args }: CommandNode): string {
  const specs = [...options.flatMap(optionSpecs), ...args.map(argumentSpec)];
  return `        ${name})
          _arguments -s -S \\
${specs.map((spec) => `            ${spec}`).join(' \\\n')}
          ;;`;
}

/** One spec for each name of the option. Each excludes the other. */
function optionSpecs({ short, long, description, value }: OptionNode): string[] {
  const names = [short, long].filter((flag) => flag !== undefined);
  const exclusive = names.length > 1 ? `(${names.join(' ')})` : '';
  const action = value === undefined ? '' : `:${escaped(value.name)}:${actionOf(value)}`;
  return names.map((flag) => {
    const joined = value === undefined ? '' : flag.startsWith('--') ? '=' : '+';
    return quoted(`${exclusive}${flag}${joined}[${escaped(description)}]${action}`);
  });
}

function argumentSpec(argument: ArgumentNode): string {
  return quoted(`${argument.variadic ? '*' : ''}:${escaped(argument.name)}:${actionOf(argument)}`);
}

function actionOf({ choices, isFile }: ValueNode): string {
  if (choices.length > 0) return `(${choices.map(escaped).join(' ')})`;
  return isFile ? '_files' : ' ';
}

/** Escapes colons, brackets and backslashes, which have a meaning inside a spec. */
function escaped(text: string): string {
  return text.replaceAll(/[:[\]\\]/g, '\\$&');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
