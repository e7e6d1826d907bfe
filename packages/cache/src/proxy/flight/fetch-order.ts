/**
 * The commission for a fetch, which `request-flow.ts` writes and `fetch-job.ts` carries out: what
 * it must bring, from which sources, for which request, and why.
 */

import { fieldValue } from '../../policy/fields.ts';
import type { Sender } from '../../policy/forwarding.ts';
import { completionFields, type Decision, type RequestHead } from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { Exchange } from '../client/exchange.ts';
import type { RequestBody } from '../client/request-body.ts';
import type { ResponseSource } from '../response-source.ts';
import type { Route } from '../route.ts';
import type { ProxyFlight } from './shared-response.ts';

/** Decisions of the policy that lead to the origin. */
export type FetchDecision = Extract<Decision, { kind: 'fetch' | 'validate' }>;

/**
 * The origin answered a validation with an error for which a stored response may be served instead.
 */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: number;

  constructor(status: number) {
    super(`Cannot validate the stored response: the origin answered ${status}`);
    this.status = status;
  }
}

export interface FetchOrder {
  readonly request: RequestHead;
  readonly route: Route;
  /** The sources to ask, in this order (`response-source.ts`). At least one. */
  readonly sources: readonly ResponseSource[];
  readonly decision: FetchDecision;
  /**
   * The request that caused the fetch, which is the flight's first waiter. Null for a background
   * revalidation.
   */
  readonly first: Exchange | null;
  /**
   * The flight through which it and other requests wait, and through which invalidations reach this
   * fetch. It may be one that no other request can join.
   */
  readonly flight: ProxyFlight;
  readonly body: RequestBody | null;
  readonly bodyLength?: number | undefined;
}

/**
 * The question to the origin: for the whole, whether the stored response is still valid, or for the
 * missing bytes.
 */
export type Mode =
  | { readonly kind: 'plain' }
  | { readonly kind: 'validate'; readonly stored: StoredResponse }
  | { readonly kind: 'complete'; readonly stored: StoredResponse; readonly fields: string[] };

export function modeOf({ request, decision }: FetchOrder): Mode {
  if (decision.kind === 'validate') return { kind: 'validate', stored: decision.response };
  if (decision.partial === undefined) return { kind: 'plain' };
  const fields = completionFields(request, decision.partial);
  return fields === null ? { kind: 'plain' } : { kind: 'complete', stored: decision.partial, fields };
}

/**
 * The client that caused the fetch, for fields that tell an origin of the operator about it. Other
 * origins are not told. A background revalidation has none. Host and scheme come from a trusted
 * proxy, if there is one: the guard has removed such fields of other clients, and has noted TLS.
 */
export function senderOf({ first, route, request }: FetchOrder): Sender | undefined {
  if (first === null || !route.trusted) return undefined;
  if (request.method === 'GET' || request.method === 'HEAD') return { address: first.client };
  return {
    address: first.client,
    scheme: fieldValue(request.headers, 'x-forwarded-proto') === 'https' ? 'https' : 'http',
    host: fieldValue(request.headers, 'x-forwarded-host') ?? fieldValue(request.headers, 'host'),
  };
}
