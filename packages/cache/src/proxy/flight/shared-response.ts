/**
 * A response that may be given to other clients than the one that asked for it, either complete in
 * the store or being stored. The parts of the proxy pass it to each other. This file also holds the
 * context that all of them need.
 */

import { fieldValue } from '../../policy/fields.ts';
import type { RequestHead, ResponseHead } from '../../policy/message-head.ts';
import type { NotStored } from '../../policy/not-stored.ts';
import type { PolicyOptions } from '../../policy/policy-options.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { Limits } from '../../safety/limits.ts';
import type { ResponseStore } from '../../store/response-store.ts';
import type { DigestBook } from '../digests/digest-book.ts';
import type { OriginClient } from '../origin/origin-client.ts';
import type { ProxyObserver } from '../proxy-observer.ts';
import type { ProxyOptions, SourcesBeforeOrigin } from '../proxy-options.ts';
import type { Flight, Landing } from './flight.ts';
import type { FlightBody } from './flight-body.ts';
import type { Flights } from './flights.ts';

export interface SharedResponse {
  /** The head; the length of the body is known as soon as the origin stated it. */
  readonly response: StoredResponse;
  /** The response under which the store has the body, if `body` is null. */
  readonly source: StoredResponse;
  /** The body that is being fetched, or null if it is complete in the store. */
  readonly body: FlightBody | null;
  /** The origin answered a validation of it with 304. */
  readonly validated: boolean;
  /** The request had credentials or cookies, so the validation holds for that client alone. */
  readonly personal: boolean;
  /** The response came from a neighbour. */
  readonly fromNeighbour: boolean;
}

/** The answer for the request that caused the fetch, if it differs from that for all others. */
type FirstAnswer =
  /** The response from the store. */
  | {
      readonly kind: 'stored';
      readonly shared: SharedResponse;
      /**
       * The fields as the origin sent them, because this client also gets those that may not be
       * stored (RFC 9111, 5.2.2.4 and 5.2.2.7: `no-cache="…"`, `private="…"`).
       */
      readonly fields?: string[] | undefined;
    }
  /** The head of a response that is not stored. The fetch sends the body after it. */
  | { readonly kind: 'stream'; readonly head: ResponseHead; readonly notStored: NotStored };

export type ProxyFlight = Flight<SharedResponse, FirstAnswer>;
export type ProxyFlights = Flights<SharedResponse, FirstAnswer>;
export type ProxyLanding = Landing<SharedResponse, FirstAnswer>;

/** Whether the answer to a request may depend on who asks. */
export function isPersonal({ headers }: RequestHead): boolean {
  return fieldValue(headers, 'authorization') !== undefined || fieldValue(headers, 'cookie') !== undefined;
}

/** The objects that every part of the proxy works with. */
export interface ProxyContext {
  readonly policy: PolicyOptions;
  readonly store: ResponseStore;
  readonly clock: () => number;
  readonly timers: ProxyOptions['timers'];
  readonly limits: Limits;
  readonly observer: ProxyObserver;
  readonly origins: OriginClient;
  readonly sourcesBeforeOrigin: SourcesBeforeOrigin | undefined;
  /** The digests that bodies must have, or null if bodies are not checked. */
  readonly digests: DigestBook | null;
  readonly flights: ProxyFlights;
}
