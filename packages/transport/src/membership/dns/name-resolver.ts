/**
 * The port for questions to the DNS, and its adapter for the resolver of Node (c-ares). It asks the
 * servers of the machine, or those that the operator named, and knows neither `/etc/hosts` nor the
 * search list of `resolv.conf`: names are written in full.
 *
 * We refused `dns.lookup`, which the connections of Node use: it tells no TTL, and waits on a
 * thread of the pool that files need.
 */

import { Resolver } from 'node:dns/promises';

/** One A or AAAA record. */
export interface AddressRecord {
  readonly address: string;
  /** Seconds for which the record may be kept. */
  readonly ttl: number;
}

/** One SRV record. Node tells no TTL for them. */
export interface ServiceRecord {
  /** The host of the service. */
  readonly name: string;
  readonly port: number;
}

/** Questions to the DNS. Each rejects with an error that has a `code`, as those of Node do. */
export interface NameResolver {
  resolve4(host: string): Promise<readonly AddressRecord[]>;
  resolve6(host: string): Promise<readonly AddressRecord[]>;
  resolveSrv(host: string): Promise<readonly ServiceRecord[]>;
  /** Gives up the questions under way. */
  cancel(): void;
}

/** The first attempt waits this long, and the second one of c-ares twice as long. */
const TIMEOUT_MS = 2000;
const TRIES = 2;

/** The resolver of Node. `servers` are addresses such as `10.0.0.53` or `127.0.0.1:5353`. */
export function nodeResolver(servers: readonly string[] = []): NameResolver {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return {
    resolve4: (host) => resolver.resolve4(host, { ttl: true }),
    resolve6: (host) => resolver.resolve6(host, { ttl: true }),
    resolveSrv: (host) => resolver.resolveSrv(host),
    cancel: () => resolver.cancel(),
  };
}

/**
 * Whether an error of a question means that the server answered, and has no such records. All other
 * errors leave open whether there are some.
 */
export function isNoRecords(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  return code === 'ENODATA' || code === 'ENOTFOUND';
}
