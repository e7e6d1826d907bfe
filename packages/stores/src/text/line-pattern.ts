/**
 * Patterns of grep as an automaton that finds lines, as a RegExp that finds the places of matches,
 * and as the text that a matching line must contain.
 *
 * The RegExp reads a string with one character for each byte (latin1). It finds lines in a text of
 * many: sets never contain a newline, and `^` and `$` look for newlines. The flags `i` and `m` are
 * not used, because JavaScript folds more than ASCII and takes a carriage return for the end of a
 * line.
 */

import { FOLDED } from './gram-scheme.ts';
import { LineAutomaton } from './line-automaton.ts';
import { type Assertion, type PatternNode, type PatternSyntax, parsePattern } from './posix-pattern.ts';
import { NOTHING_REQUIRED, type RequiredText } from './required-text.ts';

export interface LinePatternOptions {
  readonly syntax: PatternSyntax;
  /** ASCII letters match in both cases. */
  readonly ignoreCase?: boolean;
  /** Only matches that have no word character on either side. */
  readonly words?: boolean;
  /** Only matches of a whole line. */
  readonly wholeLines?: boolean;
}

export interface LinePattern {
  /** Finds the lines, in one pass whatever the pattern is. */
  readonly lines: LineAutomaton;
  /** Global; finds the places of matches within a line, for colours. It may backtrack. */
  readonly regexp: RegExp;
  /** Bytes of the longest line on which `regexp` ends within about a second; 0 if there is none. */
  readonly longestPlaced: number;
  /** A line that matches contains this. */
  readonly required: RequiredText;
  /** The needle, if the pattern is one text without further conditions. */
  readonly needle: Uint8Array | null;
}

/** Reads patterns of which any may match. Throws a `PatternSyntaxError`. */
export function linePattern(patterns: readonly Uint8Array[], options: LinePatternOptions): LinePattern {
  const { syntax, ignoreCase = false, words = false, wholeLines = false } = options;
  const isNeedle = syntax === 'fixed' && patterns.length === 1 && !ignoreCase && !words && !wholeLines;
  if (isNeedle && patterns[0].length > 0 && !patterns[0].includes(10)) return new NeedlePattern(patterns[0]);
  const nodes = patterns.map((pattern) => parsePattern(pattern, { syntax, ignoreCase }));
  const choice = nodes.map(sourceOf).join('|');
  const source = wholeLines
    ? `${LOOKS.lineStart}(?:${choice})${LOOKS.lineEnd}`
    : words
      ? `(?<!\\w)(?:${choice})(?!\\w)`
      : choice;
  return {
    lines: new LineAutomaton(nodes, { words, wholeLines }),
    regexp: new RegExp(source === '' ? '(?:)' : source, 'g'),
    longestPlaced: longestPlaced(nodes),
    required: { kind: 'any', of: nodes.map((node) => requiredOf(knownText(node))) },
    needle: null,
  };
}

/**
 * One text without further conditions. Making the automaton takes longer than a search by an index,
 * so it is made if it is asked for.
 */
class NeedlePattern implements LinePattern {
  readonly needle: Uint8Array;
  readonly longestPlaced = LONGEST_PLACED;
  readonly required: RequiredText;
  #lines: LineAutomaton | null = null;

  constructor(needle: Uint8Array) {
    this.needle = needle;
    const exact = String.fromCharCode(...needle.subarray(0, LONGEST_TEXT).map((byte) => FOLDED[byte]));
    this.required = requiredOf({ exact: [exact] });
  }

  get lines(): LineAutomaton {
    this.#lines ??= new LineAutomaton([parsePattern(this.needle, { syntax: 'fixed', ignoreCase: false })], {
      words: false,
      wholeLines: false,
    });
    return this.#lines;
  }

  get regexp(): RegExp {
    return new RegExp(Array.from(this.needle, hex).join(''), 'g');
  }
}

const LONGEST_PLACED = 1000;
/** Steps of a RegExp that take about a second. */
const MOST_STEPS = 1e8;

/**
 * A RegExp takes at most n^(c + 1) steps on a line of n bytes, where c is the number of its choices
 * and repetitions, if none of them is repeated. Otherwise it may take 2^n.
 */
function longestPlaced(nodes: readonly PatternNode[]): number {
  const choices = nodes.reduce((sum, node) => sum + choicesIn(node), 0);
  return Math.min(LONGEST_PLACED, Math.floor(MOST_STEPS ** (1 / (choices + 1))));
}

/** Choices and repetitions of a part; infinitely many if one of them is repeated. */
function choicesIn(node: PatternNode): number {
  switch (node.kind) {
    case 'set':
    case 'assertion':
      return 0;
    case 'sequence':
      return node.of.reduce((sum, part) => sum + choicesIn(part), 0);
    case 'choice':
      return node.of.reduce((sum, part) => sum + choicesIn(part), 1);
    case 'repeat': {
      const inner = choicesIn(node.of);
      if (node.most > 1 && inner > 0) return Number.POSITIVE_INFINITY;
      return node.least === node.most ? inner : inner + 1;
    }
  }
}

const LOOKS: Readonly<Record<Assertion, string>> = {
  lineStart: '(?<![^\\n])',
  lineEnd: '(?![^\\n])',
  wordEdge: '\\b',
  noWordEdge: '\\B',
  wordStart: '(?<!\\w)(?=\\w)',
  wordEnd: '(?<=\\w)(?!\\w)',
};

function sourceOf(node: PatternNode): string {
  switch (node.kind) {
    case 'set':
      return setSource(node.has);
    case 'assertion':
      return LOOKS[node.name];
    case 'sequence':
      return node.of
        .map((part) => (part.kind === 'choice' ? `(?:${sourceOf(part)})` : sourceOf(part)))
        .join('');
    case 'choice':
      return node.of.map(sourceOf).join('|');
    case 'repeat': {
      const most = node.most === Number.POSITIVE_INFINITY ? '' : String(node.most);
      return `(?:${sourceOf(node.of)}){${node.least},${most}}`;
    }
  }
}

function setSource(has: Uint8Array): string {
  const ranges: string[] = [];
  let count = 0;
  for (let byte = 0; byte < 256; byte++) {
    if (has[byte] === 0) continue;
    let end = byte;
    while (end < 255 && has[end + 1] === 1) end++;
    ranges.push(end === byte ? hex(byte) : `${hex(byte)}-${hex(end)}`);
    count += end - byte + 1;
    byte = end;
  }
  return count === 1 ? ranges[0] : `[${ranges.join('')}]`;
}

function hex(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`;
}

/**
 * Knowledge about the text that a part of a pattern matches: all texts that it can be, if they are
 * few, or texts that it contains. Texts have one character for each byte, in lower case.
 */
type KnownText = { readonly exact: readonly string[] } | { readonly contains: RequiredText };

const MOST_TEXTS = 32;
const LONGEST_TEXT = 256;
const UNKNOWN: KnownText = { contains: NOTHING_REQUIRED };

function knownText(node: PatternNode): KnownText {
  switch (node.kind) {
    case 'set': {
      const texts = new Set<string>();
      node.has.forEach((value, byte) => {
        if (value === 1) texts.add(String.fromCharCode(FOLDED[byte]));
      });
      return texts.size <= MOST_TEXTS / 2 ? { exact: [...texts] } : UNKNOWN;
    }
    case 'assertion':
      return { exact: [''] };
    case 'sequence':
      return sequenceText(node.of.map(knownText));
    case 'choice': {
      const parts = node.of.map(knownText);
      const exact = [...new Set(parts.flatMap((part) => ('exact' in part ? part.exact : [])))];
      if (parts.every((part) => 'exact' in part) && exact.length <= MOST_TEXTS) return { exact };
      return { contains: { kind: 'any', of: parts.map(requiredOf) } };
    }
    case 'repeat':
      return repeatText(knownText(node.of), node.least, node.most);
  }
}

function sequenceText(parts: readonly KnownText[]): KnownText {
  const required: RequiredText[] = [];
  let exact: readonly string[] = [''];
  let isExact = true;
  for (const part of parts) {
    if ('exact' in part) {
      const longer = product(exact, part.exact);
      if (longer !== null) {
        exact = longer;
        continue;
      }
    }
    isExact = false;
    required.push(requiredOf({ exact }));
    if (!('exact' in part)) required.push(part.contains);
    exact = 'exact' in part ? part.exact : [''];
  }
  if (isExact) return { exact };
  return { contains: { kind: 'all', of: [...required, requiredOf({ exact })] } };
}

function repeatText(part: KnownText, least: number, most: number): KnownText {
  if (least === 0 && most === 1 && 'exact' in part) return { exact: [...new Set(['', ...part.exact])] };
  if (least === 0) return UNKNOWN;
  if (!('exact' in part)) return part;
  let exact: readonly string[] = part.exact;
  let times = 1;
  for (; times < least; times++) {
    const longer = product(exact, part.exact);
    if (longer === null) break;
    exact = longer;
  }
  return times === least && most === least ? { exact } : { contains: requiredOf({ exact }) };
}

/** All concatenations, or null if they are too many or too long. */
function product(first: readonly string[], second: readonly string[]): string[] | null {
  if (first.length * second.length > MOST_TEXTS) return null;
  const texts = new Set<string>();
  for (const a of first) for (const b of second) texts.add(a + b);
  return [...texts].some((text) => text.length > LONGEST_TEXT) ? null : [...texts];
}

function requiredOf(known: KnownText): RequiredText {
  if ('contains' in known) return known.contains;
  const of = known.exact.map(
    (text): RequiredText => ({
      kind: 'text',
      bytes: Uint8Array.from(text, (c) => c.charCodeAt(0)),
    }),
  );
  return of.length === 1 ? of[0] : { kind: 'any', of };
}
