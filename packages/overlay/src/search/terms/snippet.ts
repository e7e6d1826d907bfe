/**
 * The part of a text that shows why it was found. The owner makes it from the file, so it needs no
 * copy of the texts anywhere, and nothing but these characters leaves a folder.
 *
 * It is the window of 200 characters that has the most different words of the query, and of those
 * with equally many the first one. Spaces and line ends become one space.
 */

import { textTerms } from './text-terms.ts';

export interface Snippet {
  readonly text: string;
  /** The places of the words of the query, in order and without overlaps. */
  readonly marks: readonly Mark[];
}

interface Mark {
  readonly start: number;
  readonly length: number;
}

const WINDOW = 200;
/** Characters before the first word, if the window does not begin the text. */
const LEAD = 40;
const MOST_MARKS = 16;

interface Found {
  readonly term: string;
  readonly start: number;
  readonly end: number;
}

export function snippetOf(text: string, keys: readonly string[]): Snippet {
  const wanted = new Set(keys);
  const found: Found[] = [];
  for (const { term, start, end } of textTerms(text)) {
    // The whole of an identifier and its first part begin at one place, and one of them is marked.
    if (!wanted.has(term) || start < (found.at(-1)?.end ?? 0)) continue;
    found.push({ term, start, end });
    if (found.length >= MOST_FOUND) break;
  }
  const first = bestStart(found);
  const begin = first === undefined ? 0 : wordStart(text, Math.max(0, first - LEAD), first);
  const end = wordEnd(text, Math.min(text.length, begin + WINDOW));
  const inside = found.filter((each) => each.start >= begin && each.end <= end).slice(0, MOST_MARKS);
  return joined(text, begin, end, inside);
}

/** Words that are looked at; a window among them is good enough. */
const MOST_FOUND = 2000;

/** The place of the first word of the best window. */
function bestStart(found: readonly Found[]): number | undefined {
  let best: number | undefined;
  let most = 0;
  const inside = new Map<string, number>();
  let last = 0;
  for (let first = 0; first < found.length; first++) {
    for (; last < found.length && found[last].end - found[first].start <= WINDOW - LEAD; last++)
      inside.set(found[last].term, (inside.get(found[last].term) ?? 0) + 1);
    if (inside.size > most) {
      most = inside.size;
      best = found[first].start;
    }
    if (last === first) {
      last++;
      continue;
    }
    const count = inside.get(found[first].term)! - 1;
    if (count > 0) inside.set(found[first].term, count);
    else inside.delete(found[first].term);
  }
  return best ?? found[0]?.start;
}

/** The first beginning of a word from `from` on, before `until`. */
function wordStart(text: string, from: number, until: number): number {
  if (from === 0) return 0;
  const space = text.slice(from, until).search(/\s\S/);
  if (space >= 0) return from + space + 1;
  return isLowSurrogate(text, from) ? from + 1 : from;
}

function wordEnd(text: string, until: number): number {
  if (until === text.length) return until;
  const back = text.slice(until - 30, until).lastIndexOf(' ');
  if (back > 0) return until - 30 + back;
  return isLowSurrogate(text, until) ? until - 1 : until;
}

function isLowSurrogate(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit < 0xe000;
}

/** The window with single spaces, and the marks in it. */
function joined(text: string, begin: number, end: number, inside: readonly Found[]): Snippet {
  let out = begin > 0 ? '… ' : '';
  const marks: Mark[] = [];
  const add = (part: string) => {
    const plain = part.replace(/[\s\p{Cc}]+/gu, ' ').replace(LONE, '\ufffd');
    out += out === '' || out.endsWith(' ') ? plain.trimStart() : plain;
  };
  let at = begin;
  for (const { start, end: wordEnd } of inside) {
    add(text.slice(at, start));
    const from = out.length;
    add(text.slice(start, wordEnd));
    marks.push({ start: from, length: out.length - from });
    at = wordEnd;
  }
  add(text.slice(at, end));
  out = out.trimEnd();
  return { text: end < text.length ? `${out} …` : out, marks };
}

/** Halves of characters, which UTF-8 cannot carry. */
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
