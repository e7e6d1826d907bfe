/**
 * The address of a neighbour: the URL of its peer port, such as http://10.0.0.2:3129 or
 * https://[2001:db8::1]:3129.
 */

export interface PeerAddress {
  /** The URL as it was configured. */
  readonly address: string;
  readonly isTls: boolean;
  /** The Host field: name and port, with brackets around IPv6. */
  readonly host: string;
  /** The name or number to connect to, without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/** Reads an address. Throws a RangeError if it is not the URL of a port. */
export function peerAddress(address: string): PeerAddress {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isTls = url?.protocol === 'https:';
  if (url === null || !(isTls || url.protocol === 'http:') || url.href !== `${url.origin}/`)
    throw new RangeError(
      `Cannot use the address of a neighbour: expected http(s)://host:port, got ${JSON.stringify(address)}`,
    );
  const port = url.port === '' ? (isTls ? 443 : 80) : Number(url.port);
  return { address, isTls, host: url.host, hostname: url.hostname.replace(/^\[|\]$/g, ''), port };
}
