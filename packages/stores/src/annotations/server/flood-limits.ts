/**
 * Limits against floods: a bucket of tokens for each user or address. A request takes a token; the
 * bucket fills again at a steady rate. Pure, except that it remembers.
 *
 * Memory is limited: beyond `mostKeys` the bucket that was used least recently is forgotten. An
 * attacker with more addresses than that has a full bucket for each of them anyway.
 */

export interface FloodOptions {
  /** Requests at once. */
  readonly burst: number;
  readonly perSecond: number;
  /** Default 10,000. */
  readonly mostKeys?: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export class FloodLimit {
  readonly #options: Required<FloodOptions>;
  /** In the order of their last use. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: FloodOptions) {
    this.#options = { mostKeys: 10_000, ...options };
  }

  /** The buckets that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token. Returns the seconds until there is one, 0 if one was taken. */
  take(key: string, nowMs: number): number {
    const bucket = this.#refill(key, nowMs);
    if (bucket.tokens >= 1) {
      bucket.tokens--;
      return 0;
    }
    return Math.ceil((1 - bucket.tokens) / this.#options.perSecond);
  }

  /** The seconds until there is a token. None is taken. */
  waitS(key: string, nowMs: number): number {
    const { tokens } = this.#refill(key, nowMs);
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / this.#options.perSecond);
  }

  #refill(key: string, nowMs: number): Bucket {
    const { burst, perSecond, mostKeys } = this.#options;
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const passedS = Math.max(0, nowMs - bucket.atMs) / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + passedS * perSecond);
    bucket.atMs = nowMs;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > mostKeys) this.#buckets.delete(this.#buckets.keys().next().value!);
    return bucket;
  }
}

/** The part of an address that a limit is for: an IPv4 address, or the network of an IPv6 one. */
export function floodKey(address: string): string {
  const plain = address.startsWith('::ffff:') ? address.slice(7) : address;
  if (!plain.includes(':')) return plain;
  const [before, after] = plain.split('%')[0].split('::');
  const groups = before.split(':').filter(Boolean);
  const tail = (after ?? '').split(':').filter(Boolean);
  const all = [...groups, ...new Array(Math.max(0, 8 - groups.length - tail.length)).fill('0'), ...tail];
  return all.slice(0, 4).join(':');
}
