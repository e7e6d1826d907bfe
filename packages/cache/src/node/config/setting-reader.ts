/**
 * Reads single settings: a written value becomes a value of its type, or a problem that says where
 * it was written, what was expected and what came. Reading continues after the first problem,
 * because a user who corrects a file wants to see all of them.
 */

import { resolve } from 'node:path';
import { checkLimits, LIMIT_NAMES, LIMITS, type Limits } from '../../safety/limits.ts';
import { formatDuration, formatSize, parseDuration, parseSize } from './amounts.ts';
import type { WrittenSetting, WrittenSettings } from './config-sources.ts';
import { didYouMean } from './nearest-name.ts';
import { type NetworkList, parseNetworks } from './network-list.ts';

/** Reads single values, and collects the problems with them. */
export class SettingReader {
  readonly #written: WrittenSettings;
  readonly #problems: string[];

  constructor(written: WrittenSettings, problems: string[]) {
    this.#written = written;
    this.#problems = problems;
  }

  /** The value, or undefined if it was not written or is wrong. */
  #read<T>(key: string, parse: (value: unknown, written: WrittenSetting) => T): T | undefined {
    const written = this.#written.get(key);
    if (written === undefined) return undefined;
    try {
      return parse(written.value, written);
    } catch (error) {
      this.#problems.push(`${written.from}: ${(error as Error).message}`);
      return undefined;
    }
  }

  one<T>(key: string, parse: (text: string) => T): T | undefined {
    return this.#read(key, (value) => parse(textOf(value)));
  }

  text(key: string, pattern: RegExp, expected: string): string | undefined {
    return this.one(key, (text) => (pattern.test(text) ? text : refuse(expected, text)));
  }

  choice<T extends string>(key: string, choices: readonly T[]): T | undefined {
    return this.one(
      key,
      (text) => choices.find((one) => one === text) ?? refuse(`one of ${choices.join(', ')}`, text),
    );
  }

  switch(key: string): boolean | undefined {
    return this.#read(key, (value) => {
      if (typeof value === 'boolean') return value;
      const known = SWITCHES.get(String(value).toLowerCase());
      return known ?? refuse('true or false', value);
    });
  }

  number(key: string, parse: (value: unknown) => number, least: number, most: number): number | undefined {
    return this.#read(key, (value) => {
      const parsed = parse(value);
      if (parsed >= least && parsed <= most) return parsed;
      const show = parse === sizeOf ? formatSize : parse === durationOf ? formatDuration : String;
      return refuse(`${show(least)} to ${show(most)}`, value);
    });
  }

  /**
   * An absolute path, or null if it is switched off, or neither written nor a default. `-` stays.
   */
  path(key: string, initial: () => string | null = () => null): string | null {
    const path = this.#read(key, (value, { folder }) => {
      if (value === false) return null;
      if (value === true) refuse('the name of a file or folder, or false for none', value);
      const text = textOf(value);
      if (text === '' || text.includes('\0')) refuse('the name of a file or folder', text);
      return text === '-' ? text : resolve(folder, text);
    });
    return path === undefined ? initial() : path;
  }

  /** A list of at least one value. */
  someOf<T>(key: string, parse: (text: string) => T): T[] | undefined {
    return this.list(key, parse, undefined, false, 1);
  }

  list<T>(
    key: string,
    parse: (text: string) => T,
    ofObject?: (object: object) => string[],
    commas = false,
    least = 0,
  ): T[] | undefined {
    return this.#read(key, (value) => {
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      let items: unknown[];
      if (isObject && ofObject !== undefined) items = ofObject(value);
      else items = Array.isArray(value) ? value : [value];
      if (commas) items = items.flatMap((item) => (typeof item === 'string' ? item.split(',') : [item]));
      if (items.length === 1 && items[0] === 'none') items = [];
      if (items.length < least) refuse(`at least ${least}`, value);
      return items.map((item) => parse(textOf(item).trim()));
    });
  }

  limits(): Limits {
    const written = this.#written.get('limits');
    const chosen: Record<string, number> = {};
    let wrong = false;
    for (const [name, value] of limitPairs(written?.value)) {
      try {
        chosen[name] = limitOf(name, value);
      } catch (error) {
        this.#problems.push(`${written?.from}: ${(error as Error).message}`);
        wrong = true;
      }
    }
    if (wrong) return checkLimits();
    try {
      return checkLimits(chosen);
    } catch (error) {
      this.#problems.push(`${written?.from}: ${(error as Error).message}`);
      return checkLimits();
    }
  }
}

/** `['connections=1000', …]` from flags, `{ connections: 1000 }` from a file. */
function limitPairs(value: unknown): [string, unknown][] {
  if (value === undefined) return [];
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return Object.entries(value);
  return (Array.isArray(value) ? value : [value]).map((item) => {
    const text = typeof item === 'string' ? item : JSON.stringify(item);
    const equals = text.indexOf('=');
    return equals < 0 ? [text, undefined] : [text.slice(0, equals), text.slice(equals + 1)];
  });
}

function limitOf(name: string, value: unknown): number {
  if (!Object.hasOwn(LIMITS, name))
    throw new TypeError(`unknown limit ${JSON.stringify(name)}.${didYouMean(name, LIMIT_NAMES)}`);
  const { unit } = LIMITS[name as keyof Limits];
  // The name of the limit contains the unit, so a bare number is unambiguous.
  const bare =
    typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))
      ? Number(value)
      : undefined;
  const parsed =
    bare ??
    (unit === 'bytes' ? parseSize(String(value)) : unit === 'ms' ? parseDuration(String(value)) : undefined);
  const expected = { bytes: 'a size such as 64KiB', ms: 'a duration such as 30s', count: 'a whole number' }[
    unit
  ];
  return parsed ?? refuse(`${name}=${expected}`, value);
}

export function networks(reader: SettingReader, key: string): NetworkList | undefined {
  return reader.list(key, parseNetworks)?.flat();
}

export function sizeOf(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  return (
    (typeof value === 'string' ? parseSize(value) : undefined) ??
    refuse('a size such as 512MB or 2GiB', value)
  );
}

export function durationOf(value: unknown): number {
  return (
    (typeof value === 'string' ? parseDuration(value) : undefined) ??
    refuse('a duration with its unit, such as 500ms, 30s or 2h', value)
  );
}

export function wholeNumberOf(value: unknown): number {
  return !Array.isArray(value) && /^\d{1,9}$/.test(String(value))
    ? Number(value)
    : refuse('a whole number', value);
}

export function fractionOf(value: unknown): number {
  return !Array.isArray(value) && /^(0|1)?(\.\d+)?$/.test(String(value)) && value !== ''
    ? Number(value)
    : refuse('a number from 0 to 1', value);
}

/** A part as a percentage or a fraction: `10%`, `0.1`. */
export function shareOf(value: unknown): number {
  const percent = typeof value === 'string' ? /^(\d{1,3}(?:\.\d+)?) ?%$/.exec(value.trim()) : null;
  if (percent !== null && Number(percent[1]) <= 100) return Number(percent[1]) / 100;
  return !Array.isArray(value) && /^(0|1)?(\.\d+)?$/.test(String(value)) && value !== ''
    ? Number(value)
    : refuse('a share such as 10% or 0.1', value);
}

export function portOf(text: string): number {
  const port = wholeNumberOf(text);
  return port >= 1 && port <= 65535 ? port : refuse('ports from 1 to 65535', text);
}

export function hostName(text: string): string {
  return /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(text)
    ? text
    : refuse('a host name without its port', text);
}

export function fieldName(text: string): string {
  return /^[!#$%&'*+.^_`|~\w-]+$/.test(text) ? text : refuse('the name of a header field', text);
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : refuse('text', value);
}

export function refuse(expected: string, got: unknown): never {
  throw new TypeError(
    `expected ${expected}, got ${typeof got === 'string' ? JSON.stringify(got) : got === undefined ? 'nothing' : JSON.stringify(got)}`,
  );
}

const SWITCHES = new Map([
  ['true', true],
  ['on', true],
  ['yes', true],
  ['1', true],
  ['false', false],
  ['off', false],
  ['no', false],
  ['0', false],
]);
