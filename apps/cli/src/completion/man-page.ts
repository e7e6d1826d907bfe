/**
 * Man pages, made from the same help as `--help`: descriptions, arguments, options and examples are
 * read from commander's tree, so nothing is written twice. There is one page for the program and
 * one for each command; subcommands (`password build`) are sections of the page of their command.
 *
 * The output is roff with the macros of man(7), which groff and mandoc both read.
 */

import type { EventEmitter } from 'node:events';
import type { Command } from 'commander';

export interface ManPage {
  /** The name of the file, such as `bloomery-build.1`. */
  readonly file: string;
  readonly text: string;
}

/** All man pages of the program. */
export function manPages(program: Command): ManPage[] {
  const commands = program
    .createHelp()
    .visibleCommands(program)
    .filter((one) => one.name() !== 'help');
  const name = program.name();
  return [
    { file: `${name}.1`, text: programPage(program, commands) },
    ...commands.map((command) => ({
      file: `${name}-${command.name()}.1`,
      text: commandPage(program, command),
    })),
  ];
}

function programPage(program: Command, commands: readonly Command[]): string {
  const list = commands.map((command) =>
    tagged(bold(`${program.name()}-${command.name()}(1)`), command.description()),
  );
  return page(program, program.name(), program.description(), [
    section('SYNOPSIS', `${bold(program.name())} ${escaped('[options] <command>')}`),
    section('DESCRIPTION', escaped(program.description())),
    section('COMMANDS', list.join('\n')),
    optionSection(program),
    ...afterSections(program),
  ]);
}

function commandPage(program: Command, command: Command): string {
  const name = `${program.name()}-${command.name()}`;
  const parts = subcommands(command);
  return page(program, name, command.description(), [
    section('SYNOPSIS', synopsis(program, command)),
    section('DESCRIPTION', escaped(sentence(command.description()))),
    argumentSection(command),
    optionSection(command),
    ...afterSections(command),
    ...parts.flatMap((part) => [
      section(`${command.name()} ${part.name()}`.toUpperCase(), subcommandText(part)),
      ...afterSections(part),
    ]),
    section('SEE ALSO', `${bold(`${program.name()}(1)`)}`),
  ]);
}

function subcommands(command: Command): Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => one.name() !== 'help');
}

function subcommandText(part: Command): string {
  return [
    escaped(sentence(part.description())),
    `.PP\n${escaped(`${part.parent?.name()} ${part.name()} ${part.usage()}`)}`,
    ...optionList(part),
  ].join('\n');
}

function page(program: Command, name: string, description: string, sections: readonly string[]): string {
  const version = `${program.name()} ${program.version() ?? ''}`.trim();
  const head = `.TH ${escaped(name).toUpperCase()} 1 "" "${version}" "User Commands"`;
  const first = section('NAME', `${escaped(name)} \\- ${escaped(description.replace(/\.$/, ''))}`);
  return `${[head, first, ...sections.filter((text) => text !== '')].join('\n')}\n`;
}

/** The usage. One with several forms has them on lines of their own. */
function synopsis(program: Command, command: Command): string {
  const prefix = `${program.name()} ${command.name()} `;
  const forms = command
    .usage()
    .split('\n')
    .map((form) => form.trim().replace(prefix, ''));
  return forms.map((form) => `${bold(prefix.trim())} ${escaped(form)}`).join('\n.br\n');
}

function argumentSection(command: Command): string {
  const help = command.createHelp();
  const items = help
    .visibleArguments(command)
    .map((one) => tagged(bold(help.argumentTerm(one)), one.description));
  return items.length === 0 ? '' : section('ARGUMENTS', items.join('\n'));
}

function optionSection(command: Command): string {
  return section('OPTIONS', optionList(command).join('\n'));
}

function optionList(command: Command): string[] {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .map((option) => tagged(bold(help.optionTerm(option)), help.optionDescription(option)));
}

/** The texts behind the options. Examples get a section of their own, with their lines kept. */
function afterSections(command: Command): string[] {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  // Commander's types leave out that a command is an EventEmitter; help texts are its listeners.
  (command as Command & EventEmitter).emit('afterHelp', { error: false, command, write });
  const [notes, ...examples] = text.split(/^Examples:\n/m);
  // Each text of a command is added on its own, so notes may follow the examples.
  const sections = examples.map((part) => {
    const lines = part.split('\n');
    const end = lines.findIndex((line) => line !== '' && !line.startsWith('  '));
    const own = end < 0 ? lines : lines.slice(0, end);
    const rest = end < 0 ? '' : lines.slice(end).join('\n').trim();
    const kept = own
      .map((line) => line.replace(/^ {2}/, ''))
      .join('\n')
      .trim();
    return (
      section('EXAMPLES', `.nf\n${escaped(kept)}\n.fi`) +
      (rest === '' ? '' : `\n${section('NOTES', escaped(rest))}`)
    );
  });
  return [...(notes.trim() === '' ? [] : [section('NOTES', escaped(notes.trim()))]), ...sections];
}

function section(title: string, text: string): string {
  return `.SH ${title.includes(' ') ? `"${title}"` : title}\n${text}`;
}

function tagged(term: string, text: string): string {
  return `.TP\n${term}\n${escaped(text)}`;
}

function bold(text: string): string {
  return `\\fB${escaped(text)}\\fR`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/**
 * Escapes backslashes, and dashes, which would become hyphens that cannot be searched for or
 * copied. A line that begins with a dot or a quote would be a request.
 */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&')
    .replaceAll(/\n\n/g, '\n.PP\n');
}
