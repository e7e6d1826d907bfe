/**
 * The parts that a proxy is built from. All of them are passed in, so that tests can run it with
 * their own clock and store.
 */

import type { Clock } from '@bloomery/transport';
import type { Decision } from '../policy/decision.ts';
import type { RequestHead } from '../policy/message-head.ts';
import type { PolicyOptions } from '../policy/policy-options.ts';
import type { AddressGuard } from '../safety/address-guard.ts';
import type { ClientGuard } from '../safety/client-guard.ts';
import type { Limits } from '../safety/limits.ts';
import type { ResponseStore } from '../store/response-store.ts';
import type { DigestBook } from './digests/digest-book.ts';
import type { ProxyFlights } from './flight/shared-response.ts';
import type { ProxyObserver } from './proxy-observer.ts';
import type { ResponseSource } from './response-source.ts';
import type { Route } from './route.ts';

/** A part of this node's own URL space, and the origin behind it. */
export interface Upstream {
  /**
   * Begins with `/`. With a trailing slash it covers the paths below it; without, it covers itself
   * and the paths below it.
   */
  readonly prefix: string;
  /** `http:` or `https:`. Its path is prepended to the rest of the target after the prefix. */
  readonly origin: URL;
}

/**
 * The sources to ask before the origin, in this order: those that may hold the response and are
 * nearer. Called once for each fetch, not for each request that waits for it. `origin` is the last
 * source of the fetch, for a source that needs the rest of a body from there. `isForNode`: the
 * fetch is for a node of another group, and stays inside the group of this one.
 */
export type SourcesBeforeOrigin = (
  request: RequestHead,
  route: Route,
  decision: Extract<Decision, { kind: 'fetch' | 'validate' }>,
  origin: ResponseSource,
  isForNode: boolean,
) => readonly ResponseSource[];

export interface ProxyOptions {
  readonly policy: PolicyOptions;
  readonly store: ResponseStore;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Timers and durations; by default those of the machine. A simulation passes its own. */
  readonly timers?: Pick<Clock, 'after' | 'monotonic'>;
  /** Reverse proxy: the longest matching prefix wins. */
  readonly upstreams: readonly Upstream[];
  /** Forward proxy: whether absolute-form requests for any host, and CONNECT, are served. */
  readonly forward: boolean;
  /**
   * Whether a host, as in a URL without port, is this node: without `forward`, only such requests
   * in absolute form are served. By default `localhost`, loopback and the name of the machine.
   */
  readonly isOwnHost?: (host: string) => boolean;
  /** Ports to which CONNECT may connect. */
  readonly connectPorts: readonly number[];
  readonly limits: Limits;
  /**
   * Decides which addresses may be connected to for forward requests and tunnels. Upstreams are
   * exempt, because the operator chose them.
   */
  readonly addresses: AddressGuard;
  readonly clients: ClientGuard;
  readonly observer: ProxyObserver;
  /**
   * The running fetches, if several proxies share one store (after a change of configuration,
   * requests continue in the earlier proxies). A response that one proxy invalidates must not be
   * stored by another. By default each proxy has its own.
   */
  readonly flights?: ProxyFlights;
  /** Sources that are asked first. By default only the origin is asked. */
  readonly sourcesBeforeOrigin?: SourcesBeforeOrigin;
  /**
   * The digests that bodies must have. By default each proxy has a book of its own; null switches
   * the checks off.
   */
  readonly digests?: DigestBook | null;
  /**
   * Certificates (PEM) of authorities that are trusted in addition to the system's, for origins
   * over TLS.
   */
  readonly originCertificates?: readonly string[];
}
