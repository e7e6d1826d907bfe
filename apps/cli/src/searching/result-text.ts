/** The results of `find` for the terminal. */

import type { FoundDocument, SearchResult } from '@bloomery/overlay/search';
import { formatBytes, formatCount } from '../terminal/format-values.ts';
import { colors } from '../terminal/terminal.ts';

/** The answer of a share: the result, and the groups that cannot be reached. */
export type ShareResult = SearchResult & { readonly problems: readonly string[] };

export function resultText({ results }: SearchResult): string {
  const paint = colors();
  return results
    .map(({ path, peer, group, bytes, changed, snippet }, i) => {
      const day = new Date(changed * 1000).toISOString().slice(0, 10);
      const head = `${i + 1}. ${paint.bold(plainText(path))}  ${plainText(peer)} (${plainText(group)}), ${day}, ${formatBytes(bytes)}`;
      const text = marked(snippet, (word) => paint.yellow(word));
      return text === '' ? head : `${head}\n   ${text}`;
    })
    .join('\n');
}

/** The line below the results: what was asked, and who could not be. */
export function costText({
  results,
  matching,
  documents,
  cost,
  offline,
  failed,
  problems,
}: ShareResult): string {
  const parts = [
    `${formatCount(results.length)} of ${formatCount(matching)} matching files, of ${formatCount(documents)}`,
    `${formatCount(cost.scored)} peers asked, ${formatBytes(cost.scoreBytes + cost.documentBytes)}`,
  ];
  const mayHave = offline.filter((peer) => peer.mayHave).map(({ peer }) => plainText(peer));
  if (mayHave.length > 0) parts.push(`offline, and may have more: ${mayHave.join(', ')}`);
  const others = offline.length - mayHave.length;
  if (others > 0) parts.push(`${others} others offline`);
  for (const { peer, why } of failed) parts.push(`${plainText(peer)} gave no answer (${plainText(why)})`);
  return [...parts, ...problems.map(plainText)].join('; ');
}

/**
 * Text of other people without characters that command a terminal. What came from other peers was
 * cleaned where it was read; names of the user's own files come here directly.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '\ufffd');
}

function marked({ text, marks }: FoundDocument['snippet'], paint: (word: string) => string): string {
  let [out, at] = ['', 0];
  for (const { start, length } of marks) {
    out += plainText(text.slice(at, start)) + paint(plainText(text.slice(start, start + length)));
    at = start + length;
  }
  return out + plainText(text.slice(at));
}
