/**
 * The sources of settings: a JSON file, the environment, flags. Each source is read into the same
 * form (name of the setting, its value as written, where it was written), and a stronger source
 * replaces a weaker one. Values are not interpreted here.
 *
 * An unknown name is an error that suggests the nearest known one: if a misspelt `denyAdress` were
 * silently ignored, an attacker would find it first.
 */

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { didYouMean } from './nearest-name.ts';
import { COMMAND_FLAGS, ENVIRONMENT_PREFIX, environmentName, SETTINGS } from './settings.ts';

/** All errors in a configuration, one line each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      problems.length === 1
        ? problems[0]
        : `${problems.length} settings are wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

/** A value as written, and its name for error messages. */
export interface WrittenSetting {
  readonly value: unknown;
  readonly from: string;
  /** The folder that relative file names refer to. */
  readonly folder: string;
}

export type WrittenSettings = Map<string, WrittenSetting>;

/**
 * Reads an object with the keys of settings; flags `{ diskSize: '2GB', listen: ['…'], disk: false
 * }`.
 */
export function readFlags(flags: Readonly<Record<string, unknown>>, problems: string[]): WrittenSettings {
  const found: WrittenSettings = new Map();
  for (const [key, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    const setting = SETTINGS.find((one) => one.key === key || camelCase(one.flag) === key);
    if (setting !== undefined)
      found.set(setting.key, {
        value,
        from: `--${value === false ? 'no-' : ''}${setting.flag}`,
        folder: process.cwd(),
      });
    else if (!COMMAND_FLAGS.some((flag) => camelCase(flag) === key)) {
      problems.push(
        `unknown option ${key}.${didYouMean(
          key,
          SETTINGS.map(({ key: name }) => name),
        )}`,
      );
    }
  }
  return found;
}

export function readEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  problems: string[],
): WrittenSettings {
  const found: WrittenSettings = new Map();
  const names = new Map(SETTINGS.map((setting) => [environmentName(setting), setting]));
  for (const [name, value] of Object.entries(environment)) {
    // Scripts and service files turn a variable that they do not know into an empty one.
    if (!name.startsWith(ENVIRONMENT_PREFIX) || value === undefined || value.trim() === '') continue;
    const setting = names.get(name);
    if (setting === undefined)
      problems.push(`the environment has ${name}, which is no setting.${didYouMean(name, names.keys())}`);
    else {
      const listed = setting.several ? value.split(/[\s,]+/).filter((part) => part !== '') : value;
      found.set(setting.key, { value: listed, from: name, folder: process.cwd() });
    }
  }
  return found;
}

/**
 * Reads a file. Throws the file system's error if it cannot be read; errors in its content become
 * problems.
 */
export function readConfigFile(path: string, problems: string[]): WrittenSettings {
  const found: WrittenSettings = new Map();
  // Some editors write a byte order mark first, which JSON does not allow (RFC 8259, 8.1 lets a
  // reader ignore it).
  const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    problems.push(`${path}: expected JSON: ${(error as Error).message}`);
    return found;
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    problems.push(
      `${path}: expected a JSON object of settings, got ${Array.isArray(content) ? 'a list' : JSON.stringify(content)}`,
    );
    return found;
  }
  const folder = dirname(resolve(path));
  for (const [key, value] of Object.entries(content)) {
    const setting = SETTINGS.find((one) => one.key === key);
    if (setting === undefined)
      problems.push(
        `${path}: unknown setting ${JSON.stringify(key)}.${didYouMean(
          key,
          SETTINGS.map((one) => one.key),
        )}`,
      );
    else if (value !== null) found.set(key, { value, from: `${path}: ${key}`, folder });
  }
  return found;
}

/** `disk-size` → `diskSize`. */
function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
