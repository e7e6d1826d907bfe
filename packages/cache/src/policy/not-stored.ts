/**
 * The reasons why a response is not stored, as one list of words. Cache-Status has them as `detail`
 * (RFC 9211, 2.8: "additional information not captured in other parameters, such as
 * implementation-specific states or other caching-related metrics"), and the access log has them in
 * a field of its own. docs/guide/cache.md has the same table; a test compares them.
 *
 * The first reason that applies is given. A word, once released, keeps its meaning: operators count
 * them.
 */

export const NOT_STORED = {
  method: 'only responses to GET are stored, and to a POST that declares itself equal to a GET',
  'request-content': 'the GET had content, which is not part of the key',
  'request-no-store': 'the request said no-store',
  status: 'a response with this status is never stored',
  'must-understand': 'the origin said must-understand, and the status is not understood',
  'no-store': 'the origin said no-store',
  private: 'the origin said private',
  authorization: 'the request had Authorization, and the origin allows no sharing (RFC 9111, 3.5)',
  'no-freshness': 'without lifetime and validator it could never be used',
  vary: 'Vary: * matches no later request',
  partial: 'a part that cannot be stored or combined',
  personal: 'a POST with a cookie, credentials or fields about its sender',
  cookie: 'the request had a cookie, and the origin did not say that the response is for all',
  'set-cookie': 'it sets a cookie, and must be validated at each use',
  'wrong-length': 'its fields contradict each other about the length',
  'too-large': 'longer than the limit storedObjectBytes, or than the store accepts',
  'no-room': 'the store cannot take it now: too many bodies arrive, or the disk is full',
  'not-admitted': 'seen for the first time and too long for memory; the second time the disk keeps it',
  overtaken: 'while it arrived, its key was invalidated or purged, or a better response was stored',
  incomplete: 'its end never came',
  'wrong-digest': 'its bytes are not those that its digest names (its URL, metadata or Repr-Digest)',
} as const;

export type NotStored = keyof typeof NOT_STORED;

/**
 * The state of a response that may be stored, as far as it is known: `storing` while its body
 * arrives.
 */
export type StoreFate = 'storing' | 'stored' | NotStored;
