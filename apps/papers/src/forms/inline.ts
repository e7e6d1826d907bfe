/** The little Markdown that texts and cells are written in: emphasis, bold, code, links; none inside another. */

export interface Span {
  readonly kind: 'plain' | 'strong' | 'emphasis' | 'code' | 'link';
  readonly text: string;
}

/** A link becomes its words: what it points to lies beside docs/papers/papers.md, and there only. */
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

/** Without any marks. */
export function bare(text: string): string {
  return spans(text)
    .map((span) => span.text)
    .join('');
}

const MARKS = /\*\*([^*]+)\*\*|\*([^*]+)\*|`([^`]+)`|\[([^\]]*)\]\([^)]*\)/g;
