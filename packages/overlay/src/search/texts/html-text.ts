/**
 * The text of an HTML page: what a reader sees, the title and the texts that stand for pictures.
 * htmlparser2 reads it (MIT, four small dependencies of its own authors), as browsers' forgiving
 * rules and 2,231 named characters are no work for a regular expression.
 */

import { Parser } from 'htmlparser2';

const SILENT = new Set(['script', 'style', 'noscript', 'template', 'iframe', 'object', 'svg']);
/** Elements that stand within a line; all others end one. */
const INLINE = new Set(
  'a abbr b bdi bdo cite code data dfn em font i kbd mark q s samp small span strong sub sup time u var wbr'.split(
    ' ',
  ),
);

export function htmlText(html: string): string {
  const parts: string[] = [];
  let silent = 0;
  const parser = new Parser({
    onopentag(name, { alt }) {
      if (SILENT.has(name)) silent++;
      if (!INLINE.has(name)) parts.push('\n');
      if (silent === 0 && alt !== undefined) parts.push(alt, ' ');
    },
    ontext(text) {
      if (silent === 0) parts.push(text);
    },
    onclosetag(name) {
      if (SILENT.has(name)) silent--;
      if (!INLINE.has(name)) parts.push('\n');
    },
  });
  parser.end(html);
  return parts.join('');
}
