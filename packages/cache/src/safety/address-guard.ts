/**
 * Which addresses the cache connects to on behalf of untrusted clients. Without it, a proxy is a way into the network it stands in:
 * `http://169.254.169.254/`, `http://localhost:6379/`, or a name of the attacker's own DNS that points there.
 *
 * The promise: what is checked is what is connected to. A name is resolved once, by `lookup`, and the socket goes to one of
 * the addresses that passed: a second answer of the DNS (rebinding) is never asked for. Node and undici call `lookup` for names
 * only; a literal address in a URL goes straight to the socket (measured). So callers ask `checkHost` before they connect and
 * `checkSocket` after; `guarded-connect.ts` does both, and is the only door that should be used.
 *
 * Order: own listeners are refused always; `deny` beats `allow`; `allow` beats the special ranges of `special-ranges.ts`;
 * `allowPrivate` opens those of them that are private networks. Names are not judged: only where they lead.
 *
 * Where it breaks down: behind another proxy, the other one resolves; a router may translate an ordinary address to a private
 * one. Neither can be seen from here.
 */

import dns from 'node:dns';
import type { LookupFunction, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { anyContains, type Cidr, parseCidr } from './cidr.ts';
import { formatAddress, type IpAddress, parseAddress, parseHostLiteral } from './ip-address.ts';
import { embeddedAddresses, specialRange } from './special-ranges.ts';

export interface AddressGuardOptions {
  /** Open loopback, private, carrier NAT and unique local addresses. Not link-local, not metadata services. */
  readonly allowPrivate: boolean;
  /** Ranges that are open whatever they are. */
  readonly allow: readonly string[];
  /** Ranges that are shut whatever they are. */
  readonly deny: readonly string[];
  /** Who resolves names; by default the system (`dns.lookup`). */
  readonly resolve?: (
    hostname: string,
    options: dns.LookupAllOptions,
    callback: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
  ) => void;
}

/** The address may not be reached through this cache. Answered as 403. */
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

  /** May it be connected to? What is no address may not. With a port, own listeners are refused as well. */
  allows(address: string, port?: number): boolean {
    return this.whyNot(address, port) === null;
  }

  /** Why an address is refused, in words; null: it is not. */
  whyNot(address: string, port?: number): string | null {
    const parsed = parseAddress(address);
    if (parsed === null) return `${JSON.stringify(address.slice(0, 80))} is not an IP address`;
    return this.#judge(parsed, port);
  }

  /**
   * The host of a URL before anything is connected: refuses literal addresses, in every spelling, that may not be reached.
   * Names pass; `lookup` judges where they lead. Gives the error to answer with, or null.
   */
  checkHost(host: string, port?: number): AddressRefusedError | null {
    const literal = parseHostLiteral(host);
    if (literal === null) return null;
    const why = literal === 'invalid' ? 'it is neither a name nor an IP address' : this.#judge(literal, port);
    return why === null ? null : refused(host, why);
  }

  /** The other end of a connected socket, for what came past `lookup`. Gives the error to answer with, or null. */
  checkSocket(socket: Pick<Socket, 'remoteAddress' | 'remotePort'>): AddressRefusedError | null {
    const address = socket.remoteAddress;
    // A socket that is gone already has no address: then nothing can be sent to it either.
    if (address === undefined) return null;
    const why = this.whyNot(address, socket.remotePort);
    return why === null ? null : refused(address, why);
  }

  /** Says where this node listens (`server.address()`), so that it is never asked to fetch from itself for ever. */
  addListener(listener: { readonly address: string; readonly port: number }): void {
    const address = parseAddress(listener.address);
    const everywhere = address?.words.every((word) => word === 0) ?? true;
    this.#listeners.push({ address: everywhere ? null : address, port: listener.port });
  }

  /** For `net.connect`, `tls.connect` and undici's `connect` options: resolves, and gives only what may be reached. */
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
    if (port !== undefined && this.#isOwn(address, text, port)) return `${text}:${port} is this cache itself`;
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

  #isOwn(address: IpAddress, text: string, port: number): boolean {
    for (const own of this.#listeners) {
      if (own.port !== port) continue;
      if (own.address === null) {
        // A listener on all addresses: whatever this machine answers to. All of 127/8 does, and 0.0.0.0 leads to it.
        const first = address.words[0]!;
        if (address.family === 4 && (first >>> 24 === 127 || first === 0)) return true;
        if (address.family === 6 && address.words.every((word, i) => word <= (i === 3 ? 1 : 0))) return true;
        for (const list of Object.values(networkInterfaces())) {
          for (const each of list ?? []) {
            const local = parseAddress(each.address);
            if (local !== null && formatAddress(local) === text) return true;
          }
        }
      } else if (formatAddress(own.address) === text) {
        return true;
      }
    }
    return false;
  }
}

function refused(host: string, why: string): AddressRefusedError {
  return new AddressRefusedError(
    `The address of ${JSON.stringify(host.slice(0, 80))} may not be reached: ${why}`,
  );
}
