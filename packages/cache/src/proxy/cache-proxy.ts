/**
 * The proxy: takes requests from a server and answers them, from the store if the policy allows it,
 * otherwise from the origin.
 *
 * The proxy is a shell. `policy/` decides what may be stored, served, validated or shared;
 * `safety/` decides which clients may ask and where a fetch may go. Requests must have passed the
 * guard (`safety/guard-server.ts`) before they come here: this file assumes that they are
 * well-formed.
 *
 * Fields that a request's Connection names are removed first, so that cache and origin see the same
 * request (`policy/forwarding.ts`).
 *
 * A request for a fresh response in memory runs from `handle` to `res.end` without interruption:
 * one look-up of the route, one of the key, one decision, one answer; no promise, no timer, no
 * listener. Slower requests continue in `request-flow.ts`.
 *
 * `Upgrade` is ignored, as RFC 9110, 7.8 allows: such a request is answered like any other.
 * Trailers are dropped (6.5.1).
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { decide, isOnlyIfCached, type RequestHead, withoutConnectionFields } from '../policy/index.ts';
import type { StoredResponse } from '../policy/stored-response.ts';
import { clientAddress } from '../safety/client-guard.ts';
import type { AbortOptions } from '../store/abortable.ts';
import { Exchange } from './client/exchange.ts';
import { answerOptions } from './client/options-and-trace.ts';
import { PlainHits } from './client/plain-hits.ts';
import { Tunnels } from './client/tunnels.ts';
import { DigestBook } from './digests/digest-book.ts';
import type { FetchDecision } from './flight/fetch-order.ts';
import { Flights } from './flight/flights.ts';
import type { ProxyContext, ProxyFlight } from './flight/shared-response.ts';
import { OriginClient } from './origin/origin-client.ts';
import type { ProxyOptions } from './proxy-options.ts';
import { ONLY_IF_CACHED, RequestFlow } from './request-flow.ts';
import type { ResponseSource } from './response-source.ts';
import { type Route, Router } from './route.ts';

/** A running proxy. Not called `Proxy`, because JavaScript has one. */
export interface CacheProxy {
  /**
   * Handler for the `request` event of an http server. `client` is the address of the client, if
   * the socket of the request is not the client's own.
   */
  handle(req: IncomingMessage, res: ServerResponse, client?: string): void;
  /** Handler for the `connect` event of an http server. */
  connect(req: IncomingMessage, socket: Duplex, head: Buffer, client?: string): void;
  /**
   * Removes all stored responses of a key, and keeps responses that are being fetched for it from
   * being stored. Returns the number of removed responses. A removal that has begun is not stopped
   * by the signal.
   */
  forget(key: string, options?: AbortOptions): Promise<number>;
  /**
   * Begins to fetch the object of a key for a node of another group of the fleet. Null if this node
   * has no route to its origin, or if the response cannot be shared.
   */
  fetchForNode(request: RequestHead, decision: FetchDecision): ProxyFlight | null;
  /**
   * Begins to fetch the object of a key from one source alone. Null if this node has no route to
   * its origin, or if the response cannot be shared.
   */
  fetchFrom(request: RequestHead, decision: FetchDecision, source: ResponseSource): ProxyFlight | null;
  readonly activity: ProxyActivity;
  /** Ends tunnels and connections to origins at once; running requests fail. */
  close(): Promise<void>;
}

export interface ProxyActivity {
  /** Running fetches from origins. */
  readonly fetches: number;
  /** Fetches that other requests can join. */
  readonly flights: number;
  readonly originConnections: number;
  readonly origins: number;
  readonly tunnels: number;
}

export function createProxy(options: ProxyOptions): CacheProxy {
  return new RunningProxy(options);
}

class RunningProxy implements CacheProxy {
  readonly #options: ProxyOptions;
  readonly #context: ProxyContext;
  readonly #router: Router;
  readonly #tunnels: Tunnels;
  readonly #plainHits: PlainHits;
  readonly #flow: RequestFlow;

  constructor(options: ProxyOptions) {
    const { policy, store, clock, limits, observer, addresses } = options;
    this.#options = options;
    this.#router = new Router(options);
    this.#plainHits = new PlainHits(policy);
    this.#context = {
      policy,
      store,
      clock,
      timers: options.timers,
      limits,
      observer,
      origins: new OriginClient({
        limits,
        timers: options.timers,
        addresses,
        certificates: options.originCertificates,
        problem: (problem) => observer.event('error', 'origin-client', { problem }),
      }),
      sourcesBeforeOrigin: options.sourcesBeforeOrigin,
      digests: options.digests === undefined ? new DigestBook() : options.digests,
      flights: options.flights ?? new Flights(clock, options.timers),
    };
    this.#flow = new RequestFlow(this.#context);
    this.#tunnels = new Tunnels({
      name: policy.name,
      ports: options.connectPorts,
      addresses,
      limits,
      clock,
      observer,
    });
  }

  handle(req: IncomingMessage, res: ServerResponse, client = clientAddress(req.socket)): void {
    const { clients, clock, observer } = this.#options;
    const { name } = this.#options.policy;
    const now = clock();
    const method = req.method!;
    const target = req.url!;
    const route = this.#router.route(target);
    const known = 'key' in route;
    const headers = withoutConnectionFields(req.rawHeaders);
    const request: RequestHead = { method, key: known ? route.key : target, headers };
    if (known && (method === 'GET' || method === 'HEAD') && clients.allows(client)) {
      const found = this.#context.store.find(request.key);
      if (found instanceof Promise) {
        this.#flow.decideWhenFound(
          new Exchange({ req, res, client, request, route, at: now, name, observer }),
          found,
        );
        return;
      }
      const decision = decide(request, found, now, this.#context.policy);
      if (
        decision.kind === 'serve' &&
        !decision.stale &&
        this.#hit(res, client, request, route, decision.response, now)
      ) {
        return;
      }
      this.#flow.act(
        new Exchange({ req, res, client, request, route, at: now, name, observer }),
        decision,
        now,
      );
      return;
    }
    const exchange = new Exchange({
      req,
      res,
      client,
      request,
      route: known ? route : NOWHERE,
      at: now,
      name,
      observer,
    });
    if (!clients.allows(client)) {
      this.#refuse(exchange, 403, 'client-not-allowed', 'This node does not serve your address');
    } else if (known) {
      this.#flow.act(exchange, decide(request, [], now, this.#context.policy), now);
    } else if (target === '*' && !isOnlyIfCached(headers)) {
      exchange.follow();
      answerOptions(exchange);
    } else {
      this.#refuse(exchange, route.status, route.code, route.text);
    }
  }

  connect(req: IncomingMessage, socket: Duplex, head: Buffer, address = clientAddress(req.socket)): void {
    const { clients, forward } = this.#options;
    const client = { socket, address };
    if (!clients.allows(address)) {
      this.#tunnels.refuse(req, client, 403, 'client-not-allowed', 'This node does not serve your address');
    } else if (isOnlyIfCached(req.rawHeaders)) {
      this.#tunnels.refuse(req, client, 504, 'only-if-cached', ONLY_IF_CACHED);
    } else if (!forward) {
      this.#tunnels.refuse(req, client, 405, 'no-tunnels', 'This node is no forward proxy: no tunnels');
    } else {
      this.#tunnels.open(req, client, head);
    }
  }

  async forget(key: string, { signal }: AbortOptions = {}): Promise<number> {
    signal?.throwIfAborted();
    this.#context.flights.doom(key);
    return this.#context.store.removeKey(key);
  }

  fetchForNode(request: RequestHead, decision: FetchDecision): ProxyFlight | null {
    const route = this.#router.routeOfKey(request.key);
    return 'key' in route ? this.#flow.fetchForNode(request, route, decision) : null;
  }

  fetchFrom(request: RequestHead, decision: FetchDecision, source: ResponseSource): ProxyFlight | null {
    const route = this.#router.routeOfKey(request.key);
    return 'key' in route ? this.#flow.fetchFrom(request, route, decision, source) : null;
  }

  get activity(): ProxyActivity {
    const { origins, flights } = this.#context;
    return {
      fetches: origins.running,
      flights: flights.size,
      originConnections: origins.connections,
      origins: origins.origins,
      tunnels: this.#tunnels.size,
    };
  }

  async close(): Promise<void> {
    this.#tunnels.close();
    this.#context.origins.close();
  }

  /**
   * The complete hot path: a fresh response in memory, requested without conditions. Returns false
   * if the request needs more than that.
   */
  #hit(
    res: ServerResponse,
    client: string,
    request: RequestHead,
    route: Route,
    response: StoredResponse,
    now: number,
  ): boolean {
    const headers = this.#plainHits.headersFor(request, route, response, now);
    if (headers === null) return false;
    const bytes = this.#context.store.bodyInMemory(response);
    if (bytes === undefined) return false;
    res.writeHead(response.status, response.statusText, headers);
    res.end(bytes);
    this.#context.observer.answered({
      at: now,
      client,
      method: request.method,
      url: request.key,
      status: response.status,
      outcome: 'hit',
      reason: '',
      bytesOut: bytes.length,
      bytesFromOrigin: 0,
      fields: headers,
      durationMs: 0,
      aborted: false,
    });
    return true;
  }

  #refuse(exchange: Exchange, status: number, code: string, text: string): void {
    exchange.follow();
    exchange.outcome = 'refused';
    exchange.sendText(status, code, text);
  }
}

/** The route in records of requests that have none. */
const NOWHERE: Route = { key: '', origin: '', host: '', path: '', trusted: false, mapping: null };
