/**
 * A response that may be given to more than the one who asked for it: complete in the store, or on its way into it. What the parts of the proxy
 * hand to each other, and what they all need.
 */

import { fieldValue } from '../../policy/fields.ts';
import type { RequestHead } from '../../policy/message-head.ts';
import type { PolicyOptions } from '../../policy/policy-options.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { Limits } from '../../safety/limits.ts';
import type { ResponseStore } from '../../store/response-store.ts';
import type { OriginClient } from '../origin/origin-client.ts';
import type { ProxyObserver } from '../proxy-observer.ts';
import type { Flights } from './flight.ts';
import type { FlightBody } from './flight-body.ts';

export interface SharedResponse {
  /** The head; the length of the body is known as soon as the origin told it. */
  readonly response: StoredResponse;
  /** Under which the store has the body, when `body` is null. */
  readonly source: StoredResponse;
  /** On its way; null: complete, in the store. */
  readonly body: FlightBody | null;
  /** The origin said 304 of it. */
  readonly validated: boolean;
  /** It was asked for with credentials or cookies: what it says of being validated is true for that client alone. */
  readonly personal: boolean;
}

/** Whether the answer to a request may depend on who asks. */
export function isPersonal({ headers }: RequestHead): boolean {
  return fieldValue(headers, 'authorization') !== undefined || fieldValue(headers, 'cookie') !== undefined;
}

/** What every part of the proxy works with. */
export interface ProxyContext {
  readonly policy: PolicyOptions;
  readonly store: ResponseStore;
  readonly clock: () => number;
  readonly limits: Limits;
  readonly observer: ProxyObserver;
  readonly origins: OriginClient;
  readonly flights: Flights<SharedResponse>;
}
