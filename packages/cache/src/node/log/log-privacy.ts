/**
 * Data that is left out of all logs.
 *
 * - From a URL: user and password, the values of the query (`?token=…` is where sessions leak) and
 *   the fragment. The names of the query stay, because they identify the page, and so does the
 *   path. Paths with secrets in them (a signed download link that is all path) are logged
 *   unchanged, and so is a query that is one word without `=`.
 * - From fields: every value whose name contains authorization, cookie, token, secret or password,
 *   or is key. This package never logs header values in the first place; this is a second
 *   safeguard.
 * - Length: no value in a line is longer than 2000 characters, so that a client cannot fill the
 *   disk with one URL.
 */

const LONGEST = 2000;
const SECRET_NAME = /authorization|cookie|token|secret|password|credential|^key$|tls-?key/i;

/** `http://u:p@h/a?x=1&y` → `http://h/a?x=…&y`. */
export function publicUrl(url: string): string {
  let text = url;
  // A path has no user. Any other target may have one, even if it is refused for it (`CONNECT
  // user:password@host:443`).
  if (text.charCodeAt(0) !== 0x2f) {
    const start = text.indexOf('://');
    const from = start > 0 && start < 10 ? start + 3 : 0;
    const path = authorityEnd(text, from);
    const at = path === 0 ? -1 : text.lastIndexOf('@', path - 1);
    if (at >= from) text = text.slice(0, from) + text.slice(at + 1);
  }
  const fragment = text.indexOf('#');
  if (fragment >= 0) text = text.slice(0, fragment);
  const query = text.indexOf('?');
  if (query >= 0)
    text = text.slice(0, query + 1) + text.slice(query + 1, query + 1 + LONGEST).replaceAll(/=[^&]*/g, '=…');
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

/** The fields of a log line, cleaned for writing. */
export function publicFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) result[name] = publicValue(name, value);
  return result;
}

function publicValue(name: string, value: unknown): unknown {
  if (SECRET_NAME.test(name)) return '[removed]';
  if (value instanceof Error)
    return publicText(
      (value as NodeJS.ErrnoException).code
        ? `${value.message} (${(value as NodeJS.ErrnoException).code})`
        : value.message,
    );
  if (typeof value === 'string') return publicText(value);
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return value.slice(0, 100).map((part) => publicValue('', part));
  if (value instanceof URL) return publicUrl(value.href);
  if (typeof value === 'object' && value !== null) {
    // Our events have one level; deeper ones are not expected, and not trusted.
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [
        key,
        typeof part === 'object' && part !== null ? '[object]' : publicValue(key, part),
      ]),
    );
  }
  return value;
}

/** Cleans URLs inside messages ("cannot reach http://…?token=1"). */
function publicText(text: string): string {
  const short = text.length > 2 * LONGEST ? text.slice(0, 2 * LONGEST) : text;
  if (short.startsWith('/') && short.includes('?')) return publicUrl(short);
  const cleaned = short.includes('://') ? short.replaceAll(/https?:\/\/[^\s"'<>]+/gi, publicUrl) : short;
  return cleaned.length > LONGEST ? `${cleaned.slice(0, LONGEST)}…` : cleaned;
}

/** The index at which the path, the query or the fragment begins. */
function authorityEnd(url: string, from: number): number {
  for (let i = from; i < url.length; i++) {
    const code = url.charCodeAt(i);
    if (code === 0x2f || code === 0x3f || code === 0x23) return i;
  }
  return url.length;
}
