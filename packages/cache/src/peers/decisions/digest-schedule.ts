/**
 * The times at which a node fetches the digest of a Squid again.
 *
 * - After a digest: when it expires, and never sooner. Squid writes its digest once an hour by
 *   default, and says so in `Expires`. A digest without that field, or with a time in the past, is
 *   fetched again after a minute. One that claims to last for years is fetched again after a day.
 * - After a failure: 15 s, and twice as long after each further one, up to 10 minutes. A Squid that
 *   starts answers 404 until it has read its disk, which takes seconds to minutes.
 *
 * Up to a tenth of the time is added by chance, so that nodes that were started together do not ask
 * together forever.
 */

const LEAST_MS = 60_000;
const MOST_MS = 86_400_000;
const FIRST_RETRY_MS = 15_000;
const LAST_RETRY_MS = 600_000;
const JITTER = 0.1;

/** The time until the next fetch. `draw` is a random number from 0 to below 1. */
export function nextDigestMs(expiresInMs: number | null, draw: number): number {
  const wait = Math.min(MOST_MS, Math.max(LEAST_MS, expiresInMs ?? 0));
  return Math.ceil(wait * (1 + JITTER * draw));
}

/** The time until the next attempt, after this many failures in a row, at least one. */
export function retryDigestMs(failures: number, draw: number): number {
  const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1));
  return Math.ceil(wait * (1 + JITTER * draw));
}
