/**
 * What a proxy is made of: everything it needs is passed in, so that tests run it on a clock and a store of their own.
 */

import type { PolicyOptions } from '../policy/policy-options.ts';
import type { AddressGuard } from '../safety/address-guard.ts';
import type { ClientGuard } from '../safety/client-guard.ts';
import type { Limits } from '../safety/limits.ts';
import type { ResponseStore } from '../store/response-store.ts';
import type { Flights } from './flight/flight.ts';
import type { SharedResponse } from './flight/shared-response.ts';
import type { ProxyObserver } from './proxy-observer.ts';

/** A part of this node's own URL space, and the origin that stands behind it. */
export interface Upstream {
  /** Begins with `/`. With a trailing slash it stands for what is below it; without, for itself and what is below it. */
  readonly prefix: string;
  /** `http:` or `https:`; a path is put before what follows the prefix. */
  readonly origin: URL;
}

export interface ProxyOptions {
  readonly policy: PolicyOptions;
  readonly store: ResponseStore;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Reverse proxy: the longest prefix that matches wins. */
  readonly upstreams: readonly Upstream[];
  /** Forward proxy: whether absolute-form requests for any host, and CONNECT, are served. */
  readonly forward: boolean;
  /** Ports to which CONNECT may go. */
  readonly connectPorts: readonly number[];
  readonly limits: Limits;
  /** Which addresses may be connected to for forward requests and tunnels. Upstreams are the operator's own choice, and exempt. */
  readonly addresses: AddressGuard;
  readonly clients: ClientGuard;
  readonly observer: ProxyObserver;
  /**
   * The fetches under way, if several proxies work on one store (those of an earlier configuration, whose requests go on): what is invalidated by
   * one must not be stored by another. Default: its own.
   */
  readonly flights?: Flights<SharedResponse>;
  /** Certificates (PEM) of authorities that are trusted besides those of the system, for origins over TLS. */
  readonly originCertificates?: readonly string[];
}
