/** The part of Markdown that texts and cells use: emphasis, bold, code and links, never nested. */

export interface Span {
  readonly kind: 'plain' | 'strong' | 'emphasis' | 'code' | 'link';
  readonly text: string;
}

/**
 * The pieces of a text. A link keeps its words only: its target lies beside docs/papers/papers.md
 * and nowhere else.
 */
export function spans(text: string): Span[] {
  const found: Span[] = [];
  let at = 0;
  for (const match of text.matchAll(MARKS)) {
    if (match.index > at) found.push({ kind: 'plain', text: text.slice(at, match.index) });
    const [whole, strong, emphasis, code, link] = match;
    if (strong !== undefined) found.push({ kind: 'strong', text: strong });
    else if (emphasis !== undefined) found.push({ kind: 'emphasis', text: emphasis });
    else if (code !== undefined) found.push({ kind: 'code', text: code });
    else found.push({ kind: 'link', text: link });
    at = match.index + whole.length;
  }
  if (at < text.length) found.push({ kind: 'plain', text: text.slice(at) });
  return found;
}

/** The text without its marks. */
export function bare(text: string): string {
  return spans(text)
    .map((span) => span.text)
    .join('');
}

const MARKS = /\*\*([^*]+)\*\*|\*([^*]+)\*|`([^`]+)`|\[([^\]]*)\]\([^)]*\)/g;
