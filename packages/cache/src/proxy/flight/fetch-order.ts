/**
 * What a fetch from an origin is to bring, for whom, and why: the order that `fetch-job.ts` carries out.
 */

import { completionFields, type Decision, type RequestHead } from '../../policy/index.ts';
import type { StoredResponse } from '../../policy/stored-response.ts';
import type { Exchange } from '../client/exchange.ts';
import type { RequestBody } from '../client/request-body.ts';
import type { Route } from '../route.ts';
import type { Flight, Landing } from './flight.ts';
import type { SharedResponse } from './shared-response.ts';

/** Decisions of the policy that lead to the origin. */
export type Fetched = Extract<Decision, { kind: 'fetch' | 'validate' }>;

/** The origin answered a validation with an error for which something stored may stand in. */
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
  readonly decision: Fetched;
  readonly owner: Exchange | null;
  /**
   * Tells the owner, before all others; not of a response that is streamed to it. `fields`: as the origin sent them, of a new response: the owner gets
   * also those that may not be stored (RFC 9111, 5.2.2.4 and 5.2.2.7: `no-cache="…"`, `private="…"`).
   */
  readonly own: (landing: Landing<SharedResponse>, fields?: string[]) => void;
  /** Where others wait for it, and where an invalidation finds it; one that nobody can join is as good. */
  readonly flight: Flight<SharedResponse>;
  readonly body: RequestBody | null;
  readonly bodyLength?: number | undefined;
  /** Nobody can join it any more: it is complete, or came to nothing. */
  readonly over?: () => void;
}

/** What is asked of the origin: all, whether what is stored still holds, or the bytes that are missing. */
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
