/**
 * One fetch from an origin on behalf of the cache, and the handling of the response. It is stored
 * and shared, or it is only for the request that caused the fetch, or it confirms a stored response
 * (304), or it completes a part, or the fetch fails.
 *
 * The *owner* is the request that caused the fetch; a background revalidation has none. A response
 * that may be stored goes into the store, and the owner reads it from there like all other clients.
 * A slow owner therefore delays no other client, and an owner that disconnects does not end the
 * fetch. A response that may not be stored is streamed to the owner piece by piece; if the owner
 * disconnects, the fetch is aborted. Only the owner gets the fields of a 304 that are not stored,
 * above all Set-Cookie.
 *
 * Unsafe methods: responses that are invalidated (RFC 9111, 4.4) are removed before the owner sees
 * the head, because it may ask again at once.
 */

import {
  cacheFieldsOnly,
  combine,
  expectedBodyLength,
  freshen,
  freshenByHead,
  isServerError,
  keysToInvalidate,
  mayKeep,
  ownersFields,
  type RequestHead,
  type ResponseHead,
  requestFieldsToForward,
  responseFieldsToForward,
  type Times,
  validationFields,
  withBody,
  withoutFields,
} from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import { explicitlyShareable, type SafeFields, safeguardFields } from '../../safety/unkeyed-fields.ts';
import { beginStream, endAnswer, sendPiece } from '../client/body-sender.ts';
import { OriginError } from '../origin/origin-error.ts';
import type { SourceFetch, SourceHandler } from '../response-source.ts';
import { mapFields } from '../route.ts';
import { type FetchOrder, type Mode, modeOf, StatusError } from './fetch-order.ts';
import type { Landing } from './flight.ts';
import { isPersonal, type ProxyContext, type SharedResponse } from './shared-response.ts';
import { storableResponse, suitsOwner } from './storable-response.ts';
import { StoreJob } from './store-job.ts';

export class FetchJob implements SourceHandler {
  readonly #context: ProxyContext;
  readonly #order: FetchOrder;
  #mode: Mode;
  #fetch!: SourceFetch;
  /**
   * The request as the policy sees it: the client's fields, with the conditions and ranges of this
   * node.
   */
  #asked!: RequestHead;
  #safe!: SafeFields;
  #requestTime = 0;
  /** Index of the source that is being asked. */
  #source = 0;
  /** Where the body goes. */
  #sink: 'none' | 'owner' | 'store' | 'skip' = 'none';
  #storeJob: StoreJob | null = null;
  #again = false;
  #left = false;
  #failed = false;

  constructor(context: ProxyContext, order: FetchOrder) {
    this.#context = context;
    this.#order = order;
    this.#mode = modeOf(order);
  }

  start(): void {
    const { request, sources, body, bodyLength } = this.#order;
    const { policy, clock } = this.#context;
    const mode = this.#mode;
    const headers =
      mode.kind === 'validate'
        ? validationFields(request, mode.stored)
        : mode.kind === 'complete'
          ? mode.fields
          : request.headers;
    // A fetch that starts again forgets the response before it.
    this.#sink = 'none';
    this.#asked = { method: request.method, key: request.key, headers };
    this.#safe = safeguardFields(headers, request.method);
    this.#requestTime = clock();
    this.#fetch = sources[this.#source]!.ask(
      {
        method: request.method,
        headers: withoutFields(requestFieldsToForward(this.#safe.headers, policy), FRAMING),
        body,
        bodyLength,
      },
      this,
    );
  }

  /**
   * Called when the owner has left and no other request waits. Ends the fetch, unless the response
   * is being stored.
   */
  abandon(): void {
    if (this.#order.flight.landing !== null) return;
    this.#failed = true;
    this.#fetch.abort();
    this.#leaveTable();
  }

  onSent(): void {
    this.#requestTime = this.#context.clock();
    this.#order.flight.markSent();
  }

  onInterim(status: number, statusText: string, headers: string[]): void {
    const { owner, route } = this.#order;
    owner?.sendInterim(
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
    this.#fetch.pause();
    removed
      .catch((problem: unknown) => this.#event('error', 'invalidation-failed', { problem }))
      .then(() => {
        if (this.#failed) return;
        this.#judge(head);
        this.#fetch.resume();
      })
      .catch((problem: unknown) => {
        this.#event('error', 'response-failed', { problem });
        this.#fetch.fail(new OriginError('proxy_internal_error', 'This node could not work on the response'));
      });
  }

  onData(chunk: Buffer): void {
    const { owner } = this.#order;
    if (owner !== null) owner.bytesFromOrigin += chunk.length;
    if (this.#sink === 'store') {
      this.#storeJob!.take(chunk);
    } else if (this.#sink === 'owner') {
      sendPiece(owner!, this.#fetch, chunk, this.#context.limits.clientStallMs);
    }
  }

  onEnd(): void {
    if (this.#again) {
      this.#again = false;
      this.#mode = { kind: 'plain' };
      this.start();
    } else if (this.#sink === 'owner') {
      endAnswer(this.#order.owner!, this.#context.limits.clientStallMs);
    } else if (this.#sink === 'store') {
      const problem = this.#storeJob!.end();
      if (problem !== null) this.onError(problem);
    }
  }

  onError(error: OriginError): void {
    // The result of the head stands, and the owner is told when the store has accepted it.
    if (this.#sink === 'skip' && !this.#again) return;
    if (this.#sink === 'none' && this.#source + 1 < this.#order.sources.length && !this.#failed) {
      // A source may fail before `ask` has returned, so the next one is asked afterwards.
      this.#source++;
      queueMicrotask(() => {
        if (!this.#failed) this.start();
      });
      return;
    }
    this.#failed = true;
    const { flight, owner } = this.#order;
    this.#leaveTable();
    if (flight.landing === null) {
      this.#order.own({ kind: 'failed', error });
      // The address was refused to this owner; other requests may arrive by a route on which it is
      // allowed.
      flight.land(
        error.code === 'destination_ip_prohibited' ? { kind: 'private' } : { kind: 'failed', error },
      );
    }
    if (this.#sink === 'store') {
      this.#storeJob!.fail(error);
    } else if (this.#sink === 'owner' && owner !== null) {
      owner.reason = error.code;
      owner.cut();
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
      if (isServerError(head.status) && (stand || this.#order.owner === null)) {
        this.#fetch.abort();
        this.#leaveTable();
        this.#land({ kind: 'failed', error: new StatusError(head.status) });
        return;
      }
      if (this.#asked.method === 'HEAD') this.#updateByHead(mode.stored, head, times);
    }
    let stored = storableResponse(this.#context, this.#order, this.#asked, this.#safe, head, times);
    if (mode.kind === 'complete' && head.status === 206) {
      const combination = stored === null ? null : combine(mode.stored, stored, this.#order.request, policy);
      if (combination === null) {
        // These are not the requested bytes: fetch again, the whole.
        this.#fetchAgain(head);
        return;
      }
      const { response, pieces } = combination;
      this.#keep(response, response, head).combine(mode.stored, pieces);
      return;
    }
    if (stored !== null && !suitsOwner(this.#context, this.#order.owner, stored)) stored = null;
    if (stored === null) {
      // 4.3.3: the new response replaces the stored one, even if it says that the resource is gone.
      if (mode.kind === 'validate' && this.#asked.method === 'GET' && isAboutTheResource(head.status)) {
        this.#watch(this.#context.store.remove(mode.stored));
      }
      this.#giveToOwner(head);
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
    this.#sink = 'skip';
    const { flight, owner, own } = this.#order;
    const forAll = this.#forAll(stored, fresh, times);
    const shared = {
      response: forAll,
      body: null,
      validated: true,
      personal: isPersonal(this.#asked),
    } as const;
    const headers = ownersFields(fresh.headers, head.headers);
    const owners = headers === fresh.headers ? fresh : { ...fresh, headers };
    if (!mayKeep(fresh)) {
      // Only the owner gets this response. Its body is that of the old one, which is removed when
      // the owner has it.
      this.#leaveTable();
      flight.land({ kind: 'private' });
      own({ kind: 'shared', shared: { ...shared, response: owners, source: stored } });
      if (owner === null || owner.over) this.#watch(store.remove(stored));
      else owner.onLeave(() => this.#watch(store.remove(stored)));
      return;
    }
    const land = (kept: boolean): void => {
      const source = kept ? forAll : stored;
      own({ kind: 'shared', shared: { ...shared, response: owners, source } });
      flight.land({ kind: 'shared', shared: { ...shared, source } });
      this.#leaveTable();
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
    this.#context.flights.markFertile(request.key);
    this.#sink = 'store';
    const job = new StoreJob(this.#context, {
      final,
      length: provisional.bodyLength < 0 ? undefined : provisional.bodyLength,
      expected: this.#asked.method === 'HEAD' ? null : expectedBodyLength(head),
      flight,
      fetch: this.#fetch,
      over: () => this.#leaveTable(),
    });
    this.#storeJob = job;
    const shared = {
      response: provisional,
      source: provisional,
      body: job.body,
      validated: false,
      personal: isPersonal(this.#asked),
    };
    this.#land({ kind: 'shared', shared }, fields);
    return job;
  }

  /** Streams the response to the owner, because no other client may have it. */
  #giveToOwner(head: ResponseHead): void {
    const { policy, flights } = this.#context;
    const { owner, request, flight, decision } = this.#order;
    if (request.method === 'GET' && decision.reason !== 'bypass' && head.status < 500) {
      flights.markBarren(request.key);
    }
    this.#leaveTable();
    flight.land({ kind: 'private' });
    if (owner === null || owner.over) {
      this.#fetch.abort();
      return;
    }
    this.#sink = 'owner';
    owner.onLeave(() => this.#fetch.abort());
    beginStream(owner, head, decision, policy);
  }

  #leaveTable(): void {
    this.#context.flights.end(this.#order.flight);
    if (this.#left) return;
    this.#left = true;
    this.#order.over?.();
  }

  #land(landing: Landing<SharedResponse>, fields?: string[]): void {
    this.#order.own(landing, fields);
    this.#order.flight.land(landing);
  }

  /**
   * Fetches again without conditions, because the response is of no use. It waits for the end of
   * this response, unless that would take long; then this response is aborted.
   */
  #fetchAgain(head: ResponseHead): void {
    this.#sink = 'skip';
    const length = head.status === 304 ? 0 : (expectedBodyLength(head) ?? Number.POSITIVE_INFINITY);
    if (length <= WORTH_READING_BYTES) {
      this.#again = true;
      return;
    }
    this.#fetch.abort();
    this.#mode = { kind: 'plain' };
    this.start();
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
const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length']);
