/**
 * A script for a site's own pages: shows the notes of the page, for readers without the extension.
 *
 *     <div id="notes"></div>
 *     <script src="/annotations-site.js" defer
 *       data-server="https://notes.example.org" data-into="notes"></script>
 *
 * It needs HTTPS, because pages over HTTP have no `crypto.subtle`.
 *
 * The site knows its visits, so nothing is hidden from it; the server of the notes gets a prefix,
 * as from the extension. The page's canonical link is followed, if it is on the same host. Only
 * public groups can be shown, and nothing can be written: that needs a token, which a page must not
 * hold.
 */

import { canonicalUrl, pageId, prefixOf } from '@bloomery/stores/annotations';
import { element, noteElements } from './note-list.ts';
import { askNotes, askServer } from './server-client.ts';

const script = document.currentScript as HTMLScriptElement | null;

async function show({ server, group = 'public', into = '' }: DOMStringMap): Promise<void> {
  const place = document.getElementById(into);
  const link = document.querySelector<HTMLLinkElement>('link[rel~="canonical"]')?.getAttribute('href');
  const url = canonicalUrl(location.href, link);
  if (server === undefined || place === null || url === null) return;
  const settings = { address: server.replace(/\/+$/, ''), publicKey: new Uint8Array(), token: '' };
  const facts = await askServer(settings);
  const found = facts.groups.find(({ name, key }) => name === group && key === null);
  if (found === undefined) return;
  const id = await pageId(url);
  const notes = await askNotes(settings, found, prefixOf(id, found.prefixBits), id);
  const none = element('p', 'soft', 'No notes on this page.');
  place.replaceChildren(...(notes.length === 0 ? [none] : noteElements(notes)));
}

if (script !== null) {
  // A site works without its notes: a server that does not answer is no error of the page.
  show(script.dataset).catch(() => {});
}
