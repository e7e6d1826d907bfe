/**
 * Settings of `bloomery cache`, as a file of deploy/ passes them: arguments, and variables of the
 * environment. The table of settings and the parsers of amounts are those of the cache, so a flag
 * that is renamed there makes the tests of deploy/ fail.
 *
 * It does not check values: the tests give them to `loadConfig` of the cache as well.
 */

import { parseDuration, parseSize } from '../../packages/cache/src/node/config/amounts.ts';
import {
  COMMAND_FLAGS,
  ENVIRONMENT_PREFIX,
  environmentName,
  SETTINGS,
} from '../../packages/cache/src/node/config/settings.ts';

export class CacheSettings {
  /**
   * Complaints about names that the command does not know.
   * @type {string[]}
   */
  problems = [];
  /** @type {Map<string, string[]>} */
  #values = new Map();

  /**
   * @param {readonly string[]} args `--flag=value`, `--switch`, or a flag of the command and its value
   * @param {Readonly<Record<string, string>>} environment
   */
  constructor(args, environment = {}) {
    for (const [name, value] of Object.entries(environment)) {
      if (!name.startsWith(ENVIRONMENT_PREFIX)) continue;
      const setting = SETTINGS.find((one) => environmentName(one) === name);
      if (setting === undefined) this.problems.push(`${name} is no setting of the cache`);
      else this.#values.set(setting.key, [value]);
    }
    /** @type {Map<string, string[]>} */
    const flags = new Map();
    for (const arg of args.filter((one) => one.startsWith('--'))) {
      const [name, ...rest] = arg.slice(2).split('=');
      const setting = SETTINGS.find(({ flag }) => flag === name);
      const isOfCommand = COMMAND_FLAGS.some((flag) => flag === name);
      if (setting === undefined && !isOfCommand) this.problems.push(`--${name} is no flag of the cache`);
      if (setting === undefined) continue;
      const value = setting.kind === 'switch' ? 'on' : rest.join('=');
      if (value === '') this.problems.push(`--${name} has no value, expected --${name}=VALUE`);
      flags.set(setting.key, [...(flags.get(setting.key) ?? []), value]);
    }
    for (const [key, values] of flags) this.#values.set(key, values);
  }

  /**
   * The values of a setting, or its default, as `--help` writes it.
   * @param {string} key
   */
  all(key) {
    const setting = SETTINGS.find((one) => one.key === key);
    if (setting === undefined)
      throw new RangeError(`Cannot read a setting: expected a key of SETTINGS, got ${key}`);
    return this.#values.get(key) ?? (setting.initial === '' ? [] : [setting.initial]);
  }

  /** @param {string} key */
  durationMs(key) {
    return parseDuration(this.all(key)[0] ?? '') ?? Number.NaN;
  }

  /** @param {string} key */
  bytes(key) {
    return parseSize(this.all(key)[0] ?? '') ?? Number.NaN;
  }

  /** The longest time from SIGTERM to the end of the process. */
  drainMs() {
    return this.durationMs('shutdownDelay') + this.durationMs('shutdownTimeout');
  }

  /** Least ceiling of memory that we accept: twice the stores, because Node needs some as well. */
  leastMemoryBytes() {
    return 2 * (this.bytes('memory') + this.bytes('peerMemory'));
  }

  /**
   * The port of an address such as `0.0.0.0:3128`, or NaN.
   * @param {string} key
   */
  port(key) {
    return Number(/:(\d+)$/.exec(this.all(key)[0] ?? '')?.[1] ?? Number.NaN);
  }

  /** Every setting that was given, in the form that `loadConfig` takes for flags. */
  forLoadConfig() {
    return Object.fromEntries(
      [...this.#values].map(([key, values]) => {
        const setting = SETTINGS.find((one) => one.key === key);
        if (setting?.kind === 'switch') return [key, values[0] === 'on'];
        return [key, setting?.several ? values : values[0]];
      }),
    );
  }
}
