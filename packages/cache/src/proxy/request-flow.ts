/**
 * The path of a request that is not a plain hit: through the store, a fetch that another request
 * began, or a fetch of its own, and the handling of their failures.
 *
 * Concurrent requests for one object share one fetch (`flight.ts`). A request that cannot use the
 * result of another request's fetch, or whose stored bytes turn out to be damaged, starts again
 * with the look-up, at most `ROUNDS` times. Then it fetches for itself, and after twice as many
 * rounds it fails.
 */

import {
  combinedValue,
  type Decision,
  decide,
  fieldValue,
  forwardStatus,
  hitStatus,
  isOnlyIfCached,
  namesOf,
  type RequestHead,
  variantText,
  variedFor,
  via,
} from '../policy/index.ts';
import type { StoredResponse } from '../policy/stored-response.ts';
import { type AnswerHow, answerFromStore } from './client/answer-from-store.ts';
import { beginStream } from './client/body-sender.ts';
import { type Exchange, hasBody } from './client/exchange.ts';
import { countForwards } from './client/options-and-trace.ts';
import { BodyTooLongError, RequestBody } from './client/request-body.ts';
import { VerifiedSource } from './digests/verified-source.ts';
import { FetchJob } from './flight/fetch-job.ts';
import { type FetchDecision, StatusError } from './flight/fetch-order.ts';
import {
  isPersonal,
  type ProxyContext,
  type ProxyFlight,
  type ProxyLanding,
  type SharedResponse,
} from './flight/shared-response.ts';
import { OriginError } from './origin/origin-error.ts';
import { OriginSource } from './origin/origin-source.ts';
import type { ResponseSource } from './response-source.ts';
import type { Route } from './route.ts';

export const ONLY_IF_CACHED = 'Not stored here, and only-if-cached was asked for';
/** How often a request waits for other fetches before it fetches for itself. */
const ROUNDS = 4;
/**
 * Maximum number of concurrent background revalidations; further ones are left to the next request.
 */
const BACKGROUND = 256;

export class RequestFlow {
  readonly #context: ProxyContext;

  constructor(context: ProxyContext) {
    this.#context = context;
  }

  lookUp(exchange: Exchange): void {
    const found = this.#context.store.find(exchange.request.key);
    if (found instanceof Promise) this.decideWhenFound(exchange, found);
    else this.#decide(exchange, found);
  }

  /** Continues when the store has answered. */
  decideWhenFound(exchange: Exchange, found: Promise<readonly StoredResponse[]>): void {
    exchange.follow();
    found.then(
      (responses) => this.#decide(exchange, responses),
      (problem: unknown) => {
        // A store that fails to answer is treated as empty.
        this.#context.observer.event('error', 'store-failed', { key: exchange.request.key, problem });
        this.#decide(exchange, []);
      },
    );
  }

  #decide(exchange: Exchange, stored: readonly StoredResponse[]): void {
    const { policy, clock } = this.#context;
    const now = clock();
    if (!exchange.over) this.act(exchange, decide(exchange.request, stored, now, policy), now);
  }

  /** Carries out the policy's decision. */
  act(exchange: Exchange, decision: Decision, now: number): void {
    const { policy } = this.#context;
    if (decision.kind === 'serve') {
      const { response, stale } = decision;
      const how: AnswerHow = {
        outcome: stale ? 'stale' : 'hit',
        reason: '',
        stale,
        status: () => hitStatus(policy.name, response, now),
        again: this.#again,
      };
      const served = answerFromStore(
        this.#context,
        exchange,
        { response, source: response, body: null },
        now,
        how,
      );
      if (!served) this.#fetchOrNot(exchange);
      else if (decision.background) this.#revalidate(exchange, response);
    } else if (decision.kind === 'not-cached') {
      this.#notCached(exchange);
    } else {
      this.fetch(exchange, decision);
    }
  }

  #notCached(exchange: Exchange): void {
    exchange.follow();
    exchange.outcome = 'miss';
    exchange.sendText(504, 'only-if-cached', ONLY_IF_CACHED);
  }

  /** The stored response lacks the bytes that were asked for. */
  #fetchOrNot(exchange: Exchange): void {
    if (isOnlyIfCached(exchange.request.headers)) this.#notCached(exchange);
    else this.fetch(exchange, { kind: 'fetch', reason: 'partial', shareable: false });
  }

  /** Starts the request again, because the response that was found cannot be used. */
  readonly #again = (exchange: Exchange): void => {
    exchange.rounds++;
    if (exchange.rounds > 2 * ROUNDS) {
      exchange.outcome = 'error';
      const text = 'This node found no way to answer; its store may be failing';
      exchange.sendText(500, 'proxy_internal_error', text);
    } else if (exchange.rounds > ROUNDS) {
      // A response that cannot be removed must not be found forever: from now on the store is
      // treated as empty.
      this.#decide(exchange, []);
    } else {
      this.lookUp(exchange);
    }
  };

  /** Fetches from the origin, by joining a running fetch or with one of its own. */
  fetch(exchange: Exchange, decision: FetchDecision): void {
    exchange.follow();
    const { flights, limits } = this.#context;
    const { request } = exchange;
    if (this.#isLoop(request)) {
      const text = 'This request has been here before: the next hop leads back to this node';
      exchange.outcome = 'refused';
      exchange.sendText(508, 'loop', text);
      return;
    }
    const headers = countForwards(exchange);
    if (headers === null) return;
    const shared =
      isShareable(request, decision) && exchange.rounds < ROUNDS && !flights.isBarren(request.key);
    if (!shared) {
      this.#start(exchange, { ...request, headers }, decision, flights.begin(request.key, 'alone'));
      return;
    }
    const variant = this.#variant(request, decision);
    const flight = flights.find(request.key, variant, (each) => this.#mayHave(exchange, each, false));
    if (flight === null || flight === exchange.tiredOf) {
      this.#start(exchange, request, decision, flights.begin(request.key, 'joinable', variant));
    } else if (flight.landing?.kind === 'shared') {
      this.#answerShared(exchange, flight.landing.shared, decision, true);
    } else {
      const leave = flight.wait(limits.flightWaitMs, (landing, early) => {
        stopListening();
        this.#landed(exchange, landing, early, decision, flight);
      });
      const stopListening = exchange.onLeave(leave);
    }
  }

  /** The flight for which a request waited has a result. */
  #landed(
    exchange: Exchange,
    landing: ProxyLanding,
    early: boolean,
    decision: FetchDecision,
    flight: ProxyFlight,
  ): void {
    if (exchange.over) return;
    if (landing.kind === 'own') {
      const { own } = landing;
      if (own.kind === 'stream')
        beginStream(exchange, own.head, decision, own.notStored, this.#context.policy);
      else this.#answerShared(exchange, own.shared, decision, false, own.fields);
    } else if (landing.kind === 'shared' && this.#mayHave(exchange, landing.shared, early)) {
      this.#answerShared(exchange, landing.shared, decision, true);
    } else if (landing.kind === 'failed') {
      this.#failed(exchange, landing.error, decision);
    } else {
      if (landing.kind === 'expired') exchange.tiredOf = flight;
      this.#again(exchange);
    }
  }

  /** Starts a fetch of which the exchange is the first waiter. */
  #start(exchange: Exchange, request: RequestHead, decision: FetchDecision, flight: ProxyFlight): void {
    const { req, route } = exchange;
    const leave = flight.waitFirst((landing, early) => {
      stopListening();
      this.#landed(exchange, landing, early, decision, flight);
    });
    const stopListening = exchange.onLeave(leave);
    const body = hasBody(req) ? new RequestBody(req, this.#context.limits.requestBodyBytes) : null;
    const length = fieldValue(request.headers, 'content-length');
    new FetchJob(this.#context, {
      request,
      route,
      sources: this.#sources(request, route, decision, body !== null),
      decision,
      first: exchange,
      flight,
      body,
      bodyLength: length === undefined ? undefined : Number(length),
    }).start();
  }

  /** Fetches a response again that was just served stale (RFC 5861, 3), one at a time per key. */
  #revalidate(exchange: Exchange, response: StoredResponse): void {
    const { flights } = this.#context;
    const { request, route } = exchange;
    const decision = {
      kind: 'validate',
      response,
      fallback: true,
      errorFallback: true,
      reason: 'stale',
    } as const;
    const variant = this.#variant(request, decision);
    if (flights.has(request.key, variant) || flights.background >= BACKGROUND || this.#isLoop(request))
      return;
    const flight = flights.begin(request.key, 'background', variant);
    const asked: RequestHead = request.method === 'GET' ? request : { ...request, method: 'GET' };
    new FetchJob(this.#context, {
      request: asked,
      route,
      sources: this.#sources(asked, route, decision, false),
      decision,
      first: null,
      flight,
      body: null,
    }).start();
  }

  /**
   * Begins a fetch for a node of another group, which waits for the flight. Null if the response
   * cannot be shared.
   */
  fetchForNode(request: RequestHead, route: Route, decision: FetchDecision): ProxyFlight | null {
    const { flights } = this.#context;
    if (!isShareable(request, decision) || flights.isBarren(request.key)) return null;
    const flight = flights.begin(request.key, 'joinable', this.#variant(request, decision));
    const sources = this.#sources(request, route, decision, false, true);
    const order = { request, route, sources, decision, first: null, flight, body: null };
    new FetchJob(this.#context, order).start();
    return flight;
  }

  /**
   * Begins a fetch from one source alone, for which no client waits and which none can join: the
   * source may refuse, and a client would have asked others. Null if the response cannot be shared,
   * or if only the origin may be asked for it.
   */
  fetchFrom(
    request: RequestHead,
    route: Route,
    decision: FetchDecision,
    source: ResponseSource,
  ): ProxyFlight | null {
    const { flights } = this.#context;
    if (!isShareable(request, decision) || flights.isOnlyAtOrigin(request.key)) return null;
    const flight = flights.begin(request.key, 'alone', this.#variant(request, decision));
    const sources = [this.#verified(request, source)];
    new FetchJob(this.#context, {
      request,
      route,
      sources,
      decision,
      first: null,
      flight,
      body: null,
    }).start();
    return flight;
  }

  /** The variant that the request will get, as far as it is known (`flight/flights.ts`). */
  #variant({ key, headers }: RequestHead, decision: FetchDecision): string {
    const stored = decision.kind === 'validate' ? namesOf(decision.response.varied) : decision.variedBy;
    const names = this.#context.flights.selectors(key) ?? stored;
    return names === undefined ? '' : variantText(variedFor(names, headers));
  }

  /** The sources of a fetch. The origin is the last, and the only one that gets a body. */
  #sources(
    request: RequestHead,
    route: Route,
    decision: FetchDecision,
    hasBody: boolean,
    isForNode = false,
  ): readonly ResponseSource[] {
    const { origins, sourcesBeforeOrigin, flights } = this.#context;
    const origin = new OriginSource(origins, route);
    const last = this.#verified(request, origin);
    if (hasBody || sourcesBeforeOrigin === undefined || flights.isOnlyAtOrigin(request.key)) return [last];
    try {
      const before = sourcesBeforeOrigin(request, route, decision, origin, isForNode);
      return [...before.map((source) => this.#verified(request, source)), last];
    } catch (problem) {
      this.#context.observer.event('error', 'source-failed', { key: request.key, problem });
      return [last];
    }
  }

  /** The same source, with bodies that are checked against their digest. */
  #verified({ key }: RequestHead, source: ResponseSource): ResponseSource {
    const { digests, observer } = this.#context;
    if (digests === null) return source;
    return new VerifiedSource(source, key, digests, (name, { message }) =>
      observer.event('warn', 'wrong-digest', { key, source: name, problem: message }),
    );
  }

  #answerShared(
    exchange: Exchange,
    shared: SharedResponse,
    decision: FetchDecision,
    collapsed: boolean,
    fields?: string[],
  ): void {
    const { policy, clock } = this.#context;
    const { body, validated } = shared;
    if (body !== null) exchange.fate = () => body.fate;
    // Computed when the head is written: a short body is stored by then, a long one is not.
    const status = (): string => {
      const fate = body?.fate;
      return forwardStatus(policy.name, {
        fwd: decision.reason,
        ...(validated ? { fwdStatus: 304 } : {}),
        ...(fate === 'stored' ? { stored: true } : fate === undefined ? {} : { detail: fate }),
        collapsed,
      });
    };
    const served = answerFromStore(this.#context, exchange, shared, clock(), {
      outcome: collapsed
        ? 'collapsed'
        : validated
          ? 'validated'
          : shared.fromNeighbour
            ? 'neighbour'
            : 'miss',
      reason: decision.reason,
      stale: false,
      status,
      fields,
      again: this.#again,
    });
    if (!served) {
      exchange.rounds = ROUNDS;
      this.#again(exchange);
    }
  }

  /**
   * The origin failed: the stored response may be served instead (RFC 9111, 4.2.4; RFC 5861, 4),
   * otherwise the client gets an error.
   */
  #failed(exchange: Exchange, error: Error, decision: FetchDecision): void {
    const { policy, clock } = this.#context;
    const failure = error instanceof OriginError ? error : null;
    if (decision.kind === 'validate' && failure?.code !== 'destination_ip_prohibited') {
      const allowed = error instanceof StatusError ? decision.errorFallback : decision.fallback;
      if (allowed) {
        const { response } = decision;
        const served = answerFromStore(
          this.#context,
          exchange,
          { response, source: response, body: null },
          clock(),
          {
            outcome: 'stale',
            reason: failure?.code ?? 'origin-error',
            stale: true,
            status: () =>
              forwardStatus(policy.name, {
                fwd: decision.reason,
                ...(error instanceof StatusError ? { fwdStatus: error.status } : {}),
                detail: failure?.code ?? 'origin-error',
              }),
            again: this.#again,
          },
        );
        if (served) return;
      }
    }
    if (error instanceof StatusError) {
      this.#again(exchange);
      return;
    }
    exchange.outcome = 'error';
    if (failure?.cause instanceof BodyTooLongError) {
      const text = `The body of the request is longer than the ${failure.cause.limit} bytes allowed`;
      exchange.sendText(413, 'body-too-long', text);
    } else {
      const { status, code, message } = failure ?? {
        status: 500,
        code: 'proxy_internal_error',
        message: error.message,
      };
      if (status === 403) exchange.outcome = 'refused';
      exchange.sendText(status, code, message);
    }
  }

  /**
   * Whether a response that another request fetched also answers this request; see `flight.ts` for
   * `early`.
   */
  #mayHave(exchange: Exchange, shared: SharedResponse, early: boolean): boolean {
    const { policy, clock } = this.#context;
    if (shared.body !== null && !shared.body.open) return false;
    const decision = decide(exchange.request, [shared.response], clock(), policy);
    if (decision.kind !== 'validate') return decision.kind === 'serve';
    // The response counts as validated for this request, unless the origin may have considered who
    // asked, or a neighbour had it in its store.
    const fromOrigin = !shared.fromNeighbour;
    return early && fromOrigin && !shared.personal && !isPersonal(exchange.request);
  }

  /** RFC 9110, 7.6.3: this node's own name in Via means that the request went in a circle. */
  #isLoop(request: RequestHead): boolean {
    const value = combinedValue(request.headers, 'via');
    if (value === undefined) return false;
    const [, name] = via(this.#context.policy).split(' ');
    return value.split(',').some((each) => each.trim().split(/[ \t]+/)[1] === name);
  }
}

/** Whether other requests may wait for the answer to this request. */
function isShareable(request: RequestHead, decision: FetchDecision): boolean {
  if (decision.kind === 'fetch') return decision.shareable;
  // For a stored part, the client's own range is requested; for a complete response, the whole.
  return request.method === 'GET' && decision.response.range === null;
}
