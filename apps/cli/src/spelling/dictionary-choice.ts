/**
 * Chooses the dictionary: the file that the user names, otherwise $BLOOMERY_DICTIONARY, otherwise
 * the system's hunspell dictionary for the locale. Building from the last takes a second, so the
 * result is kept under $XDG_CACHE_HOME/bloomery, under a name that changes with the source files.
 */

import { mkdirSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, extname, join } from 'node:path';
import { writeAtomically } from '@bloomery/files';
import {
  decodeSpeller,
  encodeSpeller,
  type Speller,
  type SpellerOptions,
  SpellingError,
  spellerFromHunspell,
  spellerFromWordList,
} from '@bloomery/stores/spelling';
import { hashKey } from 'bloomery';
import { UsageError } from '../usage-error.ts';

export interface DictionaryOptions {
  readonly dictionary?: string;
  readonly language?: string;
}

/** Builds a speller from a .dic with its .aff, or from a word list. */
export function buildSpeller(source: string, aff: string | undefined, options: SpellerOptions): Speller {
  try {
    if (aff === undefined && extname(source) !== '.dic')
      return spellerFromWordList(readBytes(source), { ...options, names: { dic: source } });
    const affixes = aff ?? `${source.slice(0, -4)}.aff`;
    if (aff === undefined && statSync(affixes, { throwIfNoEntry: false }) === undefined) {
      throw new UsageError(`there is no ${affixes} beside ${source}; --aff names the affix file`);
    }
    // The affix file knows its language better than a name such as index.dic does.
    return spellerFromHunspell(readBytes(source), readBytes(affixes), {
      ...options,
      fallbackLanguage: basename(source, '.dic'),
      names: { dic: source, aff: affixes },
    });
  } catch (error) {
    if (error instanceof SpellingError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** Opens the dictionary that the user named, or that of the system. */
export function openSpeller({ dictionary, language }: DictionaryOptions): Speller {
  const path = dictionary ?? (language === undefined ? process.env.BLOOMERY_DICTIONARY : undefined);
  if (path === undefined || path === '') return systemSpeller(language);
  if (extname(path) === '.dic')
    throw new UsageError(
      `${path} is a hunspell dictionary; bloomery spell build ${path} makes a dictionary file of it`,
    );
  try {
    return decodeSpeller(readBytes(path));
  } catch (error) {
    if (!(error instanceof SpellingError)) throw error;
    const hint =
      error.code === 'not-a-dictionary' ? 'this is no dictionary made by bloomery spell build; ' : '';
    throw new UsageError(`${path}: ${hint}${error.message}`, { cause: error });
  }
}

/** Builds a speller from the system's hunspell dictionary and keeps it, or opens the kept one. */
function systemSpeller(asked: string | undefined): Speller {
  const { language, path } = systemDictionary(asked);
  const versions = [path, `${path.slice(0, -4)}.aff`].map((file) => {
    const { size, mtimeMs } = statSync(file);
    return `${file} ${size} ${mtimeMs}`;
  });
  const { low, high } = hashKey([CACHE_VERSION, ...versions].join('\n'));
  const id = [high, low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'bloomery');
  const cached = join(folder, `${language}-${id}.spell`);
  try {
    return decodeSpeller(readBytes(cached));
  } catch {
    // It is missing or damaged, so it is rebuilt.
  }
  const speller = buildSpeller(path, undefined, { language });
  try {
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder)) {
      if (name.startsWith(`${language}-`) && name.endsWith('.spell')) unlinkSync(join(folder, name));
    }
    writeAtomically(cached, encodeSpeller(speller));
  } catch {
    // If it cannot be kept, it is rebuilt the next time.
  }
  return speller;
}

/** Finds the .dic of a language, or of the locale's language: `de_AT`, otherwise any `de_…`. */
function systemDictionary(asked: string | undefined): { language: string; path: string } {
  const locale = process.env.LC_ALL || process.env.LC_MESSAGES || process.env.LANG || '';
  const wanted = asked ?? (/^[a-z]{2,3}(_|\.|@|$)/.exec(locale) ? locale.replace(/[.@].*/, '') : 'en_US');
  const found = new Map<string, string>();
  for (const folder of [...(process.env.DICPATH ?? '').split(delimiter), ...FOLDERS]) {
    if (folder === '' || !statSync(folder, { throwIfNoEntry: false })?.isDirectory()) continue;
    const names = new Set(readdirSync(folder));
    for (const name of [...names].sort()) {
      const language = basename(name, '.dic');
      if (name.endsWith('.dic') && names.has(`${language}.aff`) && !found.has(language))
        found.set(language, join(folder, name));
    }
  }
  const short = wanted.split('_')[0];
  const close =
    asked === undefined
      ? [...found.keys()].find((name) => name === short || name.startsWith(`${short}_`))
      : undefined;
  const language = found.has(wanted) ? wanted : close;
  if (language !== undefined) return { language, path: found.get(language)! };
  const have =
    found.size > 0
      ? `there are ${[...found.keys()].join(', ')} (--language chooses)`
      : 'there are none at all';
  throw new UsageError(
    `no hunspell dictionary for ${wanted}: ${have}; install one (Debian: hunspell-en-us), or name a file with --dictionary`,
  );
}

function readBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(path === '-' ? 0 : path));
}

const FOLDERS = [
  join(homedir(), '.local/share/hunspell'),
  '/usr/share/hunspell',
  '/usr/share/myspell/dicts',
  '/usr/local/share/hunspell',
  '/opt/homebrew/share/hunspell',
  join(homedir(), 'Library/Spelling'),
  '/Library/Spelling',
];
/** Must change whenever the same dictionary would be built into different bytes. */
const CACHE_VERSION = '3';
