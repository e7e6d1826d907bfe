/**
 * The commands as shells want to know them, read from commander's own tree: nothing is written twice, so an option that
 * is added is completed from then on. Hidden commands and options stay hidden.
 *
 * What a value is follows from how its placeholder is named: `<file>`, `<filter>`, `<directory>` and the like complete
 * file names; choices complete themselves; for numbers and rates nothing sensible can be offered.
 */

import type { Argument, Command, Option } from 'commander';

export interface CommandTree {
  readonly name: string;
  readonly options: readonly OptionNode[];
  readonly commands: readonly CommandNode[];
}

export interface CommandNode {
  readonly name: string;
  readonly description: string;
  readonly options: readonly OptionNode[];
  readonly arguments: readonly ArgumentNode[];
}

export interface OptionNode {
  /** With its dash, if there is one. */
  readonly short: string | undefined;
  readonly long: string | undefined;
  readonly description: string;
  /** Undefined: the option is a flag. */
  readonly value: ValueNode | undefined;
}

export interface ArgumentNode extends ValueNode {
  /** It takes all words that follow. */
  readonly variadic: boolean;
}

export interface ValueNode {
  /** The placeholder, such as `file`. */
  readonly name: string;
  /** All values that there are; empty: any. */
  readonly choices: readonly string[];
  readonly isFile: boolean;
}

export function readCommandTree(program: Command): CommandTree {
  const help = program.createHelp();
  const commands = help.visibleCommands(program).map((command) => ({
    name: command.name(),
    description: help.subcommandDescription(command),
    options: help.visibleOptions(command).map(readOption),
    arguments: command.registeredArguments.map((argument) => readArgument(program, command, argument)),
  }));
  return { name: program.name(), options: help.visibleOptions(program).map(readOption), commands };
}

function readOption(option: Option): OptionNode {
  const { short, long, description } = option;
  if (!option.required && !option.optional) return { short, long, description, value: undefined };
  const name = placeholder(option.flags);
  const choices = option.argChoices ?? [];
  return { short, long, description, value: { name, choices, isFile: namesFile(name, choices) } };
}

function readArgument(program: Command, command: Command, argument: Argument): ArgumentNode {
  const name = argument.name();
  const ofHelp = command.name() === 'help' && name === 'command';
  const names = program.commands.map((one) => one.name());
  const choices = ofHelp ? names : (argument.argChoices ?? []);
  // An argument is a file unless it has choices: a name that is offered in vain costs less than one that is missing.
  return { name, choices, isFile: choices.length === 0, variadic: argument.variadic };
}

/** `--output <file>` → `file`. */
function placeholder(flags: string): string {
  return /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1].replace('...', '') ?? '';
}

function namesFile(name: string, choices: readonly string[]): boolean {
  return choices.length === 0 && /file|filter|dir|dictionary/i.test(name);
}
