/**
 * The punishment of flows that do not respond. Survey 7.2: "the router can limit the flow
 * to a fixed amount of bandwidth or adopt some other rate-limiting policy". Four policies:
 *
 * - `shared-bucket`: one token bucket for all punished flows together. It needs no memory per flow.
 *   This is Linux's. A wrongly punished flow competes with floods for the tokens, and gets
 *   almost nothing.
 * - `bucket-per-flow`: a token bucket for each. It remembers the punished flows, at most
 *   `mostFlows`; beyond that, the one that was quiet for longest is forgotten. A new bucket is
 *   empty, so a flow gains nothing by being forgotten.
 * - `drop`: nothing passes.
 * - `low-priority`: packets wait in a queue of their own, which is served when the other is empty.
 *   A punished flow then uses what is left over, so it costs the others nothing, and it is
 *   the only policy that wastes no bandwidth.
 */

import type { Key } from 'bloomery';

export type Punishment =
  | ({ readonly kind: 'shared-bucket' } & BucketOptions)
  | ({ readonly kind: 'bucket-per-flow'; readonly mostFlows?: number } & BucketOptions)
  | { readonly kind: 'drop' }
  | { readonly kind: 'low-priority' };

export interface BucketOptions {
  /** Packets per second that pass. */
  readonly penaltyRate: number;
  /** Packets that pass at once after a quiet time. */
  readonly penaltyBurst: number;
}

/** The fate of a packet of a punished flow. */
export type Sentence = 'pass' | 'drop' | 'low-priority';

const MOST_FLOWS = 1024;

export class PenaltyBox {
  readonly #punishment: Punishment;
  readonly #shared: TokenBucket | null;
  /** Buckets by flow, the one that was used last at the end. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(punishment: Punishment) {
    this.#punishment = punishment;
    this.#shared = punishment.kind === 'shared-bucket' ? new TokenBucket(punishment) : null;
    // Throws now if the options are wrong, and not at the first punished packet.
    if (punishment.kind === 'bucket-per-flow') new TokenBucket(punishment);
  }

  /** Flows whose buckets are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  judge(flow: Key, nowMs: number): Sentence {
    const punishment = this.#punishment;
    switch (punishment.kind) {
      case 'drop':
      case 'low-priority':
        return punishment.kind;
      case 'shared-bucket':
        return this.#shared!.take(nowMs) ? 'pass' : 'drop';
      case 'bucket-per-flow':
        return this.#bucketOf(flow, punishment).take(nowMs) ? 'pass' : 'drop';
    }
  }

  #bucketOf(flow: Key, options: BucketOptions & { readonly mostFlows?: number }): TokenBucket {
    const name = String(flow);
    const bucket = this.#buckets.get(name) ?? new TokenBucket(options);
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > (options.mostFlows ?? MOST_FLOWS)) {
      for (const [oldest] of this.#buckets) {
        this.#buckets.delete(oldest);
        break;
      }
    }
    return bucket;
  }
}

class TokenBucket {
  readonly #options: BucketOptions;
  #tokens = 0;
  #filledAtMs: number | null = null;

  constructor(options: BucketOptions) {
    const { penaltyRate, penaltyBurst } = options;
    if (!(penaltyRate >= 0 && penaltyBurst >= 1)) {
      throw new RangeError(
        `Cannot make a penalty box: expected a rate of at least 0 and a burst of at least 1, got ${penaltyRate} and ${penaltyBurst}`,
      );
    }
    this.#options = options;
  }

  take(nowMs: number): boolean {
    const { penaltyRate, penaltyBurst } = this.#options;
    const elapsedMs = nowMs - (this.#filledAtMs ?? nowMs);
    this.#filledAtMs = nowMs;
    this.#tokens = Math.min(penaltyBurst, this.#tokens + (elapsedMs * penaltyRate) / 1000);
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
