/**
 * Fetches from origins over persistent connections. Each origin has a pool. The number of pools is
 * bounded; at the limit, unused pools are removed, the least recently used first.
 *
 * Trusted and guarded connections are never shared. Otherwise a connection to a private address,
 * opened for the operator's own upstream, could carry an untrusted client's request.
 */

import { systemClock } from '@bloomery/transport';
import type { AddressGuard } from '../../safety/address-guard.ts';
import type { Limits } from '../../safety/limits.ts';
import type { SourceHandler } from '../response-source.ts';
import type { MutualTls } from './origin-connector.ts';
import { OriginError } from './origin-error.ts';
import { type FetchTimers, OriginFetch, type OriginRequest } from './origin-fetch.ts';
import { OriginPool } from './origin-pool.ts';

/** Maximum number of origins with connections. */
const ORIGINS = 1024;

export interface OriginClientOptions {
  readonly limits: Limits;
  /** Timers of fetches; by default those of the machine. */
  readonly timers?: FetchTimers | undefined;
  readonly addresses: AddressGuard;
  readonly certificates?: readonly string[] | undefined;
  /** The certificates of connections that begin now, for servers that ask for one. */
  readonly mutual?: (() => MutualTls) | undefined;
  /** Maximum number of origins with connections; 1024 by default. */
  readonly origins?: number;
  readonly problem: (error: unknown) => void;
}

export class OriginClient {
  readonly #options: OriginClientOptions;
  /** The map is in the order of last use. */
  readonly #pools = new Map<string, OriginPool>();
  /** Pools from before `renewConnections`, which are used by the fetches that they have. */
  #outdated: readonly OriginPool[] = [];
  readonly #running = new Set<OriginFetch>();
  #closed = false;

  constructor(options: OriginClientOptions) {
    this.#options = options;
  }

  get connections(): number {
    let sum = 0;
    for (const pool of this.#pools.values()) sum += pool.connections;
    return sum;
  }

  /** Origins with a pool. */
  get origins(): number {
    return this.#pools.size;
  }

  get running(): number {
    return this.#running.size;
  }

  fetch(request: OriginRequest, handler: SourceHandler): OriginFetch {
    const { limits, timers = systemClock } = this.#options;
    const fetch = new OriginFetch(request, handler, { limits, timers }, () => this.#running.delete(fetch));
    this.#running.add(fetch);
    if (this.#closed) {
      queueMicrotask(() => fetch.fail(new OriginError('proxy_internal_error', 'This node is shutting down')));
      return fetch;
    }
    const pool = this.#pool(request);
    if (pool === null) {
      const text = `${request.origin}: this node has no connection to spare`;
      queueMicrotask(() => fetch.fail(new OriginError('connection_limit_reached', text)));
      return fetch;
    }
    fetch.start(pool);
    return fetch;
  }

  /**
   * Uses a new connection for each fetch that begins now. Running ones go on, and idle connections
   * close.
   */
  renewConnections(): void {
    const error = new OriginError('proxy_internal_error', 'This connection was replaced');
    const before = [...this.#outdated, ...this.#pools.values()];
    this.#pools.clear();
    for (const pool of before) if (pool.unused) pool.destroy(error);
    this.#outdated = before.filter((pool) => !pool.unused);
  }

  /** Ends all connections; running fetches fail. */
  close(): void {
    this.#closed = true;
    const error = new OriginError('proxy_internal_error', 'This node is shutting down');
    for (const fetch of [...this.#running]) fetch.fail(error);
    for (const pool of [...this.#outdated, ...this.#pools.values()]) pool.destroy(error);
    this.#pools.clear();
  }

  #pool(request: OriginRequest): OriginPool | null {
    const { limits, addresses, certificates, mutual, problem, origins = ORIGINS } = this.#options;
    const key = request.trusted ? request.origin : `? ${request.origin}`;
    let pool = this.#pools.get(key);
    if (pool !== undefined) {
      this.#pools.delete(key);
    } else {
      if (this.#pools.size >= origins && !this.#evict()) return null;
      pool = new OriginPool(request.origin, {
        addresses: request.trusted ? null : addresses,
        timeoutMs: limits.originConnectTimeoutMs,
        responseHeadBytes: limits.responseHeadBytes,
        responseBodyBytes: limits.responseBodyBytes,
        certificates,
        mutual: mutual?.(),
        problem,
      });
    }
    this.#pools.set(key, pool);
    return pool;
  }

  #evict(): boolean {
    for (const [key, pool] of this.#pools) {
      if (!pool.unused) continue;
      this.#pools.delete(key);
      pool.destroy(new OriginError('connection_limit_reached', 'Connections to this origin were closed'));
      return true;
    }
    return false;
  }
}
