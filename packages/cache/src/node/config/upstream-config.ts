/**
 * An origin behind a reverse proxy, as an operator writes it: `/prefix=https://origin/path/`, or
 * `https://origin/` alone for all paths. proxy/ describes its meaning for a request.
 */

export interface UpstreamConfig {
  /** Begins with a slash. */
  readonly prefix: string;
  /** A URL: http or https, without user, query and fragment. */
  readonly origin: string;
}

export function parseUpstream(text: string): UpstreamConfig {
  const equals = text.startsWith('/') ? text.indexOf('=') : -1;
  const prefix = equals < 0 ? '/' : text.slice(0, equals);
  const address = equals < 0 ? text : text.slice(equals + 1);
  const example = 'expected /prefix=https://origin.example/';
  if (text.startsWith('/') && equals < 0)
    throw new TypeError(`${example}, got ${JSON.stringify(text)}, which names no origin`);
  if (!/^\/[\w.~!$&'()*+,;:@%/-]*$/.test(prefix))
    throw new TypeError(`${example}, got the prefix ${JSON.stringify(prefix)}`);
  if (prefix.startsWith('/.bloomery'))
    throw new TypeError('the prefix /.bloomery is for status and metrics; choose another one');
  let origin: URL;
  try {
    origin = new URL(address);
  } catch {
    throw new TypeError(`${example}, got ${JSON.stringify(address)} as the origin, which is no URL`);
  }
  if (origin.protocol !== 'http:' && origin.protocol !== 'https:') {
    throw new TypeError(`${example}, got ${JSON.stringify(address)}; only http and https can be asked`);
  }
  // A password here would be printed by --print-config and visible in ps.
  if (origin.username !== '' || origin.password !== '')
    throw new TypeError(`${example}, got an origin with a user or password in it`);
  if (origin.search !== '' || origin.hash !== '')
    throw new TypeError(`${example}, got an origin with a query or fragment`);
  return { prefix, origin: origin.href };
}
