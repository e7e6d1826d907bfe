/**
 * The source of a join for messages: a URL without its password. A password that was not encoded
 * may hold any character, so everything from the first colon to the last `@` is taken for it. A URL
 * that has an `@` elsewhere loses more than its password, and never less.
 */
export function withoutPassword(source: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(source)?.[0];
  if (scheme === undefined) return source;
  const rest = source.slice(scheme.length);
  const at = rest.lastIndexOf('@');
  const colon = rest.indexOf(':');
  const shown = at >= 0 && colon >= 0 && colon < at ? `${rest.slice(0, colon)}:***${rest.slice(at)}` : rest;
  return `${scheme}${shown.replaceAll(/([?&][^=&]*pass[^=&]*=)[^&]*/gi, '$1***')}`;
}
