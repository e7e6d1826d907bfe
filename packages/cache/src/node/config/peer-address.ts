/**
 * The address of a neighbour's peer port, as an operator writes it: `http://10.0.0.2:3129`,
 * `[fd00::2]:3129`, `cache-b.internal:3129`, `https://cache-b.internal:3129`.
 *
 * The port is obligatory. 3129 is only a convention, and a guessed port 80 would send signed
 * requests to whatever web server runs there.
 */

import { isIP } from 'node:net';
import { parseHostLiteral } from '../../safety/ip-address.ts';
import { answersOn, listenerAddress } from '../../safety/own-hosts.ts';
import type { ListenAddress } from './listen-address.ts';

const PEER_PORT = 'the peer port of a neighbour such as http://10.0.0.2:3129 or [fd00::2]:3129';

/**
 * Parses an address. The result is a URL without path: `http://10.0.0.2:3129`. An address that has
 * no scheme gets `initial`.
 */
export function parsePeer(
  text: string,
  expected: string = PEER_PORT,
  initial: 'http' | 'https' = 'http',
): string {
  const match = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/?#]*)([/?#].*)?$/i.exec(text.trim());
  const [, scheme = initial, place = '', rest = ''] = match ?? [];
  const quoted = JSON.stringify(text);
  const refuse = (got: string): never => {
    throw new TypeError(`expected ${expected}, got ${got}`);
  };
  // A password must not appear in the message.
  if (place.includes('@')) refuse('an address with a user or password in it');
  if (!/^https?$/i.test(scheme)) refuse(`${quoted}, whose scheme is neither http nor https`);
  if (rest !== '' && rest !== '/') refuse(`${quoted}, which has a path`);
  if (isIP(place) === 6) refuse(`${quoted}; an IPv6 address stands in brackets`);
  const port = /^(?:\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(place)?.[1];
  if (port === undefined) refuse(`${quoted}, which has no port`);
  if (!URL.canParse(`${scheme}://${place}`) || Number(port) === 0) refuse(`${quoted}, which is no address`);
  const url = new URL(`${scheme}://${place}`);
  return `${url.protocol}//${url.hostname}:${Number(port)}`;
}

/** Whether the peer's address leads to one of these addresses of this node. */
export function leadsHere(peer: string, own: readonly ListenAddress[]): boolean {
  // The port is read from the text, because a URL omits the default port of its scheme.
  const port = Number(peer.slice(peer.lastIndexOf(':') + 1));
  const { hostname } = new URL(peer);
  const loopback = ['127.0.0.1', '[::1]'];
  // Other names are not resolved here: the node learns by its own name that it asks itself.
  const hosts = hostname === 'localhost' ? loopback : [hostname];
  return own.some((address) => {
    if (address.port !== port) return false;
    const listener = listenerAddress(address.host);
    return hosts
      .map(parseHostLiteral)
      .some((host) => host !== null && host !== 'invalid' && answersOn(listener, host));
  });
}
