/**
 * The client behind a balancer: the address that a trusted proxy in front of this node names.
 *
 * Any client can write X-Forwarded-For and Forwarded (RFC 7239), so they count only on connections
 * from the networks of `--trust-forwarded`. Each proxy appends the address that it saw, so the list
 * is read from its end: the first address that is not a trusted proxy is the client, and everything
 * before it is the client's own claim. If X-Forwarded-For is absent, `for=` of Forwarded is read. A
 * list that cannot be read up to there leaves the last address that is certain.
 *
 * A balancer has many clients on few connections. So its connections are not counted by address;
 * the requests of each client behind it are, up to the same limit.
 */

import { combinedValue, listMembers } from '../policy/fields.ts';
import type { FieldList } from '../policy/stored-response.ts';
import { ClientGuard } from './client-guard.ts';
import { ConnectionCounter, clientKey } from './connection-limits.ts';
import { parseAddress } from './ip-address.ts';

export class ForwardedClients {
  /** Running requests by client. */
  readonly #running = new ConnectionCounter();
  readonly #trusted: ClientGuard;

  /** `trusted`: the networks of proxies in front of this node. */
  constructor(trusted: readonly string[]) {
    this.#trusted = new ClientGuard({ allow: trusted });
  }

  trusts(address: string): boolean {
    return this.#trusted.allows(address);
  }

  /** The client of a request that came from `peer`. */
  clientOf(peer: string, headers: FieldList): string {
    if (!this.trusts(peer)) return peer;
    let client = peer;
    for (const hop of hopsOf(headers).reverse()) {
      const address = addressOf(hop);
      if (address === null) return client;
      client = address;
      if (!this.trusts(address)) return client;
    }
    return client;
  }

  /**
   * Counts a request of a client. Returns a function that ends it, or null if the client has `most`
   * running requests already.
   */
  begin(client: string, most: number): (() => void) | null {
    const key = clientKey(client);
    if (this.#running.of(key) >= most) return null;
    this.#running.add(key);
    return () => this.#running.remove(key);
  }
}

function hopsOf(headers: FieldList): string[] {
  const list = combinedValue(headers, 'x-forwarded-for');
  if (list !== undefined) return [...listMembers(list)];
  const forwarded = combinedValue(headers, 'forwarded');
  if (forwarded === undefined) return [];
  // Each element is one proxy, with parameters in any order. One without `for` hides its client.
  return forwarded
    .split(',')
    .map((element) => /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;\s]+)/i.exec(element)?.[1] ?? '');
}

/** `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`, in quotes or not. */
function addressOf(text: string): string | null {
  const bare = text.trim().replace(/^"(.*)"$/, '$1');
  const address = /^\[(.*)\](?::\d+)?$/.exec(bare)?.[1] ?? /^([\d.]+):\d+$/.exec(bare)?.[1] ?? bare;
  return parseAddress(address) === null ? null : address;
}
