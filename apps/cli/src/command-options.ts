/** Options that many commands share, with one wording each. */

import { FOREIGN_FORMATS } from 'bloomery/formats';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { withFormerFlag } from './terminal/former-flag.ts';
import { UsageError } from './usage-error.ts';

/** `--json`, on every command. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON instead of text');
}

/** `-o FILE`, `--force`, for commands that write a new file. */
export function withOutput(command: Command, what: string): Command {
  return withForce(command.requiredOption('-o, --output <file>', `${what}; - is standard output`));
}

/** `--force`. */
export function withForce(command: Command, what = 'the output if it exists already'): Command {
  const forced = command.option('--force', `replace ${what}`);
  return withFormerFlag(forced, { flags: '-f', now: '--force' });
}

/** Accepts `-n`, which `--capacity` had before, in the commands that have this option. */
export function withFormerCapacity(command: Command): Command {
  return withFormerFlag(command, { flags: '-n <keys>', now: '--capacity', parse: parseCount() });
}

/** `--key-file`, for commands that read or build keyed filters. */
export function withKeyFile(command: Command): Command {
  return command.option(
    '--key-file <file>',
    'the secret of a keyed filter: 16 bytes, or 32 hexadecimal digits',
  );
}

/** `--format`, for commands that read filter files of other systems as well. */
export function withFormat(command: Command): Command {
  return command.addOption(
    new Option('--format <name>', 'what the filter file is, instead of finding out').choices(FORMATS),
  );
}

/** `pybloom-md5` names the files of pybloom-live before 4.0, which look like those of 4.0. */
export const FORMATS: readonly string[] = ['bloomery', ...FOREIGN_FORMATS, 'pybloom-md5'];

/** Adds examples to the help: pairs of a command line and what it does. */
export function withExamples(
  command: Command,
  examples: readonly (readonly [line: string, what: string])[],
): Command {
  const lines = examples.map(([line, what]) => `  # ${what}\n  ${line}`);
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n\n')}`);
}

/**
 * Parses a whole number of at least `least`. It understands 10k, 2M and 1G (powers of 1000), 1e6,
 * and 1_000_000 and 1,000,000.
 */
export function parseCount(least = 1): (text: string) => number {
  return (text) => {
    const match = /^(\d+(?:\.\d+)?)(?:e(\d{1,2})|([kMG]?))$/.exec(withoutSeparators(text));
    // The exponent is part of the decimal text, because 1.001 * 1000 is not 1001.
    const value = match === null ? Number.NaN : Number(`${match[1]}e${match[2] ?? EXPONENTS[match[3]]}`);
    if (!Number.isSafeInteger(value) || value < least) {
      throw new InvalidArgumentError(
        `Expected a whole number of at least ${least}, such as 5000, 10k or 2M.`,
      );
    }
    return value;
  };
}

/** Parses a number of bytes: 64k and 64kB are 64,000, 64KiB is 65,536. */
export function parseBytes(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([kKMGT]?)(i?)B?$/.exec(withoutSeparators(text));
  const power = ' KMGT'.indexOf((match?.[2] ?? ' ').toUpperCase() || ' ');
  const value =
    match === null ? Number.NaN : Math.floor(Number(match[1]) * (match[3] ? 1024 : 1000) ** power);
  if (!Number.isSafeInteger(value) || value < 1 || (match?.[3] && power === 0)) {
    throw new InvalidArgumentError('Expected a size of at least one byte, such as 5000, 64kB or 4MiB.');
  }
  return value;
}

/** Parses a number of seconds from 0 to a day. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || seconds > 86_400) {
    throw new InvalidArgumentError('Expected seconds, from 0 to 86400.');
  }
  return seconds;
}

/** Parses a time with its unit, from a second to ten years, to milliseconds: 90s, 15m, 24h, 7d. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text.trim());
  const value = match === null ? Number.NaN : Math.round(Number(match[1]) * UNITS_MS[match[2]]);
  if (!(value >= 1000 && value <= 3650 * UNITS_MS.d)) {
    throw new InvalidArgumentError('Expected a time from 1s to 3650d, such as 90s, 15m, 24h or 7d.');
  }
  return value;
}

const UNITS_MS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a rate strictly between 0 and 1: 0.01, 1%, 1e-6 or 1/1000. */
export function parseRate(text: string): number {
  const match = /^([0-9.eE+-]+)\s*(%|\/\s*([0-9.eE+]+))?$/.exec(text.trim());
  let value = match === null ? Number.NaN : Number(match[1]);
  if (match?.[2] === '%') value /= 100;
  else if (match?.[3] !== undefined) value /= Number(match[3]);
  if (!(value > 0 && value < 1)) {
    throw new InvalidArgumentError('Expected a rate between 0 and 1, such as 0.01, 1%, 1e-6 or 1/1000.');
  }
  return value;
}

/** Parses the seed of a hash. */
export function parseSeed(text: string): bigint {
  if (!/^(0x[0-9a-f]+|\d+)$/i.test(text) || BigInt(text) >= 2n ** 64n) {
    throw new UsageError(`--seed must be a whole number from 0 to 2^64 - 1, got ${text}`);
  }
  return BigInt(text);
}

/**
 * Removes underscores and thousands separators. A comma counts as a separator only if three digits
 * follow each one; otherwise it stays, so that 1,5 is not read as 15.
 */
function withoutSeparators(text: string): string {
  const plain = text.replaceAll('_', '');
  return /^\d{1,3}(,\d{3})+(?!\d|,)/.test(plain) ? plain.replaceAll(',', '') : plain;
}

const EXPONENTS: Record<string, number> = { '': 0, k: 3, M: 6, G: 9 };
