/**
 * The page about a server, for people who open its address: what is published, and what to enter in
 * the extension. It has no script, and its policy allows none.
 */

import { createHash } from 'node:crypto';

export interface ServerPageFacts {
  readonly name: string;
  /** The address with the publisher's key, for the options of the extension. */
  readonly invitation: string;
  /** Public groups. The names of private ones are not shown. */
  readonly groups: readonly {
    readonly name: string;
    readonly notes: number;
    readonly pages: number;
    readonly published: string;
    readonly prefixBits: number;
  }[];
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #fff; --line: #d0d7de; --mark: #0b57b0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --soft: #9aa4af; --paper: #14171b; --line: #343b44; --mark: #7ab4ff; }
}
body { margin: 0 auto; max-width: 44rem; padding: 2rem 1.25rem 4rem; font: 1rem/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; }
h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
p { margin: .5rem 0; }
.lead, small { color: var(--soft); }
code { font: .9em/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.invitation { display: block; padding: .75rem 1rem; border: 1px solid var(--line); border-left: 3px solid var(--mark); border-radius: 6px; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th { color: var(--soft); font-weight: 500; font-size: .875rem; }
td.number, th.number { text-align: right; }
ul { padding-left: 1.2rem; }
.table { overflow-x: auto; }
`;

/** The policy of the page: its own style sheet, and nothing else. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function serverPage({ name, invitation, groups }: ServerPageFacts): string {
  const rows = groups.map(
    (group) => `<tr><td>${escaped(group.name)}</td>
<td class="number">${group.pages.toLocaleString('en')}</td>
<td class="number">${group.notes.toLocaleString('en')}</td>
<td class="number">${group.prefixBits}</td><td>${escaped(group.published)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(name)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(name)}</h1>
<p class="lead">Notes on web pages, by a server that is not told which pages you visit.</p>
<h2>Join</h2>
<p>Enter this address in the options of the extension. The part after # is the key that signs the lists of pages; it is not sent to anyone.</p>
<code class="invitation">${escaped(invitation)}</code>
<h2>Lists</h2>
<div class="table"><table>
<thead><tr><th>Group</th><th class="number">Pages</th><th class="number">Notes</th><th class="number">Bits asked</th><th>Published</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table></div>
<h2>What this server learns</h2>
<ul>
<li>Of 100 visits to pages without notes: nothing from about 99. About one sends the first bits of a digest.</li>
<li>Of a visit to a page with notes: the same bits, which many pages share.</li>
<li>Of a note that you write: your name, the address of the page and the text.</li>
</ul>
</main>
</body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
