/** The heads of a request and of a response as the policy sees them: plain data, read-only. */

import type { FieldList } from './stored-response.ts';

/** The head of a request as the policy sees it. */
export interface RequestHead {
  readonly method: string;
  /** The cache key, as built by `policy/cache-key.ts`. */
  readonly key: string;
  readonly headers: FieldList;
}

export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: FieldList;
}
