/**
 * The text of a file by its bytes and the ending of its name, or an empty text for a file that is
 * found by its name alone: pictures, archives, programs. A file is text if it has no zero byte.
 *
 * Bytes are UTF-8, or UTF-16 with its mark, or else Windows-1252, which reads every byte.
 */

import { htmlText } from './html-text.ts';

const HTML = new Set(['html', 'htm', 'xhtml']);
const MARKDOWN = new Set(['md', 'markdown', 'mdx']);

export function fileText(bytes: Uint8Array, type: string): string {
  const text = decoded(bytes);
  if (HTML.has(type)) return htmlText(text);
  return MARKDOWN.has(type) ? markdownText(text) : text;
}

/** The ending of a name, in lower case and without the dot; empty if it has none. */
export function typeOf(name: string): string {
  return /[^.]\.([\p{L}\p{N}]{1,16})$/u.exec(name)?.[1].toLowerCase() ?? '';
}

function decoded(bytes: Uint8Array): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  if (bytes.includes(0)) return '';
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Markdown without the targets of links and without tags; the words and the code stay. */
function markdownText(text: string): string {
  return text.replace(/\]\([^()\s]{1,2000}\)/g, ']').replace(/<\/?[a-zA-Z][^<>\n]{0,500}>/g, ' ');
}
