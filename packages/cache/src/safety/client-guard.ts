/**
 * Decides which clients are served. By default only clients on this machine: a proxy that serves
 * the whole internet as soon as it is started is an open proxy, and is found within hours.
 * Operators who want to serve more clients name their ranges.
 *
 * `deny` overrules `allow`. A client is identified by the address of its socket. `X-Forwarded-For`
 * counts only if a trusted proxy wrote it (forwarded-client.ts), because any client can write it. A
 * bounded number of results is remembered, because the same client is checked at every request.
 *
 * The address is a value that is read once from the connection (`clientAddress`) and passed on with
 * the request. A request that another worker accepted comes over a socket that is not the client's,
 * so code behind the guard must not ask the socket.
 */

import type { Socket } from 'node:net';
import { anyContains, type Cidr, parseCidr } from './cidr.ts';
import { parseAddress } from './ip-address.ts';

export interface ClientGuardOptions {
  /** Ranges that are served. */
  readonly allow?: readonly string[];
  /** Ranges that are not served, even if `allow` names them. */
  readonly deny?: readonly string[];
}

/** The client's address, or an empty string once the connection is closed: no guard allows that. */
export function clientAddress(socket: Pick<Socket, 'remoteAddress'>): string {
  return socket.remoteAddress ?? '';
}

export const LOOPBACK_RANGES: readonly string[] = ['127.0.0.0/8', '::1/128'];

const remembered = 1024;

export class ClientGuard {
  readonly #allow: readonly Cidr[];
  readonly #deny: readonly Cidr[];
  readonly #answers = new Map<string, boolean>();

  constructor(options: ClientGuardOptions = {}) {
    this.#allow = (options.allow ?? LOOPBACK_RANGES).map(parseCidr);
    this.#deny = (options.deny ?? []).map(parseCidr);
  }

  /** Whether a client is served; `undefined`, from a socket that is closed, is not. */
  allows(address: string | undefined): boolean {
    if (address === undefined) return false;
    const known = this.#answers.get(address);
    if (known !== undefined) return known;
    const parsed = parseAddress(address);
    const answer = parsed !== null && anyContains(this.#allow, parsed) && !anyContains(this.#deny, parsed);
    // All results are dropped at once instead of the oldest. That is cheap, and a client that fills
    // the table slows down others only briefly.
    if (this.#answers.size >= remembered) this.#answers.clear();
    this.#answers.set(address, answer);
    return answer;
  }
}
