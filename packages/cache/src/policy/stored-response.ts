/**
 * A response as the cache stores it: the head, the values that the policy derived from it once, and
 * the length of its body. The policy creates it (`policy/storing.ts`), stores keep it together with
 * its body, and the proxy answers from it. It is plain data that survives JSON, because a store
 * writes it to disk and reads it back after a restart. It is immutable: validating a response
 * creates a new one.
 *
 * Times are milliseconds since 1970 by this node's clock. Header fields are flat lists like Node's
 * `rawHeaders`: name, value, name, value, in the order and case in which they came.
 */

export type FieldList = readonly string[];

export interface StoredResponse {
  /**
   * The primary key: the effective request URI without its fragment, as built by
   * `policy/cache-key.ts`.
   */
  readonly key: string;
  readonly status: number;
  readonly statusText: string;
  /** Fields of the response that are stored and sent again, without hop-by-hop fields and `Age`. */
  readonly headers: FieldList;
  /**
   * The secondary key: for each field named by Vary (lower case, sorted), its normalised value in
   * the request, or null if the request had none.
   */
  readonly varied: readonly (readonly [name: string, value: string | null])[];
  /** Times at which the request was sent and the head of the response arrived. */
  readonly requestTime: number;
  readonly responseTime: number;
  /** The age on arrival in ms (RFC 9111, 4.2.3: corrected_initial_age). */
  readonly initialAgeMs: number;
  /** The age at which the response becomes stale (4.2.1). */
  readonly lifetimeMs: number;
  /** The policy's flags for this response; see `policy/freshness.ts`. */
  readonly flags: number;
  /** The windows of RFC 5861, or 0 if there are none. */
  readonly staleWhileRevalidateMs: number;
  readonly staleIfErrorMs: number;
  readonly etag: string | null;
  /** The time in Last-Modified, or null if it is absent or unreadable. */
  readonly lastModified: number | null;
  /** The number of stored bytes: all of them, or those of `range`. */
  readonly bodyLength: number;
  /**
   * For partial content, the first stored byte and the total length; null if the whole body is
   * stored.
   */
  readonly range: { readonly start: number; readonly total: number } | null;
}
