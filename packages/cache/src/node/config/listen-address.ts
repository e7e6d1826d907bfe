/**
 * An address on which a node listens: `127.0.0.1:3128`, `[::1]:3128`, `:3128` (all addresses),
 * `https://0.0.0.0:8443`. Names except `localhost` are refused: the address of a name is known only
 * when it is resolved, and a node must not listen on more than was written.
 */

import { isIP } from 'node:net';

export interface ListenAddress {
  /** An IP address, without the brackets of IPv6. */
  readonly host: string;
  /** The port; 0 means any free one. */
  readonly port: number;
  readonly secure: boolean;
}

/** Parses an address. `secure`: whether an address without a scheme uses TLS. */
export function parseListen(text: string, secure: boolean): ListenAddress {
  const match = /^(?:(https?):\/\/)?(\[[0-9a-f:.%]+\]|[^:/[\]]*):(\d{1,5})\/?$/i.exec(text.trim());
  const bare = /^\d{1,5}$/.test(text.trim()) ? Number(text) : undefined;
  const port = bare ?? (match === null ? Number.NaN : Number(match[3]));
  const written = bare !== undefined ? '127.0.0.1' : (match?.[2].replaceAll(/[[\]]/g, '') ?? '');
  const host = written === 'localhost' ? '127.0.0.1' : written === '' || written === '*' ? '::' : written;
  if (!(port <= 65535) || isIP(host) === 0) {
    throw new TypeError(
      `expected an address and a port such as 127.0.0.1:3128, [::1]:3128 or :3128, got ${JSON.stringify(text)}`,
    );
  }
  const scheme = match?.[1]?.toLowerCase();
  return { host, port, secure: scheme === undefined ? secure : scheme === 'https' };
}

/** Formats the address as a URL without its slash, which `parseListen` reads back. */
export function formatListen({ host, port, secure }: ListenAddress): string {
  return `${secure ? 'https' : 'http'}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** The URL for a client on this machine. */
export function reachable({ host, port, secure }: ListenAddress): string {
  return formatListen({ host: host === '::' || host === '0.0.0.0' ? '127.0.0.1' : host, port, secure });
}
