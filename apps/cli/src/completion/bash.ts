/**
 * Completion for bash 3.2 and later (macOS still has 3.2), without the package bash-completion. The
 * script is one function that looks at the words before the cursor. It finds the command, the
 * option that the word at the cursor belongs to, and the number of arguments so far.
 *
 * File names are left to bash itself (`-o default`): it knows quoting, `~` and spaces. Where
 * nothing can be offered, such as for a number, `compopt +o default` keeps file names away; bash
 * 3.2 has no compopt and offers them anyway.
 *
 * Bash breaks words at `=`, so `--format=gu` arrives as three words, which are joined again.
 */

import type { CommandNode, CommandTree, OptionNode, ValueNode } from './command-tree.ts';

export function bashCompletion(tree: CommandTree): string {
  const { name } = tree;
  return `# Completion of ${name} for bash. Made by: ${name} completion bash
# Load it now:   source <(${name} completion bash)
# Or forever:    ${name} completion bash > ~/.local/share/bash-completion/completions/${name}

_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} option=\${COMP_WORDS[COMP_CWORD-1]}
  local command='' word='' options='' words='' offered='' index=0 i
  COMPREPLY=()
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $option == '=' ]]; then
    option=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  # The command, and how many of its arguments stand before the cursor.
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == '--' ]]; then
      return
    elif [[ -z $command ]]; then
      [[ $word == -* ]] || command=$word
    elif [[ $word == '=' ]]; then
      i=$((i + 1))
    elif [[ $word == -?* ]]; then
      __${name}_takes_value "$command" "$word" && [[ \${COMP_WORDS[i+1]} != '=' ]] && i=$((i + 1))
    else
      index=$((index + 1))
    fi
  done
  case "$command" in
    '')
      options=${quoted(optionWords(tree.options))}
      words=${quoted(tree.commands.map((command) => command.name))}
      ;;
${tree.commands.map(commandCase).join('\n')}
    *)
      return
      ;;
  esac
  if [[ -n $command ]] && __${name}_takes_value "$command" "$option"; then
    case "$command $option" in
${tree.commands.flatMap(valueCases).join('\n')}
      *) return ;; # a file
    esac
  elif [[ $current == -* ]]; then
    offered=$options
  elif [[ $words == '<file>' ]]; then
    return
  else
    offered=$words
  fi
  compopt +o default +o bashdefault 2>/dev/null
  [[ $offered == '<none>' ]] && return
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}

__${name}_takes_value() {
  case "$1 $2" in
${tree.commands.flatMap(valueOptions).join(' | \\\n') || '    -'}) return 0 ;;
  esac
  return 1
}

complete -o default -o bashdefault -F _${name} ${name}
`;
}

function commandCase({ name, options, arguments: args }: CommandNode): string {
  const indices = args.map(
    (argument, i) => `        ${argument.variadic ? '*' : i}) words=${wordsOf(argument)} ;;`,
  );
  if (!args.at(-1)?.variadic) indices.push("        *) words='<none>' ;;");
  return `    ${name})
      options=${quoted(optionWords(options))}
      case $index in
${indices.join('\n')}
      esac
      ;;`;
}

/** The values of options that are not files. */
function valueCases({ name, options }: CommandNode): string[] {
  return options
    .filter(({ value }) => value !== undefined && !value.isFile)
    .map((option) => {
      const patterns = flagsOf(option).map((flag) => `'${name} ${flag}'`);
      return `      ${patterns.join(' | ')}) offered=${wordsOf(option.value!)} ;;`;
    });
}

function valueOptions({ name, options }: CommandNode): string[] {
  return options
    .filter(({ value }) => value !== undefined)
    .map(
      (option) =>
        `    ${flagsOf(option)
          .map((flag) => `'${name} ${flag}'`)
          .join(' | ')}`,
    );
}

function wordsOf({ choices, isFile }: ValueNode): string {
  if (choices.length > 0) return quoted(choices);
  return isFile ? "'<file>'" : "'<none>'";
}

function flagsOf({ short, long }: OptionNode): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

function optionWords(options: readonly OptionNode[]): string[] {
  return options.map(({ short, long }) => long ?? short ?? '');
}

function quoted(words: readonly string[]): string {
  return `'${words.join(' ').replaceAll("'", `'\\''`)}'`;
}
