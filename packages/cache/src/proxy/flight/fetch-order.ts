/**
 * The order for a fetch from an origin, which `fetch-job.ts` carries out: what it must bring, for
 * which request, and why.
 */

import { completionFields, type Decision, type RequestHead } from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { Exchange } from '../client/exchange.ts';
import type { RequestBody } from '../client/request-body.ts';
import type { ResponseSource } from '../response-source.ts';
import type { Route } from '../route.ts';
import type { Flight, Landing } from './flight.ts';
import type { SharedResponse } from './shared-response.ts';

/** Decisions of the policy that lead to the origin. */
export type Fetched = Extract<Decision, { kind: 'fetch' | 'validate' }>;

/**
 * The origin answered a validation with an error for which a stored response may be served instead.
 */
export class StatusError extends Error {
  override readonly name = 'StatusError';
  readonly status: number;

  constructor(status: number) {
    super(`The origin answered ${status}`);
    this.status = status;
  }
}

export interface FetchOrder {
  readonly request: RequestHead;
  readonly route: Route;
  /** The plan: sources to ask, in this order (`response-source.ts`). At least one. */
  readonly sources: readonly ResponseSource[];
  readonly decision: Fetched;
  readonly owner: Exchange | null;
  /**
   * Tells the owner the result, before all other requests; not called for a response that is
   * streamed to it. `fields` are the fields of a new response as the origin sent them, because the
   * owner also gets those that may not be stored (RFC 9111, 5.2.2.4 and 5.2.2.7: `no-cache="…"`,
   * `private="…"`).
   */
  readonly own: (landing: Landing<SharedResponse>, fields?: string[]) => void;
  /**
   * The flight through which other requests wait and invalidations reach this fetch. It may be one
   * that no other request can join.
   */
  readonly flight: Flight<SharedResponse>;
  readonly body: RequestBody | null;
  readonly bodyLength?: number | undefined;
  /** Called when no request can join any more: the fetch is complete, or it failed. */
  readonly over?: () => void;
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
