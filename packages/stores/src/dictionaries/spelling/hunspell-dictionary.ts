/**
 * Reads hunspell's .dic files: a number, then one stem per line with its flags (`walk/GDS`), and
 * perhaps morphology, which is skipped. Together with the .aff file it yields all words of the
 * language that are not compounds, one by one.
 */

import { ExpansionBudget, expandStem } from './affix-expansion.ts';
import { type AffixFile, readAffixFile } from './affix-file.ts';
import { readAffixFlags } from './affix-flags.ts';
import { SpellingError } from './spelling-error.ts';
import { decodeText, hasBytes, isUtf8 } from './text-encoding.ts';

/** A word of a dictionary, with its properties. */
export interface DictionaryForm {
  readonly form: string;
  /** Whether it is right only as it is written: `kHz`, not `KHZ`. */
  readonly keepCase: boolean;
  /** Whether it is right, but never suggested. */
  readonly noSuggest: boolean;
  /** Whether a rule made it from another word. */
  readonly derived: boolean;
}

export class HunspellDictionary {
  readonly affixes: AffixFile;
  readonly #lines: readonly string[];
  readonly #what: string;

  /** Reads both files. `what` names them in errors. */
  constructor(dic: Uint8Array, aff: Uint8Array, what: { dic?: string; aff?: string } = {}) {
    this.#what = what.dic ?? 'the dictionary';
    this.affixes = readAffixFile(aff, what.aff);
    const text = decodeText(dic, this.affixes.encoding, this.#what);
    this.#lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
    if (!/^\s*\d+\s*$/.test(this.#lines[0])) {
      const got = JSON.stringify(this.#lines[0].slice(0, 40));
      throw new SpellingError('words', `${this.#what}, line 1: expected the number of words, got ${got}`, 1);
    }
  }

  /** Yields the stems of the file. */
  *stems(): Generator<{ word: string; flags: readonly string[] }> {
    for (let i = 1; i < this.#lines.length; i++) {
      const line = this.#lines[i];
      if (line === '' || line.startsWith('\t')) continue;
      yield this.#readLine(line, i + 1);
    }
  }

  /**
   * Yields every form, some of them more than once. It takes the memory of the files and of the
   * forms of one stem.
   */
  *forms(): Generator<DictionaryForm> {
    const { affixes } = this;
    const forbidden = this.#forbiddenWords();
    const { keepCase, noSuggest } = affixes;
    const budget = new ExpansionBudget(this.#what);
    let batch: DictionaryForm[] = [];
    for (const { word, flags } of this.stems()) {
      // Another entry with the same letters may have forms that are right.
      if (affixes.forbidden !== undefined && flags.includes(affixes.forbidden)) continue;
      expandStem(word, flags, affixes, budget, (form, rules) => {
        if (forbidden.has(form)) return;
        const flagged = (flag: string | undefined) =>
          flag !== undefined &&
          (flags.includes(flag) || rules.some((rule) => rule.continuation.includes(flag)));
        batch.push({
          form,
          keepCase: flagged(keepCase),
          noSuggest: flagged(noSuggest),
          derived: rules.length > 0,
        });
      });
      yield* batch;
      batch = [];
    }
  }

  /**
   * Words that are wrong although rules make them. If a word has several entries, the first
   * decides, as in hunspell.
   */
  #forbiddenWords(): ReadonlySet<string> {
    const { forbidden } = this.affixes;
    const words = new Set<string>();
    if (forbidden === undefined) return words;
    for (const { word, flags } of this.stems()) if (flags.includes(forbidden)) words.add(word);
    const decided = new Set<string>();
    if (words.size === 0) return words;
    for (const { word, flags } of this.stems()) {
      if (!words.has(word) || decided.has(word)) continue;
      decided.add(word);
      if (!flags.includes(forbidden)) words.delete(word);
    }
    return words;
  }

  #readLine(line: string, number: number): { word: string; flags: readonly string[] } {
    const tab = line.indexOf('\t');
    let entry = tab < 0 ? line : line.slice(0, tab);
    const morphology = entry.search(/ [a-z]{2}:/);
    if (morphology >= 0) entry = entry.slice(0, morphology);
    entry = entry.trim();
    let slash = entry.indexOf('/', 1);
    while (slash > 0 && entry[slash - 1] === '\\') slash = entry.indexOf('/', slash + 1);
    const word = (slash < 0 ? entry : entry.slice(0, slash)).replaceAll('\\/', '/');
    if (word.length > MOST_LETTERS) {
      throw new SpellingError(
        'words',
        `${this.#what}, line ${number}: a word of ${word.length} letters`,
        number,
      );
    }
    if (hasBytes(word)) {
      throw new SpellingError(
        'encoding',
        `${this.#what}, line ${number}: a word that is not UTF-8, as SET says`,
        number,
      );
    }
    return { word, flags: slash < 0 ? [] : this.#flags(entry.slice(slash + 1), number) };
  }

  #flags(text: string, line: number): readonly string[] {
    const { aliases, flagFormat, encoding } = this.affixes;
    if (aliases.length === 0) return readAffixFlags(text, flagFormat, isUtf8(encoding));
    const flags = aliases[Number(text) - 1];
    if (flags !== undefined) return flags;
    const expected = `expected the number of a set of flags from 1 to ${aliases.length}`;
    throw new SpellingError('words', `${this.#what}, line ${line}: ${expected}, got ${text}`, line);
  }
}

const MOST_LETTERS = 1000;
