/**
 * The proxy of a process and the objects around it, built from one configuration. A new
 * configuration creates a new set over the same store.
 *
 * A worker has a second proxy, for requests whose owner is being restarted: it finds nothing and
 * stores nothing (owned-store.ts).
 */

import { readFileSync } from 'node:fs';
import { type CacheProxy, createProxy } from '../proxy/cache-proxy.ts';
import type { DigestBook } from '../proxy/digests/digest-book.ts';
import type { ProxyFlights } from '../proxy/flight/shared-response.ts';
import type { ProxyObserver } from '../proxy/proxy-observer.ts';
import type { SourcesBeforeOrigin } from '../proxy/proxy-options.ts';
import { Router } from '../proxy/route.ts';
import { AddressGuard } from '../safety/address-guard.ts';
import { ClientGuard } from '../safety/client-guard.ts';
import type { Limits } from '../safety/limits.ts';
import { OwnHosts } from '../safety/own-hosts.ts';
import { MemoryStore } from '../store/memory/memory-store.ts';
import type { ResponseStore } from '../store/response-store.ts';
import type { ListenAddress } from './config/listen-address.ts';
import type { NodeConfig } from './config/node-config.ts';
import { OwnedStore } from './workers/owned-store.ts';
import { ownerOf, type Team } from './workers/team.ts';

export interface ProxySet {
  readonly proxy: CacheProxy;
  /** The proxy for keys whose owner cannot be reached; without a team it is the same proxy. */
  readonly passing: CacheProxy;
  readonly router: Router;
  /** Whether a client may use the node. */
  allows(client: string): boolean;
  /** Whether a host, as in a URL without port, is this node. */
  isOwnHost(host: string): boolean;
  /** Registers an address of the node, so that it never fetches from itself. */
  listensOn(address: ListenAddress): void;
  /** Whether no fetch and no tunnel is running. */
  readonly idle: boolean;
  close(): Promise<void>;
}

export interface ProxySetParts {
  /** The name of the node. */
  readonly name: string;
  readonly store: ResponseStore;
  readonly limits: Limits;
  readonly clock: () => number;
  readonly observer: ProxyObserver;
  readonly team: Team | null;
  /** The fetches of all configurations that this node has had. */
  readonly flights: NodeFlights;
  /** The digests that bodies must have, for all configurations. */
  readonly digests: DigestBook;
  /** Responses that were stored before this time are validated before they are used. */
  readonly validAfter: () => number;
  /** The neighbours, if there are any. */
  readonly sourcesBeforeOrigin?: SourcesBeforeOrigin | undefined;
}

/**
 * The running fetches: for keys that this process owns, and for requests that it handles for an
 * unreachable owner.
 */
export interface NodeFlights {
  readonly own: ProxyFlights;
  readonly passing: ProxyFlights;
}

export function makeProxies(config: NodeConfig, parts: ProxySetParts): ProxySet {
  const { name, store, limits, clock, observer, team, flights, digests, validAfter, sourcesBeforeOrigin } =
    parts;
  const addresses = new AddressGuard(config.addresses);
  const listensOn = ({ host, port }: ListenAddress) => addresses.addListener({ address: host, port });
  const upstreams = config.upstreams.map(({ prefix, origin }) => ({ prefix, origin: new URL(origin) }));
  const ownHosts = new OwnHosts({
    names: [...config.publicHosts, ...config.adminHosts],
    listen: config.listen.map(({ host }) => host),
  });
  const isOwnHost = (host: string) => ownHosts.has(host);
  const clients = new ClientGuard({ allow: config.allowClients });
  const allows = (client: string) => clients.allows(client);
  const common = {
    policy: { name, ...config.policy, validAfter },
    clock,
    upstreams,
    forward: config.forward,
    isOwnHost,
    connectPorts: config.connectPorts,
    limits,
    addresses,
    clients,
    observer,
    digests: config.verifyDigests ? digests : null,
    ...(config.originCaFile === null
      ? {}
      : { originCertificates: [readFileSync(config.originCaFile, 'utf8')] }),
  };
  const router = new Router({ upstreams, forward: config.forward, isOwnHost });
  // The proxy `passing` has no such sources: a neighbour would be told to fetch responses from this
  // node that it does not store.
  const own = {
    ...common,
    flights: flights.own,
    ...(sourcesBeforeOrigin === undefined ? {} : { sourcesBeforeOrigin }),
  };
  if (team === null) {
    const proxy = createProxy({ ...own, store });
    return {
      proxy,
      passing: proxy,
      router,
      allows,
      isOwnHost,
      listensOn,
      get idle() {
        return isIdle(proxy);
      },
      close: () => proxy.close(),
    };
  }
  const owner = {
    owns: (key: string) => ownerOf(key, team.size) === team.index,
    removeElsewhere: (key: string) => team.removeKey(ownerOf(key, team.size), key),
  };
  const proxy = createProxy({ ...own, store: new OwnedStore(store, owner) });
  // Bodies longer than one byte pass through without being stored.
  const nothing = new MemoryStore({ capacityBytes: 1_000_000, maxBodyBytes: 1 });
  const passing = createProxy({
    ...common,
    store: new OwnedStore(nothing, owner, { passing: true }),
    flights: flights.passing,
  });
  return {
    proxy,
    passing,
    router,
    allows,
    isOwnHost,
    listensOn,
    get idle() {
      return isIdle(proxy) && isIdle(passing);
    },
    close: async () => {
      await Promise.allSettled([proxy.close(), passing.close()]);
    },
  };
}

function isIdle({ activity }: CacheProxy): boolean {
  return activity.fetches === 0 && activity.tunnels === 0;
}
