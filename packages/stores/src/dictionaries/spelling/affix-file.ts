/**
 * Reads hunspell's .aff files, which say how the words of the .dic file are inflected. The format
 * is that of hunspell(5). This reads the parts that decide which words are right, and those that
 * suggestions can use.
 *
 * Read: SET, FLAG, AF, LANG, TRY, REP, ICONV, IGNORE, WORDCHARS, BREAK, PFX and SFX with conditions
 * and continuation classes, NEEDAFFIX (PSEUDOROOT), FORBIDDENWORD, ONLYINCOMPOUND, KEEPCASE,
 * NOSUGGEST, CIRCUMFIX, FULLSTRIP, COMPLEXPREFIXES, CHECKSHARPS. Aliases of morphology (AM) are
 * skipped with all other morphology.
 *
 * Not read: compounding (COMPOUNDFLAG, COMPOUNDRULE and their kin). The compounds of a language are
 * endless, so they cannot be expanded into a set. `compounds` tells that a dictionary has them, so
 * that the command that builds from it can warn. OCONV, PHONE, MAP and KEY affect only hunspell's
 * suggestions.
 */

import { type FlagFormat, readAffixFlags } from './affix-flags.ts';
import { SpellingError } from './spelling-error.ts';
import { decodeText, isUtf8 } from './text-encoding.ts';

/** One line of a PFX or SFX block. */
export interface AffixRule {
  readonly flag: string;
  readonly prefix: boolean;
  /** Whether it can be combined with an affix at the other end. */
  readonly cross: boolean;
  readonly strip: string;
  readonly add: string;
  /** Whether the rule applies to this form, before anything is stripped from it. */
  readonly applies: (form: string) => boolean;
  /** Flags of the form that it makes: further affixes, NEEDAFFIX, …. */
  readonly continuation: readonly string[];
}

export interface AffixFile {
  readonly encoding: string;
  readonly language: string;
  readonly flagFormat: FlagFormat;
  /** Sets of flags by their number (AF), counted from 1. */
  readonly aliases: readonly (readonly string[])[];
  readonly rules: ReadonlyMap<string, readonly AffixRule[]>;
  readonly needAffix: string | undefined;
  readonly forbidden: string | undefined;
  readonly onlyInCompound: string | undefined;
  readonly keepCase: string | undefined;
  readonly noSuggest: string | undefined;
  readonly circumfix: string | undefined;
  readonly fullStrip: boolean;
  readonly complexPrefixes: boolean;
  readonly sharpS: boolean;
  /** Letters in the order in which suggestions try them. */
  readonly tryLetters: string;
  /** Typical mistakes, as pairs of the written and the intended text; `_` is a space. */
  readonly replacements: readonly (readonly [from: string, to: string])[];
  /**
   * Changes to a word before it is looked up. With `_` at one end, a conversion applies only at
   * that end of the word.
   */
  readonly conversions: readonly (readonly [from: string, to: string])[];
  readonly ignored: string;
  readonly wordCharacters: string;
  /**
   * Whether hyphens join words, each of which is looked up. This is the default, unless BREAK lists
   * other characters.
   */
  readonly breaksAtHyphens: boolean;
  /** Whether the dictionary makes compounds, which cannot be expanded. */
  readonly compounds: boolean;
}

/** The most bytes of an .aff file; the largest known one (Hungarian) has 2 MB. */
const MOST_AFFIX_BYTES = 2 ** 26;

export function readAffixFile(bytes: Uint8Array, what = 'the affix file'): AffixFile {
  if (bytes.length > MOST_AFFIX_BYTES) {
    throw new SpellingError(
      'limit',
      `${what} has ${bytes.length} bytes; expected at most ${MOST_AFFIX_BYTES}`,
    );
  }
  // SET is ASCII in every encoding.
  const head = new TextDecoder('iso-8859-1').decode(bytes.subarray(0, 2 ** 16));
  const encoding = /^(?:\u00ef\u00bb\u00bf)?SET[ \t]+(\S+)/m.exec(head)?.[1] ?? 'ISO8859-1';
  return new AffixReader(encoding, what).read(decodeText(bytes, encoding, what));
}

class AffixReader {
  readonly #what: string;
  readonly #encoding: string;
  readonly #values = new Map<string, string>();
  readonly #rules = new Map<string, AffixRule[]>();
  readonly #aliases: (readonly string[])[] = [];
  readonly #replacements: [string, string][] = [];
  readonly #conversions: [string, string][] = [];
  readonly #breaks: string[] = [];
  readonly #conditions = new Map<string, (form: string) => boolean>();
  /**
   * Blocks that have begun (PFX and SFX by kind and flag, lists by their name), with the number of
   * lines still to come.
   */
  readonly #blocks = new Map<string, { left: number; cross: boolean }>();
  #compounds = false;
  #line = 0;

  constructor(encoding: string, what: string) {
    this.#encoding = encoding;
    this.#what = what;
  }

  read(text: string): AffixFile {
    // FLAG and AF decide how all flags are read, wherever they stand.
    this.#values.set('FLAG', /^FLAG[ \t]+(\S+)/m.exec(text)?.[1] ?? 'char');
    for (const line of text.split('\n')) {
      this.#line++;
      this.#readLine(line.replace(/^\ufeff/, '').replace(/\r$/, ''));
    }
    const value = (name: string) => this.#values.get(name);
    const flag = (name: string) =>
      this.#values.has(name) ? this.#flags(this.#values.get(name)!)[0] : undefined;
    return {
      encoding: this.#encoding,
      language: value('LANG') ?? '',
      flagFormat: this.#flagFormat(),
      aliases: this.#aliases,
      rules: this.#rules,
      needAffix: flag('NEEDAFFIX') ?? flag('PSEUDOROOT'),
      forbidden: flag('FORBIDDENWORD'),
      onlyInCompound: flag('ONLYINCOMPOUND'),
      keepCase: flag('KEEPCASE'),
      noSuggest: flag('NOSUGGEST'),
      circumfix: flag('CIRCUMFIX'),
      fullStrip: this.#values.has('FULLSTRIP'),
      complexPrefixes: this.#values.has('COMPLEXPREFIXES'),
      sharpS: this.#values.has('CHECKSHARPS'),
      tryLetters: value('TRY') ?? '',
      replacements: this.#replacements,
      conversions: this.#conversions,
      ignored: value('IGNORE') ?? '',
      wordCharacters: value('WORDCHARS') ?? '',
      breaksAtHyphens: !this.#blocks.has('BREAK') || this.#breaks.includes('-'),
      compounds: this.#compounds,
    };
  }

  #readLine(line: string): void {
    const fields = line.trim().split(/[ \t]+/);
    const name = fields[0];
    if (name === '' || name.startsWith('#')) return;
    if (name === 'PFX' || name === 'SFX') this.#readAffix(fields);
    else if (name === 'AF') this.#readListed(fields, () => this.#aliases.push(this.#plainFlags(fields[1])));
    else if (name === 'REP') this.#readListed(fields, () => this.#addReplacement(fields));
    else if (name === 'ICONV') this.#readListed(fields, () => this.#conversions.push(this.#pair(fields)));
    else if (name === 'BREAK') this.#readListed(fields, () => this.#breaks.push(fields[1]));
    else if (COMPOUNDING.has(name)) this.#compounds = true;
    else if (VALUES.has(name)) this.#values.set(name, fields[1] ?? '');
  }

  /** Reads a line of a list. The first line says how many follow. */
  #readListed(fields: readonly string[], add: () => void): void {
    const [name, first] = fields;
    const block = this.#blocks.get(name);
    if (block === undefined) this.#blocks.set(name, { left: this.#count(first), cross: false });
    else if (first === undefined) this.#fail(`${name} without a value`);
    else add();
  }

  #pair(fields: readonly string[]): [string, string] {
    if (fields.length < 3) this.#fail(`expected ${fields[0]} with two texts, got ${fields.length - 1}`);
    return [fields[1], fields[2]];
  }

  /**
   * Adds a replacement. Anchors (^, $) do not matter to a suggestion, and an empty text cannot be
   * replaced.
   */
  #addReplacement(fields: readonly string[]): void {
    const [from, to] = this.#pair(fields);
    const bare = from.replace(/^\^|\$$/g, '');
    if (bare !== '') this.#replacements.push([bare, to === '0' ? '' : to]);
  }

  #readAffix(fields: readonly string[]): void {
    const [kind, flagText, third, fourth, condition = '.'] = fields;
    if (fourth === undefined) this.#fail(`expected ${kind} with a flag and at least two more fields`);
    const [flag] = this.#plainFlags(flagText);
    if (flag === undefined) this.#fail(`${kind} without a flag`);
    const block = this.#blocks.get(`${kind} ${flag}`);
    if (block === undefined || (block.left === 0 && /^[YN]$/.test(third) && /^\d+$/.test(fourth))) {
      if (!/^[YN]$/.test(third)) this.#fail(`expected Y or N after ${kind} ${flagText}, got ${third}`);
      this.#blocks.set(`${kind} ${flag}`, { left: this.#count(fourth), cross: third === 'Y' });
      return;
    }
    if (block.left-- === 0) this.#fail(`more lines for ${kind} ${flagText} than its first line says`);
    const slash = fourth.indexOf('/');
    const add = slash < 0 ? fourth : fourth.slice(0, slash);
    const longest = Math.max(third.length, add.length, condition.length);
    if (longest > MOST_LETTERS) this.#fail(`a part of ${longest} letters; expected at most ${MOST_LETTERS}`);
    const prefix = kind === 'PFX';
    const rules = this.#rules.get(flag) ?? [];
    rules.push({
      flag,
      prefix,
      cross: block.cross,
      strip: third === '0' ? '' : third,
      add: add === '0' ? '' : add,
      applies: this.#condition(condition, prefix),
      continuation: slash < 0 ? [] : this.#flags(fourth.slice(slash + 1)),
    });
    this.#rules.set(flag, rules);
  }

  /**
   * Compiles a condition into a test, once for each text. Conditions of hunspell have single
   * characters, `.`, `[…]` and `[^…]`.
   */
  #condition(text: string, prefix: boolean): (form: string) => boolean {
    if (text === '.') return always;
    const id = `${prefix ? '^' : '$'}${text}`;
    let test = this.#conditions.get(id);
    if (test === undefined) {
      const pattern = patternOf(text) ?? this.#fail(`the condition ${text} has no end`);
      const regex = new RegExp(prefix ? `^${pattern}` : `${pattern}$`, 'u');
      test = (form) => regex.test(form);
      this.#conditions.set(id, test);
    }
    return test;
  }

  #count(text: string | undefined): number {
    if (text === undefined || !/^\d{1,7}$/.test(text))
      this.#fail(`expected a number of lines, got ${text ?? 'nothing'}`);
    return Number(text);
  }

  #flagFormat(): FlagFormat {
    const name = this.#values.get('FLAG')!;
    if (name === 'char' || name === 'long' || name === 'num' || name === 'UTF-8') return name;
    return this.#fail(`expected FLAG long, num or UTF-8, got ${name}`);
  }

  /** Reads flags, or the number of a set of flags. */
  #flags(text: string): readonly string[] {
    if (this.#aliases.length > 0 && /^\d+$/.test(text)) return this.#aliases[Number(text) - 1] ?? [];
    return this.#plainFlags(text);
  }

  #plainFlags(text: string): readonly string[] {
    return readAffixFlags(text, this.#flagFormat(), isUtf8(this.#encoding));
  }

  #fail(message: string): never {
    throw new SpellingError('affix', `${this.#what}, line ${this.#line}: ${message}`, this.#line);
  }
}

/** The source of a regular expression for a condition, or undefined if a bracket is not closed. */
function patternOf(text: string): string | undefined {
  let pattern = '';
  const letters = [...text];
  for (let i = 0; i < letters.length; i++) {
    if (letters[i] === '.') pattern += '.';
    else if (letters[i] !== '[') pattern += literally(letters[i]);
    else {
      const end = letters.indexOf(']', i + 1);
      if (end < 0) return undefined;
      const inside = letters.slice(i + 1, end);
      const not = inside[0] === '^';
      pattern += `[${not ? '^' : ''}${inside
        .slice(not ? 1 : 0)
        .map(literally)
        .join('')}]`;
      i = end;
    }
  }
  return pattern;
}

/** Escapes a letter, so that it has no special meaning in a regular expression. */
function literally(letter: string): string {
  return `\\u{${letter.codePointAt(0)!.toString(16)}}`;
}

function always(): boolean {
  return true;
}

/** The most letters of an affix, of the text that it strips, and of its condition. */
const MOST_LETTERS = 1000;
const VALUES = new Set([
  'LANG',
  'TRY',
  'IGNORE',
  'WORDCHARS',
  'NEEDAFFIX',
  'PSEUDOROOT',
  'FORBIDDENWORD',
  'ONLYINCOMPOUND',
  'KEEPCASE',
  'NOSUGGEST',
  'CIRCUMFIX',
  'FULLSTRIP',
  'COMPLEXPREFIXES',
  'CHECKSHARPS',
]);
const COMPOUNDING = new Set([
  'COMPOUNDFLAG',
  'COMPOUNDBEGIN',
  'COMPOUNDMIDDLE',
  'COMPOUNDEND',
  'COMPOUNDLAST',
  'COMPOUNDRULE',
]);
