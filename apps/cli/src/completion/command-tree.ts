/**
 * The commands in the form that shell completion needs, read from commander's own tree. Nothing is
 * written twice, so a new option is completed without further work. Hidden commands and options
 * stay hidden.
 *
 * The name of the placeholder tells what a value is. `<file>`, `<filter>`, `<directory>` and the
 * like complete file names. Choices complete to their values. For numbers and rates there is
 * nothing sensible to offer.
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
  /** The short flag with its dash, if there is one. */
  readonly short: string | undefined;
  readonly long: string | undefined;
  readonly description: string;
  /** The value of the option, or undefined if it takes none. */
  readonly value: ValueNode | undefined;
}

export interface ArgumentNode extends ValueNode {
  /** Whether it takes all words that follow. */
  readonly variadic: boolean;
}

export interface ValueNode {
  /** The placeholder, such as `file`. */
  readonly name: string;
  /** All possible values; empty if any value is allowed. */
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
  // An argument is a file unless it has choices: offering a useless name is better than omitting a
  // useful one.
  return { name, choices, isFile: choices.length === 0, variadic: argument.variadic };
}

/** `--output <file>` → `file`. */
function placeholder(flags: string): string {
  return /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1].replace('...', '') ?? '';
}

function namesFile(name: string, choices: readonly string[]): boolean {
  return choices.length === 0 && /file|filter|dir|dictionary/i.test(name);
}
