/**
 * A response as the cache keeps it: the head, what the policy worked out of it once, and the length of its body. The policy
 * makes it (`policy/storing.ts`), stores keep it beside its body, the proxy answers from it. It is plain data that survives
 * JSON: a store writes it to disk and reads it back after a restart. It is never changed; a validated response is a new one.
 *
 * Times are milliseconds since 1970 by this node's clock. Header fields are flat lists as Node's `rawHeaders`: name, value,
 * name, value, in the order in which they came and in the case in which they came.
 */

export type FieldList = readonly string[];

export interface StoredResponse {
  /** The primary key: the effective request URI without its fragment, as `policy/cache-key.ts` makes it. */
  readonly key: string;
  readonly status: number;
  readonly statusText: string;
  /** Fields of the response that are kept and sent again: no hop-by-hop fields, no `Age`. */
  readonly headers: FieldList;
  /** The secondary key: for each field named by Vary (lower case, sorted) its normalised value in the request, or null. */
  readonly varied: readonly (readonly [name: string, value: string | null])[];
  /** When the request was sent and when the head of the response came. */
  readonly requestTime: number;
  readonly responseTime: number;
  /** The age when it came, in ms (RFC 9111, 4.2.3: corrected_initial_age). */
  readonly initialAgeMs: number;
  /** How long it is fresh, counted in ages (4.2.1). */
  readonly lifetimeMs: number;
  /** Of which the policy made decisions; see `policy/freshness.ts`. */
  readonly flags: number;
  /** Windows of RFC 5861; 0: none. */
  readonly staleWhileRevalidateMs: number;
  readonly staleIfErrorMs: number;
  readonly etag: string | null;
  /** Of Last-Modified, if it can be read. */
  readonly lastModified: number | null;
  /** Bytes that are here: all of them, or those of `range`. */
  readonly bodyLength: number;
  /** Partial content: which bytes of how many; null: the whole body is here. */
  readonly range: { readonly start: number; readonly total: number } | null;
}
