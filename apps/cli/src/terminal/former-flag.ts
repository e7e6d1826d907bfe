/**
 * Short flags that an option had before. Among the commands for sets, a letter means one option:
 * `-n`, `-c` and `-f` are those of grep in `check` (line number, count, filters from files), so
 * `build -n`, `build -f` and `add -c` lost theirs. A former flag still works, so that scripts do
 * not break. It is in no help and no completion, and it warns with the flag to write instead.
 */

import { type Command, Option } from 'commander';
import { warn } from './warning.ts';

export interface FormerFlag {
  /** The flag as commander writes it, such as `-n <keys>`. */
  readonly flags: string;
  /** The long name of the option, such as `--capacity`. */
  readonly now: string;
  readonly parse?: (text: string) => unknown;
}

/** Adds a former flag to a command whose option is registered under the long name as well. */
export function withFormerFlag(command: Command, { flags, now, parse }: FormerFlag): Command {
  const option = new Option(flags).hideHelp();
  if (parse !== undefined) option.argParser(parse);
  const [flag] = flags.split(' ');
  return command.addOption(option).hook('preAction', (_, running) => {
    const value = running.getOptionValue(option.attributeName());
    if (value === undefined) return;
    warn(`${flag} is ${now} now, because ${flag} has the meaning of grep in check; write ${now}`);
    running.setOptionValue(new Option(`${now} <value>`).attributeName(), value);
  });
}
