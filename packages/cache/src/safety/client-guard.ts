/**
 * Which clients are served. By default only this machine's own: a proxy that answers the whole internet the moment it is
 * started is an open proxy, and is found within hours. Whoever wants more names the ranges.
 *
 * `deny` beats `allow`. A client is its socket's address; `X-Forwarded-For` is not looked at, as anybody can write it.
 * Answers are remembered (a bounded number of them), because a client that may come asks again with each request.
 */

import { anyContains, type Cidr, parseCidr } from './cidr.ts';
import { parseAddress } from './ip-address.ts';

export interface ClientGuardOptions {
  /** Ranges that are served. */
  readonly allow?: readonly string[];
  /** Ranges that are not, even if `allow` names them. */
  readonly deny?: readonly string[];
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

  /** `address`: `socket.remoteAddress`, which is undefined once the socket is gone. */
  allows(address: string | undefined): boolean {
    if (address === undefined) return false;
    const known = this.#answers.get(address);
    if (known !== undefined) return known;
    const parsed = parseAddress(address);
    const answer = parsed !== null && anyContains(this.#allow, parsed) && !anyContains(this.#deny, parsed);
    // All at once rather than the oldest: cheap, and no client can make others' answers costly for long.
    if (this.#answers.size >= remembered) this.#answers.clear();
    this.#answers.set(address, answer);
    return answer;
  }
}
