/**
 * Masks Markdown for spell checkers: everything that is not prose becomes spaces, so that lines and
 * columns stay the same.
 *
 * Masked: front matter (--- … ---), fenced and indented code, code spans, targets of links and
 * images, reference definitions and labels, autolinks, HTML tags, comments, the contents of <code>,
 * <pre>, <script> and <style>, and entities. The labels of footnotes are masked, but their text is
 * prose. Lines may end with CR LF.
 *
 * This is not a CommonMark parser. It guesses where a code block begins inside lists (an indented
 * line after a blank one is code only outside of lists and footnotes), and a code span ends with
 * its paragraph. There is one pass over the lines and one over the text. Lookahead is limited, or
 * its result is remembered.
 */

/** Returns the text with a space for each character that is not prose. */
export function maskMarkdown(text: string): string {
  return maskInline(maskBlocks(text));
}

function maskBlocks(text: string): string {
  const lines = text.split('\n');
  let fence: { mark: string; length: number } | undefined;
  let afterBlank = true;
  let inList = false;
  let start = 0;
  if (/^---\s*$/.test(lines[0])) {
    const end = lines.findIndex((line, i) => i > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
    if (end > 0) {
      for (let i = 0; i <= end; i++) lines[i] = blank(lines[i]);
      start = end + 1;
    }
  }
  for (let i = start; i < lines.length; i++) {
    const line = lines[i];
    const open = /^[\s>]*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})/.exec(line);
    if (fence !== undefined) {
      const close = open !== null && open[1][0] === fence.mark && open[1].length >= fence.length;
      if (close && line.slice(open[0].length).trim() === '') fence = undefined;
      lines[i] = blank(line);
      continue;
    }
    if (open !== null && !(open[1][0] === '`' && line.slice(open[0].length).includes('`'))) {
      fence = { mark: open[1][0], length: open[1].length };
      lines[i] = blank(line);
      continue;
    }
    const empty = line.trim() === '';
    const indented = /^(?: {4}|\t| {1,3}\t)/.test(line);
    if (!empty && !indented)
      inList =
        /^ {0,3}(?:[-*+]|\d{1,9}[.)]|\[\^[^\s\]]+\]:)(?:\s|$)/.test(line) ||
        (inList && (/^\s/.test(line) || !afterBlank));
    const code: boolean = indented && !empty && afterBlank && !inList;
    if (code) lines[i] = blank(line);
    else if (!empty)
      // A footnote is prose. Its label is masked later, together with the labels in the text.
      lines[i] = line.replace(/^ {0,3}\[(?!\^)[^\]]+\]:.*$/s, blank);
    // Code continues until a line that is not indented.
    afterBlank = empty || code;
  }
  return lines.join('\n');
}

function maskInline(text: string): string {
  const out: string[] = [];
  let copied = 0;
  const mask = (from: number, to: number): void => {
    out.push(text.slice(copied, from), blank(text.slice(from, to)));
    copied = to;
  };
  const spans = new CodeSpans(text);
  const ends = new Ends(text);
  for (let at = 0; at < text.length; ) {
    const end = endOfMasked(text, at, spans, ends);
    if (end > at) mask(at, end);
    at = Math.max(end, at + 1);
    if (text[at - 1] === '\\' && end < at) at++;
  }
  out.push(text.slice(copied));
  return out.join('');
}

/** The end of the part that begins here, if it is not prose; otherwise `at`. */
function endOfMasked(text: string, at: number, spans: CodeSpans, ends: Ends): number {
  switch (text[at]) {
    case '`':
      return spans.endOf(at);
    case '<':
      return endOfTag(text, at, ends);
    case '[':
      return endOfFootnote(text, at);
    case ']':
      return endOfTarget(text, at);
    case '&': {
      const entity = /^&(?:#\d{1,7}|#[xX][\da-fA-F]{1,6}|[A-Za-z][A-Za-z\d]{0,31});/.exec(
        text.slice(at, at + 40),
      );
      return at + (entity?.[0].length ?? 0);
    }
    default:
      return at;
  }
}

/** Code spans: a run of backticks up to the next run of the same length in the same paragraph. */
class CodeSpans {
  readonly #text: string;
  /**
   * End of the paragraph for which `#runs` was found. `#runs` has the places of runs by their
   * length.
   */
  #paragraphEnd = -1;
  #runs = new Map<number, number[]>();

  constructor(text: string) {
    this.#text = text;
  }

  endOf(at: number): number {
    if (at >= this.#paragraphEnd) this.#findRuns(at);
    let length = 1;
    while (this.#text[at + length] === '`') length++;
    const places = this.#runs.get(length) ?? [];
    while (places.length > 0 && places[places.length - 1] <= at) places.pop();
    const close = places.pop();
    // Backticks without a partner are text, and the whole run is skipped.
    return close === undefined ? at + length : close + length;
  }

  #findRuns(at: number): void {
    const gap = /\n[ \t\r>]*\n/g;
    gap.lastIndex = at;
    this.#paragraphEnd = gap.exec(this.#text)?.index ?? this.#text.length;
    this.#runs = new Map();
    for (const { 0: run, index } of this.#text.slice(at, this.#paragraphEnd).matchAll(/`+/g)) {
      const places = this.#runs.get(run.length) ?? [];
      places.push(at + index);
      this.#runs.set(run.length, places);
    }
    for (const places of this.#runs.values()) places.reverse();
  }
}

/**
 * Finds where comments and elements end. The next end of each kind is remembered, so that all
 * searches together go through the text once.
 */
class Ends {
  readonly #text: string;
  readonly #next = new Map<string, { at: number; end: number }>();

  constructor(text: string) {
    this.#text = text;
  }

  /**
   * The position after the first match at or after `from`, or -1. `from` must never decrease, and
   * `pattern` must have the flag g.
   */
  after(pattern: RegExp, from: number): number {
    let next = this.#next.get(pattern.source);
    if (next === undefined || from > next.at) {
      pattern.lastIndex = from;
      const found = pattern.exec(this.#text);
      const at = found?.index ?? Number.POSITIVE_INFINITY;
      next = { at, end: found === null ? -1 : at + found[0].length };
      this.#next.set(pattern.source, next);
    }
    return next.end;
  }
}

/** The end of a tag, comment or autolink, and for some elements the end of their content. */
function endOfTag(text: string, at: number, ends: Ends): number {
  if (text.startsWith('<!--', at)) return Math.max(at, ends.after(/-->/g, at + 4));
  if (!/[A-Za-z/!?]/.test(text[at + 1] ?? '')) return at;
  const limit = Math.min(text.length, at + MOST_TAG);
  let end = -1;
  for (let i = at + 1, quote = ''; i < limit && end < 0; i++) {
    if (quote !== '') quote = text[i] === quote ? '' : quote;
    else if ((text[i] === '"' || text[i] === "'") && text[i - 1] === '=') quote = text[i];
    else if (text[i] === '<') return at;
    else if (text[i] === '>') end = i + 1;
  }
  if (end < 0) return at;
  const name = /^<(code|pre|script|style|kbd|samp)\b/i.exec(text.slice(at, at + 10))?.[1];
  if (name === undefined || text[end - 2] === '/') return end;
  return Math.max(end, ends.after(new RegExp(`</${name.toLowerCase()}\\s{0,9}>`, 'gi'), end));
}

/** `[^label]`, where a footnote is mentioned or begins. */
function endOfFootnote(text: string, at: number): number {
  if (text[at + 1] !== '^') return at;
  return at + (/^\[\^[^\s\]]{1,100}\]/.exec(text.slice(at, at + 110))?.[0].length ?? 0);
}

/** `](target "title")` and `][label]`; the text in the brackets before it is prose. */
function endOfTarget(text: string, at: number): number {
  const open = text[at + 1];
  if (open !== '(' && open !== '[') return at;
  const close = open === '(' ? ')' : ']';
  let depth = 0;
  for (let i = at + 1; i < Math.min(text.length, at + MOST_TAG); i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === '\n' && /^\r?\n/.test(text.slice(i + 1, i + 3))) return at;
    else if (text[i] === open) depth++;
    else if (text[i] === close && --depth === 0) return i + 1;
  }
  return at;
}

/** Replaces each character by a space, except line ends. */
function blank(text: string): string {
  return text.replace(/[^\r\n]/gu, ' ');
}

/** The longest tag or target. It limits the cost of one that never ends. */
const MOST_TAG = 2000;
