/**
 * Single flight: one fetch from the origin for any number of concurrent requests for one object.
 * This file holds the rules of waiting for one of them, `flights.ts` the table of all. Neither does
 * I/O or depends on HTTP, so they can be tested alone.
 *
 * A flight begins with a request for which nothing usable is stored. Other requests for the same
 * key wait for its head, up to a time limit. Then it has one of three results:
 * - *shared*: the response may be stored. Each waiter checks whether it may use it (Vary,
 *   freshness) and reads it. Requests that arrive later, while the body is still being fetched, do
 *   the same.
 * - *private*: the response is only for the request that caused the fetch. The waiters fetch for
 *   themselves. The key is remembered for a while as barren, so that no request waits for it in
 *   vain again.
 * - *failed*: the origin cannot be reached. All waiters get the same failure, because separate
 *   attempts would only put more load on an origin that is down.
 *
 * A waiter that arrived before the flight's request was sent to the origin is *early*: the origin
 * answers after that waiter asked. The response is therefore as good for it as one validated on its
 * behalf, even if it may not be reused later (`no-cache`, `max-age=0`). This keeps many concurrent
 * requests for such an object from all reaching the origin: those turned away from one flight
 * gather in the next, before it is sent.
 *
 * A flight may be *doomed* (its key was invalidated while it ran): no request joins it any more,
 * and its response is not stored. RFC 9111, 4.4 speaks only of stored responses. But a response
 * that the origin sent before a change must not be stored after it, or the invalidation would have
 * no effect.
 */

export type Landing<Shared> =
  | { readonly kind: 'shared'; readonly shared: Shared }
  | { readonly kind: 'private' }
  | { readonly kind: 'failed'; readonly error: Error }
  /** The fetch took longer than the waiter's time limit. */
  | { readonly kind: 'expired' };

interface Waiter<Shared> {
  readonly early: boolean;
  readonly timer: NodeJS.Timeout;
  readonly landed: (landing: Landing<Shared>, early: boolean) => void;
}

export class Flight<Shared> {
  readonly key: string;
  #sent = false;
  #doomed = false;
  #landing: Landing<Shared> | null = null;
  readonly #waiters = new Set<Waiter<Shared>>();

  constructor(key: string) {
    this.key = key;
  }

  get waiters(): number {
    return this.#waiters.size;
  }

  get doomed(): boolean {
    return this.#doomed;
  }

  /** The result, or null if it is not known yet. */
  get landing(): Landing<Shared> | null {
    return this.#landing;
  }

  get sent(): boolean {
    return this.#sent;
  }

  /** The request is being sent to the origin: waiters that arrive from now on are not early. */
  markSent(): void {
    this.#sent = true;
  }

  /** Waits for the result, at most `ms`. Returns a function that stops waiting. */
  wait(ms: number, landed: Waiter<Shared>['landed']): () => void {
    if (this.#landing !== null)
      throw new Error(`The flight for ${this.key} has landed: nobody can wait for it`);
    const waiter: Waiter<Shared> = {
      early: !this.#sent,
      timer: setTimeout(() => {
        this.#waiters.delete(waiter);
        landed({ kind: 'expired' }, waiter.early);
      }, ms),
      landed,
    };
    this.#waiters.add(waiter);
    return () => {
      clearTimeout(waiter.timer);
      this.#waiters.delete(waiter);
    };
  }

  /** Sets the result. Only the first call counts. */
  land(landing: Landing<Shared>): void {
    if (this.#landing !== null) return;
    this.#landing = landing;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const { timer, early, landed } of waiters) {
      clearTimeout(timer);
      landed(landing, early);
    }
  }

  doom(): void {
    this.#doomed = true;
  }
}
