/**
 * The nonces of requests that were accepted, so that none is accepted twice. They are kept by the
 * second of the time that their request carries, and forgotten when that time has left the window
 * of signatures: from then on the window refuses them.
 *
 * The number of nonces is bounded. Beyond it the oldest second is forgotten early, and every
 * request up to the end of that second is refused from then on. So a replay is never accepted,
 * however many requests come. At 65,536 nonces and 5,000 requests a second, a request may be 13 s
 * old instead of 30 s. A nonce takes about 100 bytes.
 */

const SECOND_MS = 1000;

export class NonceMemory {
  readonly #limit: number;
  readonly #bySecond = new Map<number, Set<string>>();
  #count = 0;
  /** Requests of this second and before are refused. */
  #floor = Number.NEGATIVE_INFINITY;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#count;
  }

  /**
   * Remembers a nonce. Returns false if it is known or older than what is remembered. Everything
   * before `oldestMs` has left the window.
   */
  take(nonce: string, timeMs: number, oldestMs: number): boolean {
    this.#forgetBefore(Math.floor(oldestMs / SECOND_MS));
    const second = Math.floor(timeMs / SECOND_MS);
    if (second <= this.#floor) return false;
    let nonces = this.#bySecond.get(second);
    if (nonces === undefined) this.#bySecond.set(second, (nonces = new Set()));
    if (nonces.has(nonce)) return false;
    nonces.add(nonce);
    this.#count++;
    if (this.#count > this.#limit) this.#forgetOldest();
    return true;
  }

  /** The window spans 60 s, so there are at most 61 seconds to look at. */
  #forgetBefore(second: number): void {
    for (const known of this.#bySecond.keys()) if (known < second) this.#forget(known);
  }

  #forgetOldest(): void {
    const oldest = Math.min(...this.#bySecond.keys());
    this.#forget(oldest);
    this.#floor = Math.max(this.#floor, oldest);
  }

  #forget(second: number): void {
    this.#count -= this.#bySecond.get(second)?.size ?? 0;
    this.#bySecond.delete(second);
  }
}
