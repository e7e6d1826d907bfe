/**
 * The name of a fleet in the DNS, as an operator writes it: `caches.internal:3129` for addresses
 * (A and AAAA records), `_bloomery._tcp.caches.internal` for a service (SRV records, which have the
 * ports). `https://` before it is for nodes whose peer ports speak TLS.
 *
 * A service is recognised by the underscore (RFC 2782: "an underscore (_) is prepended to the
 * service identifier to avoid collisions with DNS labels that occur in nature"). We refused to ask
 * for SRV records of every name first: most names have none, and each refresh would be a question
 * more.
 */

export interface DnsName {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** The port of all members; null for a service, and if it is left to the settings. */
  readonly port: number | null;
  readonly isService: boolean;
}

/** RFC 1035, 2.3.4: "labels 63 octets or less, names 255 octets or less". */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;
const MOST_LENGTH = 253;

/** Parses a name. Throws a TypeError if it is none. */
export function parseDnsName(text: string): DnsName {
  const match = /^(?:(https?):\/\/)?([^:/?#@[\]]+)(?::(\d{1,5}))?\/?$/i.exec(text.trim());
  if (match === null) refuse(text);
  const [, scheme = 'http', written = '', digits] = match;
  const host = written.replace(/\.$/, '').toLowerCase();
  const labels = host.split('.');
  if (host.length > MOST_LENGTH || !labels.every((label) => LABEL.test(label))) refuse(text);
  // The last label of a name is never a number, and that of an IPv4 address always is.
  if (/^\d+$/.test(labels.at(-1)!)) refuse(text, ', which is an address; --peer takes those');
  const isService = host.startsWith('_');
  if (isService && digits !== undefined) refuse(text, '; the records of a service have the ports');
  const port = digits === undefined ? null : Number(digits);
  if (port !== null && (port < 1 || port > 65_535)) refuse(text, ', whose port is none');
  return { scheme: scheme.toLowerCase() as 'http' | 'https', host, port, isService };
}

/** The name as it was written, without a port that was left to the settings. */
export function formatDnsName({ scheme, host, port }: DnsName): string {
  return `${scheme === 'https' ? 'https://' : ''}${host}${port === null ? '' : `:${port}`}`;
}

function refuse(text: string, why = ''): never {
  throw new TypeError(
    `Cannot look up members: expected a name such as caches.internal:3129 or _bloomery._tcp.caches.internal, got ${JSON.stringify(text)}${why}`,
  );
}
