/**
 * Decides which addresses the cache connects to on behalf of untrusted clients. Without this guard,
 * a proxy is a way into its own network: `http://169.254.169.254/`, `http://localhost:6379/`, or a
 * name in the attacker's DNS that points there.
 *
 * The promise: the address that is checked is the address that is connected to. A name is resolved
 * once, by `lookup`, and the socket goes to one of the addresses that passed. The DNS is never
 * asked a second time, so rebinding has no effect. Node and undici call `lookup` for names only; a
 * literal address in a URL goes straight to the socket (measured). Callers therefore call
 * `checkHost` before they connect and `checkSocket` after. `guarded-connect.ts` does both, and all
 * connections should go through it.
 *
 * Order of the rules: the node's own listeners are always refused; `deny` overrules `allow`;
 * `allow` overrules the special ranges of `special-ranges.ts`; `allowPrivate` opens those special
 * ranges that are private networks. Names are not checked, only the addresses that they resolve to.
 *
 * Where it breaks down: behind another proxy, that proxy resolves the names; and a router may
 * translate an ordinary address to a private one. Neither is visible from here.
 */

import dns from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import { anyContains, type Cidr, parseCidr } from './cidr.ts';
import { formatAddress, type IpAddress, parseAddress, parseHostLiteral } from './ip-address.ts';
import { answersOn, listenerAddress } from './own-hosts.ts';
import { embeddedAddresses, specialRange } from './special-ranges.ts';

export interface AddressGuardOptions {
  /**
   * Opens loopback, private, carrier NAT and unique local addresses, but not link-local addresses
   * and metadata services.
   */
  readonly allowPrivate: boolean;
  /** Ranges that are always open, unless `deny` names them. */
  readonly allow: readonly string[];
  /** Ranges that are always refused. */
  readonly deny: readonly string[];
  /** Resolves names; by default the system's resolver (`dns.lookup`). */
  readonly resolve?: (
    hostname: string,
    options: dns.LookupAllOptions,
    callback: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
  ) => void;
}

/** The address may not be reached through this cache. The client gets 403. */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'ADDRESS_REFUSED';
}

export class AddressGuard {
  readonly #allowPrivate: boolean;
  readonly #allow: readonly Cidr[];
  readonly #deny: readonly Cidr[];
  readonly #resolve: NonNullable<AddressGuardOptions['resolve']>;
  readonly #listeners: { readonly address: IpAddress | null; readonly port: number }[] = [];

  constructor(options: AddressGuardOptions) {
    this.#allowPrivate = options.allowPrivate;
    this.#allow = options.allow.map(parseCidr);
    this.#deny = options.deny.map(parseCidr);
    this.#resolve = options.resolve ?? dns.lookup;
  }

  /**
   * Whether the address may be connected to. Text that is not an address may not. With a port, the
   * node's own listeners are refused as well.
   */
  allows(address: string, port?: number): boolean {
    return this.whyNot(address, port) === null;
  }

  /** The reason why an address is refused, as text, or null if it is allowed. */
  whyNot(address: string, port?: number): string | null {
    const parsed = parseAddress(address);
    if (parsed === null) return `${JSON.stringify(address.slice(0, 80))} is not an IP address`;
    return this.#judge(parsed, port);
  }

  /**
   * Checks the host of a URL before connecting: refuses literal addresses, in every notation, that
   * may not be reached. Names pass, because `lookup` checks the addresses that they resolve to.
   * Returns the error to answer with, or null.
   */
  checkHost(host: string, port?: number): AddressRefusedError | null {
    const literal = parseHostLiteral(host);
    if (literal === null) return null;
    const why = literal === 'invalid' ? 'it is neither a name nor an IP address' : this.#judge(literal, port);
    return why === null ? null : refused(host, why);
  }

  /**
   * Checks the remote address of a connected socket, in case the connection bypassed `lookup`.
   * Returns the error to answer with, or null.
   */
  checkSocket(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): AddressRefusedError | null {
    const address = socket.remoteAddress;
    // A socket that is already closed has no address, and nothing can be sent to it.
    if (address === undefined) return null;
    const why = this.whyNot(address, socket.remotePort);
    return why === null ? null : refused(address, why);
  }

  /**
   * Registers an address on which this node listens (`server.address()`), so that the node never
   * fetches from itself in a loop.
   */
  addListener(listener: { readonly address: string; readonly port: number }): void {
    this.#listeners.push({ address: listenerAddress(listener.address), port: listener.port });
  }

  /**
   * A `lookup` for `net.connect`, `tls.connect` and undici's `connect` options: resolves a name and
   * returns only the addresses that may be reached.
   */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    const { all, ...rest } = options as dns.LookupOptions;
    this.#resolve(hostname, { ...rest, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const open: dns.LookupAddress[] = [];
      let why = 'it has no address';
      for (const entry of addresses) {
        const reason = this.whyNot(entry.address);
        if (reason === null) open.push(entry);
        else why = reason;
      }
      if (open.length === 0) return callback(refused(hostname, why), '', 0);
      if (all) callback(null, open);
      else callback(null, open[0]!.address, open[0]!.family);
    });
  };

  #judge(address: IpAddress, port: number | undefined): string | null {
    const text = formatAddress(address);
    if (port !== undefined && this.#isOwn(address, port)) return `${text}:${port} is this cache itself`;
    if (anyContains(this.#deny, address)) return `${text} is in a range that the operator refuses`;
    if (!anyContains(this.#allow, address)) {
      const special = specialRange(address);
      if (special !== null && !(special.kind === 'private' && this.#allowPrivate)) {
        return `${text} is ${special.what}`;
      }
    }
    for (const inner of embeddedAddresses(address)) {
      const why = this.#judge(inner, port);
      if (why !== null) return `${text} leads to an IPv4 address, and ${why}`;
    }
    return null;
  }

  #isOwn(address: IpAddress, port: number): boolean {
    return this.#listeners.some((own) => own.port === port && answersOn(own.address, address));
  }
}

function refused(host: string, why: string): AddressRefusedError {
  return new AddressRefusedError(`Cannot connect to ${JSON.stringify(host.slice(0, 80))}: ${why}`);
}
