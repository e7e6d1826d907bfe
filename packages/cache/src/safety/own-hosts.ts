/**
 * The hosts that mean this node: `localhost`, the addresses on which it listens, the name of the
 * machine, and the names that the operator configured.
 *
 * A node that is not a forward proxy answers a request in absolute form (`GET http://host/path`)
 * only if its host is one of these. RFC 9112, 3.2.2: "a server MUST accept the absolute-form in
 * requests", and RFC 9110, 7.4: "Unless the connection is from a trusted gateway, an origin server
 * MUST reject a request if any scheme-specific requirements for the target URI are not met." A node
 * that answered for every host would give the content of its upstream as that of any web site.
 *
 * Ports are not compared, because a port may be mapped in front of the node (containers, load
 * balancers). An address that is translated in front of the node has to be configured as a name.
 * Requests in origin form (`GET /path`) are answered whatever their Host says: a reverse proxy with
 * one set of upstreams has one site, under all names that lead to it.
 */

import { hostname, networkInterfaces } from 'node:os';
import { formatAddress, type IpAddress, parseAddress, parseHostLiteral } from './ip-address.ts';

export interface OwnHostsOptions {
  /** Names and addresses, without port, in any case. */
  readonly names: readonly string[];
  /** Addresses on which the node listens; `0.0.0.0` and `::` stand for all of this machine. */
  readonly listen: readonly string[];
}

export class OwnHosts {
  readonly #names: ReadonlySet<string>;
  readonly #listen: readonly (IpAddress | null)[];

  constructor({ names, listen }: OwnHostsOptions) {
    this.#names = new Set(['localhost', hostname(), ...names].map(plain));
    this.#listen = listen.map(listenerAddress);
  }

  /** Whether the host of a URL, without port, is this node. */
  has(host: string): boolean {
    if (this.#names.has(plain(host))) return true;
    const address = parseHostLiteral(host);
    if (address === null || address === 'invalid') return false;
    return this.#listen.some((own) => answersOn(own, address));
  }
}

/** The address of a listener, or null if it listens on all addresses of this machine. */
export function listenerAddress(text: string): IpAddress | null {
  const address = parseAddress(text);
  return address === null || address.words.every((word) => word === 0) ? null : address;
}

/** Whether a listener (see `listenerAddress`) takes connections to the address. */
export function answersOn(listener: IpAddress | null, address: IpAddress): boolean {
  const text = formatAddress(address);
  if (listener !== null) return formatAddress(listener) === text;
  // A listener on all addresses answers on every address of this machine: all of 127/8, and
  // 0.0.0.0, which leads to it.
  const first = address.words[0]!;
  if (address.family === 4 && (first >>> 24 === 127 || first === 0)) return true;
  if (address.family === 6 && address.words.every((word, i) => word <= (i === 3 ? 1 : 0))) return true;
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((each) => {
      const local = parseAddress(each.address);
      return local !== null && formatAddress(local) === text;
    }),
  );
}

/** A name in lower case, without the dot of the DNS root. An IPv6 address has no brackets. */
function plain(host: string): string {
  const lower = host.toLowerCase();
  if (lower.startsWith('[')) return lower.slice(1, -1);
  return lower.endsWith('.') ? lower.slice(0, -1) : lower;
}
