/**
 * One fetch from an origin on behalf of the cache, and what becomes of the response: it is stored and shared, or it belongs to the one who
 * asked, or a stored response is found to hold still (304), or a part is completed, or it fails.
 *
 * The *owner* is the request that set it off; a revalidation in the background has none. A response that may be stored goes into
 * the store and the owner reads it from there like everybody else, so that a slow owner holds up nobody and one that leaves ends nothing.
 * A response that may not is streamed to the owner piece by piece; if it leaves, the fetch is aborted. Of a 304 the owner alone gets the
 * fields that are not stored, Set-Cookie above all.
 *
 * Unsafe methods: what the response invalidates (RFC 9111, 4.4) is removed before the owner sees its head: it may ask again at once.
 */

import {
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
} from '../policy/index.ts';
import { type SafeFields, safeguardFields } from '../safety/unkeyed-fields.ts';
import type { StoredResponse } from '../stored-response.ts';
import { beginStream, endAnswer, sendPiece } from './body-sender.ts';
import { type FetchOrder, type Mode, modeOf, StatusFailure } from './fetch-order.ts';
import type { Landing } from './flight.ts';
import { copyInto, FlightBody } from './flight-body.ts';
import { OriginError } from './origin-error.ts';
import type { OriginFetch, OriginHandler } from './origin-fetch.ts';
import { mapFields } from './route.ts';
import { isPersonal, type ProxyContext, type SharedResponse } from './shared-response.ts';
import { storable, suitsOwner } from './storable.ts';

export class Fetching implements OriginHandler {
  readonly #context: ProxyContext;
  readonly #order: FetchOrder;
  #mode: Mode;
  #fetch!: OriginFetch;
  /** What the policy is told was asked for: the client's fields, with conditions and ranges of this node's. */
  #asked!: RequestHead;
  #safe!: SafeFields;
  #requestTime = 0;
  /** What to do with the body. */
  #sink: 'none' | 'owner' | 'store' | 'skip' = 'none';
  #body: FlightBody | null = null;
  #final: StoredResponse | null = null;
  /** Bytes of the body that must come, if the head says so, and that came. */
  #expected: number | null = null;
  #came = 0;
  /** Bytes of an old part that follow the new ones. */
  #after: { readonly stored: StoredResponse; readonly start: number; readonly end: number } | null = null;
  #again = false;
  #left = false;
  #failed = false;

  constructor(context: ProxyContext, order: FetchOrder) {
    this.#context = context;
    this.#order = order;
    this.#mode = modeOf(order);
  }

  start(): void {
    const { request, route, body, bodyLength } = this.#order;
    const { policy, origins, clock } = this.#context;
    const mode = this.#mode;
    const headers =
      mode.kind === 'validate'
        ? validationFields(request, mode.stored)
        : mode.kind === 'complete'
          ? mode.fields
          : request.headers;
    this.#asked = { method: request.method, key: request.key, headers };
    this.#safe = safeguardFields(headers, request.method);
    this.#requestTime = clock();
    const { origin, trusted, path, host } = route;
    this.#fetch = origins.fetch(
      {
        origin,
        trusted,
        method: request.method,
        path,
        host,
        headers: withoutFields(requestFieldsToForward(this.#safe.headers, policy), FRAMING),
        body,
        bodyLength,
      },
      this,
    );
  }

  /** The owner has left, and nobody else waits: ends it, unless what comes is being stored. */
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
      mapFields(responseFieldsToForward(headers, this.#context.policy), route),
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
    this.#came += chunk.length;
    if (this.#sink === 'store') {
      // Content-Range may say how long it is where Content-Length does not, and nobody else counts.
      if (this.#expected !== null && this.#came > this.#expected) {
        const problem = `Expected ${this.#expected} bytes by Content-Range, got more`;
        this.#fetch.fail(new OriginError('http_protocol_error', problem));
        return;
      }
      const wait = this.#body!.write(chunk);
      if (wait === undefined) return;
      this.#fetch.pause();
      wait.then(() => this.#fetch.resume());
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
      if (this.#expected !== null && this.#came < this.#expected) {
        const problem = `Expected ${this.#expected} bytes, got ${this.#came}`;
        this.onError(new OriginError('http_response_incomplete', problem));
        return;
      }
      if (this.#after === null) this.#commit();
      else this.#append(this.#after, () => this.#commit());
    }
  }

  onError(error: OriginError): void {
    this.#failed = true;
    const { flight, owner } = this.#order;
    this.#leaveTable();
    if (flight.landing === null) this.#land({ kind: 'failed', error });
    if (this.#sink === 'store') {
      this.#body!.fail(error);
    } else if (this.#sink === 'owner' && owner !== null) {
      owner.reason = error.code;
      owner.cut();
    }
  }

  /** RFC 9111, 3, 4.3.3, 4.3.4: what a head means for the store and for those who wait. */
  #judge(head: ResponseHead): void {
    const { clock, policy } = this.#context;
    const times: Times = { requestTime: this.#requestTime, responseTime: clock() };
    const mode = this.#mode;
    this.#expected = this.#asked.method === 'HEAD' ? null : expectedBodyLength(head);
    this.#came = 0;
    if (mode.kind === 'complete' && head.status === 416) {
      // It is shorter now, or what was asked for is not there: once more, for all of it.
      this.#fetchAgain();
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
        this.#land({ kind: 'failed', error: new StatusFailure(head.status) });
        return;
      }
      if (this.#asked.method === 'HEAD') this.#updateByHead(mode.stored, head, times);
    }
    let stored = storable(this.#context, this.#order, this.#asked, this.#safe, head, times);
    if (mode.kind === 'complete' && head.status === 206) {
      const combination = stored === null ? null : combine(mode.stored, stored, this.#order.request, policy);
      if (combination === null) {
        // Not the bytes that were asked for: once more, for all of it.
        this.#fetchAgain();
        return;
      }
      this.#combine(mode.stored, combination.response, combination.pieces);
      return;
    }
    if (stored !== null && !suitsOwner(this.#context, this.#order.owner, stored)) stored = null;
    if (stored === null) {
      if (mode.kind === 'validate' && head.status === 200 && this.#asked.method === 'GET') {
        // 4.3.3: the new response is the right one; what is stored is not any more.
        this.#watch(this.#context.store.remove(mode.stored));
      }
      this.#giveToOwner(head);
      return;
    }
    const expected = expectedBodyLength(head);
    const fields = responseFieldsToForward(head.headers, policy);
    this.#store(
      stored,
      expected === null ? stored : withBody(stored, expected),
      expected ?? undefined,
      fields,
    );
  }

  #notModified(stored: StoredResponse, head: ResponseHead, times: Times): void {
    const { store, policy } = this.#context;
    const fresh = freshen(stored, this.#asked, head, times, policy);
    if (fresh === null) {
      this.#fetchAgain();
      return;
    }
    this.#sink = 'skip';
    const { flight, owner, own } = this.#order;
    const shared = {
      response: fresh,
      body: null,
      validated: true,
      personal: isPersonal(this.#asked),
    } as const;
    const headers = ownersFields(fresh.headers, head.headers);
    const owners = headers === fresh.headers ? fresh : { ...fresh, headers };
    if (!mayKeep(fresh)) {
      // It is for the owner and nobody else; the body is the old one's, which goes when the owner has it.
      this.#leaveTable();
      flight.land({ kind: 'private' });
      own({ kind: 'shared', shared: { ...shared, response: owners, source: stored } });
      if (owner === null || owner.over) this.#watch(store.remove(stored));
      else owner.onLeave(() => this.#watch(store.remove(stored)));
      return;
    }
    const land = (kept: boolean): void => {
      const source = kept ? fresh : stored;
      own({ kind: 'shared', shared: { ...shared, response: owners, source } });
      flight.land({ kind: 'shared', shared: { ...shared, source } });
      this.#leaveTable();
    };
    const kept = store.refresh(stored, fresh);
    if (typeof kept === 'boolean') land(kept);
    else {
      kept.then(land, (problem: unknown) => {
        this.#event('error', 'store-failed', { problem });
        land(false);
      });
    }
  }

  /** Into the store, for all. `provisional`: with the length that the origin told. */
  #store(
    stored: StoredResponse,
    provisional: StoredResponse,
    expected: number | undefined,
    fields?: string[],
  ): void {
    const { store, limits, flights } = this.#context;
    const { request } = this.#order;
    flights.markFertile(request.key);
    this.#sink = 'store';
    this.#final = stored;
    const abandoned = (): void => {
      this.#fetch.abort();
      this.#leaveTable();
    };
    // A client that holds up others has less time than one that holds up none: of two minutes, ten seconds.
    const holdMs = Math.ceil(limits.clientStallMs / 12);
    const body = new FlightBody(
      store.create(request.key, expected),
      limits.storedObjectBytes,
      abandoned,
      holdMs,
    );
    this.#body = body;
    const shared = {
      response: provisional,
      source: provisional,
      body,
      validated: false,
      personal: isPersonal(this.#asked),
    };
    this.#land({ kind: 'shared', shared }, fields);
  }

  /** Two parts make a larger one: the old one's bytes are copied before or after those that come. */
  #combine(
    old: StoredResponse,
    response: StoredResponse,
    pieces: readonly { readonly from: 'old' | 'new'; readonly start: number; readonly end: number }[],
  ): void {
    this.#store(response, response, response.bodyLength);
    const first = pieces[0]!;
    const last = pieces.at(-1)!;
    if (last.from === 'old') this.#after = { stored: old, start: last.start, end: last.end };
    if (first.from === 'old') {
      this.#fetch.pause();
      this.#append({ stored: old, start: first.start, end: first.end }, () => this.#fetch.resume());
    }
  }

  #append(part: { stored: StoredResponse; start: number; end: number }, done: () => void): void {
    const body = this.#body!;
    const reader = this.#context.store.read(part.stored, part.start, part.end);
    copyInto(body, reader)
      .then(done)
      .catch((problem: unknown) => {
        this.#event('warn', 'stored-body-failed', { problem });
        this.#watch(this.#context.store.remove(part.stored));
        this.#fetch.abort();
        body.fail(problem instanceof Error ? problem : new Error(String(problem)));
        this.#leaveTable();
      })
      .finally(() => reader.close());
  }

  #commit(): void {
    const { flight } = this.#order;
    const body = this.#body!;
    const ended = (): void => this.#leaveTable();
    if (flight.doomed) body.discard();
    try {
      const kept = body.end(withBody(this.#final!, body.length));
      if (typeof kept === 'boolean') ended();
      else {
        kept.then(ended, (problem: unknown) => {
          this.#event('error', 'store-failed', { problem });
          ended();
        });
      }
    } catch (problem) {
      this.#event('error', 'store-failed', { problem });
      ended();
    }
  }

  /** Straight through: nobody else may have it. */
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

  /** What came is of no use: the same without conditions, when this response is over. */
  #fetchAgain(): void {
    this.#sink = 'skip';
    this.#again = true;
  }

  #updateByHead(stored: StoredResponse, head: ResponseHead, times: Times): void {
    const fresh = freshenByHead(stored, this.#asked, head, times, this.#context.policy);
    if (fresh === null) return;
    const { store } = this.#context;
    this.#watch(mayKeep(fresh) ? store.refresh(stored, fresh) : store.remove(stored));
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

  /** A promise of the store's that nobody waits for. */
  #watch(promise: Promise<unknown> | unknown): void {
    if (promise instanceof Promise) {
      promise.catch((problem: unknown) => this.#event('error', 'store-failed', { problem }));
    }
  }

  #event(level: 'warn' | 'error', name: string, fields: Record<string, unknown>): void {
    this.#context.observer.event(level, name, { key: this.#order.request.key, ...fields });
  }
}

const FRAMING: ReadonlySet<string> = new Set(['host', 'content-length']);
