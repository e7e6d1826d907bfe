/**
 * Reads the Markdown that `bloomery papers` writes, as data: headings, paragraphs, lists, tables,
 * pictures, code. Pure. It knows no more than these documents use, and passes text on as text: a
 * document cannot bring markup into the page.
 *
 * We refused a Markdown library: most of them return markup as a string.
 */

export type Inline =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'emphasis'; readonly parts: readonly Inline[] }
  | { readonly kind: 'link'; readonly parts: readonly Inline[]; readonly target: string };

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly parts: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly parts: readonly Inline[] }
  | { readonly kind: 'list'; readonly items: readonly (readonly Inline[])[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'picture'; readonly text: string; readonly target: string }
  | {
      readonly kind: 'table';
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
      /** Whether each column is of numbers, and stands at the right. */
      readonly isRight: readonly boolean[];
    };

export function readMarkdown(text: string): Block[] {
  const lines = text.replaceAll(/<!--[\s\S]*?-->/g, '').split('\n');
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at];
    const heading = /^(#{1,4}) (.*)$/.exec(line);
    const picture = /^!\[(.*)\]\((.*)\)$/.exec(line);
    if (line.trim() === '') at++;
    else if (heading !== null) {
      blocks.push({ kind: 'heading', level: heading[1].length, parts: readInline(heading[2]) });
      at++;
    } else if (picture !== null) {
      blocks.push({ kind: 'picture', text: picture[1], target: picture[2] });
      at++;
    } else if (line.startsWith('```')) {
      const end = lines.findIndex((other, i) => i > at && other.startsWith('```'));
      const last = end < 0 ? lines.length : end;
      blocks.push({ kind: 'code', text: lines.slice(at + 1, last).join('\n') });
      at = last + 1;
    } else {
      const last = lines.findIndex((other, i) => i > at && isEnd(other, line));
      const group = lines.slice(at, last < 0 ? lines.length : last);
      blocks.push(groupBlock(group));
      at += group.length;
    }
  }
  return blocks;
}

/** Whether a line ends the block that began with `first`. */
function isEnd(line: string, first: string): boolean {
  if (line.trim() === '' || /^(#{1,4} |```|!\[)/.test(line)) return true;
  return first.startsWith('|') !== line.startsWith('|') || (!first.startsWith('- ') && line.startsWith('- '));
}

function groupBlock(lines: readonly string[]): Block {
  if (lines[0].startsWith('|') && lines.length > 1) {
    const [head, rule, ...rows] = lines.map(cellsOf);
    return {
      kind: 'table',
      head: head.map(readInline),
      rows: rows.map((cells) => cells.map(readInline)),
      isRight: rule.map((cell) => cell.endsWith(':')),
    };
  }
  if (!lines[0].startsWith('- ')) return { kind: 'paragraph', parts: readInline(lines.join(' ')) };
  const items: string[] = [];
  for (const line of lines) {
    if (line.startsWith('- ')) items.push(line.slice(2));
    else items[items.length - 1] += ` ${line.trim()}`;
  }
  return { kind: 'list', items: items.map(readInline) };
}

function cellsOf(line: string): string[] {
  return line
    .replace(/^\|/, '')
    .replace(/\|\s*$/, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

const INLINE =
  /`([^`]+)`|\*\*((?:[^*]|\*(?!\*))+)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|\[([^\]]+)\]\(([^)\s]+)\)|\\([*_|\\`])/g;

export function readInline(text: string): Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  const put = (part: Inline) => {
    const last = parts.at(-1);
    if (part.kind === 'text' && last?.kind === 'text')
      parts[parts.length - 1] = { kind: 'text', text: last.text + part.text };
    else parts.push(part);
  };
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) put({ kind: 'text', text: text.slice(end, match.index) });
    end = match.index + match[0].length;
    const [, code, strong, emphasis, label, target, escaped] = match;
    if (code !== undefined) put({ kind: 'code', text: code });
    else if (strong !== undefined) put({ kind: 'strong', parts: readInline(strong) });
    else if (emphasis !== undefined) put({ kind: 'emphasis', parts: readInline(emphasis) });
    else if (label !== undefined) put({ kind: 'link', parts: readInline(label), target });
    else put({ kind: 'text', text: escaped });
  }
  if (end < text.length) put({ kind: 'text', text: text.slice(end) });
  return parts;
}

/** The text of parts, without their marks. */
export function plainText(parts: readonly Inline[]): string {
  return parts.map((part) => ('text' in part ? part.text : plainText(part.parts))).join('');
}
