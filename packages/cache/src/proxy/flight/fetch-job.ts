/**
 * One fetch on behalf of the cache, and the handling of the response. It is stored and shared, or
 * it is only for the request that caused the fetch, or it confirms a stored response (304), or it
 * completes a part, or the fetch fails.
 *
 * ```
 *            next source
 *             ┌─────┐   ┌────────── the plain request ───────────┐
 *             │     ▼   ▼                                        │
 *   start ─► asking ──head──► held ──► (judged) ──┬──► emptying ─┘ the head is useless
 *               │     │                  ▲        ├──► storing     stored, all read it from there
 *               │     └──────────────────┘        ├──► streaming   the first waiter alone gets it
 *               │                                 └──► settled     the head is everything
 *               │                                           │
 *               └── every source failed ────────────────► over ◄── end, or an error on the way
 * ```
 *
 * Every state before the landing also goes to *over* if no request waits any more.
 *
 * - *asking*: a source of the order was asked and has not answered. If it fails, the next is asked.
 * - *held*: the head is here, and waits until the responses that it invalidates are removed (RFC
 *   9111, 4.4). The first waiter may ask again as soon as it sees the head, and must not find them
 *   then.
 * - *emptying*: the response is of no use. Its short rest is read, so that the connection can be
 *   used again (a long one is aborted instead), and then the whole is requested without conditions.
 * - *storing*, *streaming*: the body goes to the store or to the first waiter.
 * - *settled*: the result stands, and the rest of the response changes nothing. The head was a 304,
 *   or an error for which the stored response stands in.
 *
 * Who owns what. The job owns the question to the source (`SourceFetch`). It owns the flight, which
 * it lands and ends. It also owns the store job, which owns the body from then on. The flight's
 * first waiter (`FetchOrder.first`) is the request that caused the fetch; a background revalidation
 * has none. The job reaches the first waiter only through the flight, except for interim responses,
 * the pieces of a stream and the count of bytes in its record.
 *
 * The first waiter reads a stored response from the store like all other clients. If it is slow, it
 * delays no other client, and if it disconnects, the fetch goes on. A response that may not be
 * stored is streamed to it piece by piece; then its disconnection aborts the fetch. Only the first
 * waiter gets the fields of a 304 that are not stored, above all Set-Cookie.
 */

import {
  asPeerCopy,
  cacheFieldsOnly,
  combine,
  expectedBodyLength,
  freshen,
  freshenByHead,
  isServerError,
  keysToInvalidate,
  mayKeep,
  type NotStored,
  namesOf,
  ownersFields,
  type RequestHead,
  type ResponseHead,
  requestFieldsToForward,
  responseFieldsToForward,
  type Times,
  validationFields,
  variantText,
  withBody,
  withoutFields,
} from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { explicitlyShareable, type SafeFields, safeguardFields } from '../../safety/unkeyed-fields.ts';
import { endAnswer, sendPiece } from '../client/body-sender.ts';
import type { Exchange } from '../client/exchange.ts';
import { OriginError } from '../origin/origin-error.ts';
import type { SourceFetch, SourceHandler } from '../response-source.ts';
import { mapFields } from '../route.ts';
import { type FetchOrder, type Mode, modeOf, StatusError, senderOf } from './fetch-order.ts';
import { isPersonal, type ProxyContext } from './shared-response.ts';
import { storableResponse, suitsFirst } from './storable-response.ts';
import { StoreJob } from './store-job.ts';

type State =
  | { readonly at: 'asking' | 'held' | 'emptying' | 'settled' | 'over' }
  | { readonly at: 'storing'; readonly job: StoreJob }
  | { readonly at: 'streaming'; readonly to: Exchange };

const ASKING: State = { at: 'asking' };
const HELD: State = { at: 'held' };
const EMPTYING: State = { at: 'emptying' };
const SETTLED: State = { at: 'settled' };
const OVER: State = { at: 'over' };

export class FetchJob implements SourceHandler {
  readonly #context: ProxyContext;
  readonly #order: FetchOrder;
  #mode: Mode;
  #fetch: SourceFetch = NOT_ASKED;
  /**
   * The request as the policy sees it: the client's fields, with the conditions and ranges of this
   * node.
   */
  #asked!: RequestHead;
  #safe!: SafeFields;
  #requestTime = 0;
  /** Index of the source that is being asked. */
  #source = 0;
  #state: State = ASKING;
  /** The body began at a neighbour, and its rest comes from the origin. */
  #hasRestFromOrigin = false;

  constructor(context: ProxyContext, order: FetchOrder) {
    this.#context = context;
    this.#order = order;
    this.#mode = modeOf(order);
    order.flight.unwaited = () => this.#abandon();
  }

  start(): void {
    this.#ask();
  }

  /** Sends the current source the request that the mode calls for. */
  #ask(): void {
    const { request, sources, body, bodyLength } = this.#order;
    const { policy, clock } = this.#context;
    const mode = this.#mode;
    const headers =
      mode.kind === 'validate'
        ? validationFields(request, mode.stored)
        : mode.kind === 'complete'
          ? mode.fields
          : request.headers;
    this.#state = ASKING;
    this.#asked = { method: request.method, key: request.key, headers };
    this.#safe = safeguardFields(headers, request.method);
    this.#requestTime = clock();
    const sender = policy.forwardedFields === 'replace' ? senderOf(this.#order) : undefined;
    const fields = withoutFields(requestFieldsToForward(this.#safe.headers, policy, sender), FRAMING);
    const question = { method: request.method, headers: fields, body, bodyLength };
    const source = sources[this.#source]!;
    if (source.isNeighbour !== true) this.onRooted();
    try {
      this.#fetch = source.ask(question, this);
    } catch (problem) {
      // The waiting requests must be answered whatever a source does.
      this.#event('error', 'source-failed', { problem });
      this.onError(new OriginError('proxy_internal_error', 'This node could not ask for the response'));
    }
  }

  /** No request waits for the result any more. */
  #abandon(): void {
    this.#state = OVER;
    this.#fetch.abort();
    this.#endFlight();
  }

  onSent(): void {
    this.#requestTime = this.#context.clock();
    this.#order.flight.markSent();
  }

  onRooted(): void {
    this.#order.flight.markRooted();
  }

  onOrigin(): void {
    this.#hasRestFromOrigin = true;
  }

  onNote(note: string): void {
    const { first } = this.#order;
    if (first !== null) first.sourceNote = note;
  }

  onNeighbour(name: string): void {
    const { first } = this.#order;
    if (first !== null) first.neighbour = name;
  }

  onInterim(status: number, statusText: string, headers: string[]): void {
    const { first, route } = this.#order;
    first?.sendInterim(
      status,
      statusText,
      // RFC 9110, 8.6: no length with 1xx.
      mapFields(withoutFields(responseFieldsToForward(headers, this.#context.policy), FRAMING), route),
    );
  }

  onHead(head: ResponseHead): void {
    const keys = keysToInvalidate(this.#order.request, head);
    const removed = keys.length === 0 ? null : this.#invalidate(keys);
    if (removed === null) {
      this.#judge(head);
      return;
    }
    this.#state = HELD;
    this.#fetch.pause();
    removed
      .catch((problem: unknown) => this.#event('error', 'invalidation-failed', { problem }))
      .then(() => {
        if (this.#state !== HELD) return;
        this.#judge(head);
        this.#fetch.resume();
      })
      .catch((problem: unknown) => {
        this.#event('error', 'response-failed', { problem });
        this.#fetch.fail(new OriginError('proxy_internal_error', 'This node could not work on the response'));
      });
  }

  onData(chunk: Buffer): void {
    const { first } = this.#order;
    if (first !== null) {
      if (this.#order.sources[this.#source].isNeighbour && !this.#hasRestFromOrigin)
        first.bytesFromNeighbours += chunk.length;
      else first.bytesFromOrigin += chunk.length;
    }
    const state = this.#state;
    if (state.at === 'storing') state.job.take(chunk);
    else if (state.at === 'streaming') {
      sendPiece(state.to, this.#fetch, chunk, this.#context.limits.clientStallMs);
    }
  }

  onEnd(): void {
    const state = this.#state;
    if (state.at === 'emptying') {
      this.#askPlainly();
      return;
    }
    const problem = state.at === 'storing' ? state.job.end() : null;
    if (problem !== null) {
      this.onError(problem);
      return;
    }
    if (state.at === 'streaming') endAnswer(state.to, this.#context.limits.clientStallMs);
    this.#state = OVER;
  }

  onError(error: OriginError): void {
    const state = this.#state;
    if (state.at === 'settled') return;
    if (state.at === 'emptying') {
      // The response was of no use anyway.
      this.#askPlainly();
      return;
    }
    if (state.at === 'asking' && this.#source + 1 < this.#order.sources.length) {
      this.#source++;
      // A source may fail before `ask` has returned, so the next one is asked afterwards.
      queueMicrotask(() => {
        if (this.#state === ASKING) this.#ask();
      });
      return;
    }
    this.#state = OVER;
    const failed = { kind: 'failed', error } as const;
    // The address was refused to the first waiter; other requests may arrive by a route on which it
    // is allowed.
    const forOthers = error.code === 'destination_ip_prohibited' ? PRIVATE : failed;
    this.#order.flight.land(forOthers, failed);
    this.#endFlight();
    if (state.at === 'storing') state.job.fail(error);
    else if (state.at === 'streaming') {
      state.to.reason = error.code;
      state.to.cut();
    }
  }

  /** RFC 9111, 3, 4.3.3, 4.3.4: the effect of a head on the store and on the waiting requests. */
  #judge(head: ResponseHead): void {
    const { clock, policy } = this.#context;
    const times: Times = { requestTime: this.#requestTime, responseTime: clock() };
    const mode = this.#mode;
    if (mode.kind === 'complete' && head.status === 416) {
      // The representation is shorter now, or lacks the requested bytes: fetch again, the whole.
      this.#fetchAgain(head);
      return;
    }
    if (mode.kind === 'validate') {
      if (head.status === 304) {
        this.#notModified(mode.stored, head, times);
        return;
      }
      const { decision } = this.#order;
      const stand = decision.kind === 'validate' && decision.errorFallback;
      if (isServerError(head.status) && (stand || this.#order.first === null)) {
        this.#state = SETTLED;
        this.#fetch.abort();
        this.#order.flight.land({ kind: 'failed', error: new StatusError(head.status) });
        this.#endFlight();
        return;
      }
      if (this.#asked.method === 'HEAD') this.#updateByHead(mode.stored, head, times);
    }
    let stored = storableResponse(this.#context, this.#order, this.#asked, this.#safe, head, times);
    if (typeof stored !== 'string' && this.#order.sources[this.#source]?.copies) stored = asPeerCopy(stored);
    if (mode.kind === 'complete' && head.status === 206) {
      const combination =
        typeof stored === 'string' ? null : combine(mode.stored, stored, this.#order.request, policy);
      if (combination === null) {
        // These are not the requested bytes: fetch again, the whole.
        this.#fetchAgain(head);
        return;
      }
      const { response, pieces } = combination;
      this.#keep(response, response, head).combine(mode.stored, pieces);
      return;
    }
    if (typeof stored !== 'string' && !suitsFirst(this.#context, this.#order.first, stored))
      stored = 'partial';
    if (typeof stored === 'string') {
      // 4.3.3: the new response replaces the stored one, even if it says that the resource is gone.
      if (mode.kind === 'validate' && this.#asked.method === 'GET' && isAboutTheResource(head.status)) {
        this.#watch(this.#context.store.remove(mode.stored));
      }
      this.#giveToFirst(head, stored);
      return;
    }
    const expected = expectedBodyLength(head);
    const provisional = expected === null ? stored : withBody(stored, expected);
    const fields = responseFieldsToForward(head.headers, policy);
    // RFC 9110, 8.6: no length with a 204.
    this.#keep(stored, provisional, head, head.status === 204 ? withoutFields(fields, FRAMING) : fields);
  }

  #notModified(stored: StoredResponse, head: ResponseHead, times: Times): void {
    const { store, policy } = this.#context;
    const fresh = freshen(stored, this.#asked, head, times, policy);
    if (fresh === null) {
      this.#fetchAgain(head);
      return;
    }
    this.#state = SETTLED;
    const { flight, first } = this.#order;
    const forAll = this.#forAll(stored, fresh, times);
    const shared = {
      response: forAll,
      body: null,
      validated: true,
      personal: isPersonal(this.#asked),
      fromNeighbour: false,
    } as const;
    const headers = ownersFields(fresh.headers, head.headers);
    const forFirst = headers === fresh.headers ? fresh : { ...fresh, headers };
    if (!mayKeep(fresh)) {
      // Only the first waiter gets this response. Its body is that of the old one, which is removed
      // when the first waiter has it.
      const own = { kind: 'stored', shared: { ...shared, response: forFirst, source: stored } } as const;
      flight.land(PRIVATE, { kind: 'own', own });
      this.#endFlight();
      if (first === null || first.over) this.#watch(store.remove(stored));
      else first.onLeave(() => this.#watch(store.remove(stored)));
      return;
    }
    const land = (kept: boolean): void => {
      const source = kept ? forAll : stored;
      const own = { kind: 'stored', shared: { ...shared, response: forFirst, source } } as const;
      flight.land({ kind: 'shared', shared: { ...shared, source } }, { kind: 'own', own });
      this.#endFlight();
    };
    const kept = store.refresh(stored, forAll);
    if (typeof kept === 'boolean') land(kept);
    else {
      kept
        .then(land, (problem: unknown) => {
          this.#event('error', 'store-failed', { problem });
          land(false);
        })
        .catch((problem: unknown) => this.#event('error', 'response-failed', { problem }));
    }
  }

  /**
   * The update as it may be shown to all clients. If it came for a request with a cookie, only the
   * fields about caching are used, unless the origin said that the response is for all clients.
   */
  #forAll(stored: StoredResponse, fresh: StoredResponse, times: Times): StoredResponse {
    if (!this.#safe.explicitOnly || explicitlyShareable(fresh, times, this.#context.policy)) return fresh;
    return { ...fresh, headers: cacheFieldsOnly(stored.headers, fresh.headers) };
  }

  /** Stores the response for all clients. `provisional` has the final length, if that is known. */
  #keep(final: StoredResponse, provisional: StoredResponse, head: ResponseHead, fields?: string[]): StoreJob {
    const { request, flight } = this.#order;
    const { flights } = this.#context;
    flights.markFertile(request.key);
    flights.learn(flight, namesOf(final.varied), variantText(final.varied));
    const job = new StoreJob(this.#context, {
      final,
      length: provisional.bodyLength < 0 ? undefined : provisional.bodyLength,
      expected: this.#asked.method === 'HEAD' ? null : expectedBodyLength(head),
      flight,
      fetch: this.#fetch,
    });
    this.#state = { at: 'storing', job };
    const shared = {
      response: provisional,
      source: provisional,
      body: job.body,
      validated: false,
      personal: isPersonal(this.#asked),
      fromNeighbour: this.#order.sources[this.#source]?.isNeighbour ?? false,
    };
    flight.land({ kind: 'shared', shared }, { kind: 'own', own: { kind: 'stored', shared, fields } });
    return job;
  }

  /** Streams the response to the first waiter, because no other client may have it. */
  #giveToFirst(head: ResponseHead, notStored: NotStored): void {
    const { flights } = this.#context;
    const { first, request, flight, decision } = this.#order;
    // A request that could not be shared (a condition, a range) says nothing about those that can.
    const couldShare = decision.kind === 'validate' || decision.shareable;
    if (request.method === 'GET' && couldShare && head.status < 500)
      flights.markBarren(request.key, !this.#order.sources[this.#source]?.isNeighbour);
    if (first === null || !flight.firstWaits) {
      this.#state = OVER;
      this.#fetch.abort();
    } else {
      this.#state = { at: 'streaming', to: first };
      first.onLeave(() => this.#fetch.abort());
    }
    flight.land(PRIVATE, { kind: 'own', own: { kind: 'stream', head, notStored } });
    this.#endFlight();
  }

  #endFlight(): void {
    this.#context.flights.end(this.#order.flight);
  }

  /**
   * Fetches again without conditions, because the response is of no use. It waits for the end of
   * this response, unless that would take long; then this response is aborted.
   */
  #fetchAgain(head: ResponseHead): void {
    const length = head.status === 304 ? 0 : (expectedBodyLength(head) ?? Number.POSITIVE_INFINITY);
    if (length <= WORTH_READING_BYTES) {
      this.#state = EMPTYING;
      return;
    }
    this.#fetch.abort();
    this.#askPlainly();
  }

  #askPlainly(): void {
    this.#mode = { kind: 'plain' };
    this.#ask();
  }

  #updateByHead(stored: StoredResponse, head: ResponseHead, times: Times): void {
    const fresh = freshenByHead(stored, this.#asked, head, times, this.#context.policy);
    if (fresh === null) return;
    const { store } = this.#context;
    this.#watch(
      mayKeep(fresh) ? store.refresh(stored, this.#forAll(stored, fresh, times)) : store.remove(stored),
    );
  }

  #invalidate(keys: readonly string[]): Promise<unknown> | null {
    const { store, flights } = this.#context;
    const pending: Promise<unknown>[] = [];
    for (const key of keys) {
      flights.doom(key, this.#order.flight);
      const removed = store.removeKey(key);
      if (typeof removed !== 'number') pending.push(removed);
    }
    return pending.length === 0 ? null : Promise.all(pending);
  }

  /** Reports the failure of a promise of the store that no code awaits. */
  #watch(promise: Promise<unknown> | unknown): void {
    if (promise instanceof Promise) {
      promise.catch((problem: unknown) => this.#event('error', 'store-failed', { problem }));
    }
  }

  #event(level: 'warn' | 'error', name: string, fields: Record<string, unknown>): void {
    this.#context.observer.event(level, name, { key: this.#order.request.key, ...fields });
  }
}

/**
 * Whether a status describes the resource and not a temporary condition: 408, 425 and 429 ask the
 * client to retry, as 5xx does.
 */
function isAboutTheResource(status: number): boolean {
  return status < 500 && status !== 408 && status !== 425 && status !== 429;
}

/** Aborting costs a new connection, so up to this length the rest is read. */
const WORTH_READING_BYTES = 65_536;
/** Before the first source has been asked, there is nothing to end or to hold back. */
const NOT_ASKED: SourceFetch = { abort() {}, fail() {}, pause() {}, resume() {} };
const PRIVATE = { kind: 'private' } as const;
const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length']);
