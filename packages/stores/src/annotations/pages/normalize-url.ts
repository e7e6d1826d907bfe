/**
 * The one form of a page's URL, so that notes are found whichever way a visitor came
 * (docs/spec/annotations.md).
 *
 * Pure and versioned: filter, digests and questions on both sides are made from this form, and the
 * version stands in the signed name of the list. The parser of the platform (WHATWG URL) does the
 * syntax; this file decides which differences do not tell pages apart.
 *
 * Two mistakes are possible. Two forms of one page hide a note. One form for two pages shows a note
 * where it does not belong, which is worse, so a rule is here only if it is right nearly always. On
 * sites whose `index.php` and `/` are different pages, or whose paths differ in a slash alone, the
 * rules are wrong.
 */

import { isTrackingParameter } from './tracking-parameters.ts';

/** The version of the rules. */
export const URL_FORM = 1;

/** Longer URLs are not annotated. */
export const MOST_URL_LENGTH = 2048;

/** Names and addresses of hosts. Chromium takes other names as well, which no DNS has. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])$/;

/** The one form of a URL, or null if such pages take no notes. */
export function normalizeUrl(text: string): string | null {
  if (typeof text !== 'string' || text.length > MOST_URL_LENGTH) return null;
  const url = parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return null;
  const host = hostOf(url.hostname);
  if (!HOST.test(host)) return null;
  const port = url.port === '' || url.port === '80' || url.port === '443' ? '' : `:${url.port}`;
  const form = `https://${host}${port}${pathOf(url.pathname)}${queryOf(url.search)}${fragmentOf(url.hash)}`;
  return form.length > MOST_URL_LENGTH ? null : form;
}

/**
 * The form of the URL under which notes of a page are kept: that of its canonical link, if the page
 * names one on its own host, otherwise that of the page. Links to other hosts are not followed,
 * because a page could draw the notes of another site to itself.
 */
export function canonicalUrl(page: string, link: string | null | undefined): string | null {
  const own = normalizeUrl(page);
  if (own === null || link === null || link === undefined || link === '') return own;
  const target = parse(link, page);
  const canonical = target === null ? null : normalizeUrl(target.href);
  return canonical !== null && new URL(canonical).host === new URL(own).host ? canonical : own;
}

function parse(text: string, base?: string): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

function hostOf(hostname: string): string {
  const host = hostname.replace(/\.+$/, '');
  const rest = host.startsWith('www.') ? host.slice(4) : '';
  return /^[^.]+\.[^.]/.test(rest) && !rest.startsWith('www.') ? rest : host;
}

function pathOf(pathname: string): string {
  let path = evenEncoding(pathname);
  for (let before = ''; path !== before; ) {
    before = path;
    path = path.replace(/\/(?:index\.(?:html?|php)|default\.aspx)$/i, '/').replace(/\/+$/, '');
  }
  return path === '' ? '/' : path;
}

function queryOf(search: string): string {
  const pieces = evenEncoding(search.slice(1))
    .split('&')
    .filter((piece) => piece !== '' && !isTrackingParameter(piece.split('=', 1)[0]));
  return pieces.length === 0 ? '' : `?${pieces.join('&')}`;
}

function fragmentOf(hash: string): string {
  return /^#!?\/?$/.test(hash) || !/^#[!/]/.test(hash) ? '' : evenEncoding(hash);
}

/**
 * Decodes the percent-encodings of unreserved characters (RFC 3986, section 2.3), writes the others
 * in upper case, and encodes characters that a URL must not contain: Chromium and Node leave
 * different ones as they are. A percent sign that begins no encoding becomes `%25`: otherwise
 * `%%34%31` would become `%41` now and `A` the next time.
 */
function evenEncoding(text: string): string {
  const even = text.replace(/%([0-9a-f]{2})?/gi, (_, digits: string | undefined) => {
    if (digits === undefined) return '%25';
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : `%${digits.toUpperCase()}`;
  });
  return even.replace(/[^A-Za-z0-9\-._~!$&()*+,;=:@/?%#]/gu, (character) =>
    Array.from(
      new TextEncoder().encode(character),
      (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    ).join(''),
  );
}
