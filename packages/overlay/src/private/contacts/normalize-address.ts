/**
 * One spelling for each mail address, so that two people who wrote it differently have it in
 * common. Both sides must apply the same rules, so there are no options: these are the rules of
 * version 1.
 *
 * - White space around it, a leading `mailto:` and the angle brackets of `Ann <ann@…>` are removed.
 * - The domain is in lower case, without a final dot, and in ASCII (`bücher.example` is
 *   `xn--bcher-kva.example`).
 * - The part before the @ is in lower case and in Unicode's form NFC, and without quotes that it
 *   does not need. RFC 5321 lets a server tell `Ann` from `ann`; none that people use does.
 *
 * We refused the rules of single providers (dots at Gmail, `+tag`): they change, they are wrong
 * elsewhere, and `ann+shop@` is often a different acquaintance.
 */

/** The longest address of RFC 5321, 4.5.3.1: 64 bytes, an @, and 255 bytes. */
const MOST_BYTES = 320;

/** The address in its one spelling, or null if the text is none. */
export function normalizeAddress(text: string): string | null {
  const address = bareAddress(text);
  const at = address.lastIndexOf('@');
  if (at < 1) return null;
  const local = normalLocal(address.slice(0, at));
  const domain = normalDomain(address.slice(at + 1));
  if (local === null || domain === null) return null;
  const normal = `${local}@${domain}`;
  return new TextEncoder().encode(normal).length <= MOST_BYTES ? normal : null;
}

/** The text without a name, brackets and the scheme of a link. */
function bareAddress(text: string): string {
  const trimmed = text.trim();
  const bracket = /<([^<>]*)>[^<>]*$/.exec(trimmed)?.[1] ?? trimmed;
  const link = /^mailto:([^?]*)/i.exec(bracket.trim());
  return (link === null ? bracket : percentDecoded(link[1])).trim();
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function normalLocal(text: string): string | null {
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(text);
  const plain = (quoted === null ? text : quoted[1].replaceAll(/\\(.)/g, '$1'))
    .normalize('NFC')
    .toLowerCase();
  if (plain === '' || CONTROL.test(plain)) return null;
  if (DOT_ATOM.test(plain)) return plain;
  // Quotes that are needed stay; a text that would need them and has none is no address.
  return quoted === null ? null : `"${plain.replaceAll(/["\\]/g, '\\$&')}"`;
}

function normalDomain(text: string): string | null {
  const domain = text.replace(/\.$/, '').toLowerCase();
  if (domain === '') return null;
  if (/^\[[0-9a-f.:]+\]$|^\[ipv6:[0-9a-f.:]+\]$/.test(domain)) return domain;
  // A name of digits and dots would be read as an address of IPv4.
  if (/[\s/?#@:\\%\p{Cc}]/u.test(domain) || /^[\d.]+$/.test(domain)) return null;
  const ascii = toAscii(domain);
  return ascii !== null && HOST_NAME.test(ascii) ? ascii : null;
}

/** The name in ASCII, by the parser of URLs, which every platform has. */
function toAscii(domain: string): string | null {
  if (/^[a-z0-9._-]+$/.test(domain)) return domain;
  try {
    return new URL(`http://${domain}`).hostname;
  } catch {
    return null;
  }
}

/** RFC 5322, 3.2.3, dot-atom-text, with the letters of RFC 6532. */
const DOT_ATOM = /^[^\s"(),.:;<>@[\\\]]+(?:\.[^\s"(),.:;<>@[\\\]]+)*$/;
const CONTROL = /\p{Cc}/u;
const HOST_NAME =
  /^(?=.{1,255}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;
