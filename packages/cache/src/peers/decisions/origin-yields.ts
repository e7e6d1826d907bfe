/**
 * The experience of a node with owners in other groups, by origin: whether their answers are
 * objects, or refusals because the origin's responses may not be shared.
 *
 * An owner fetches an object that it lacks before it can know that. If the response may not be
 * shared, the origin is asked twice for one request, and the client waits for both answers. One
 * object costs that once in ten seconds (`proxy/flight/flights.ts`). An origin with a new URL in
 * each request and nothing to share would get twice the requests. So after eight refusals in a row
 * owners in other groups are asked for one in 32 objects of that origin, until one gives an object.
 */

const MOST_ORIGINS = 1024;
const REFUSALS_IN_ROW = 8;
const ASK_ONE_IN = 32;

export class OriginYields {
  /** Refusals in a row, by origin, the one that was refused last at the end. */
  readonly #refusals = new Map<string, number>();

  /** Whether owners in other groups are asked. `draw` is a random number from 0 to below 1. */
  mayAsk(origin: string, draw: number): boolean {
    return (this.#refusals.get(origin) ?? 0) < REFUSALS_IN_ROW || draw * ASK_ONE_IN < 1;
  }

  gave(origin: string): void {
    this.#refusals.delete(origin);
  }

  refused(origin: string): void {
    const count = (this.#refusals.get(origin) ?? 0) + 1;
    this.#refusals.delete(origin);
    this.#refusals.set(origin, count);
    if (this.#refusals.size > MOST_ORIGINS) this.#refusals.delete(this.#refusals.keys().next().value!);
  }
}
