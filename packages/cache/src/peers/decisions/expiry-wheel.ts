/**
 * Times at which numbered things expire, for a million things: adding, changing and removing one
 * takes constant time, and so does the passing of time for each thing that expires.
 *
 * It is a hierarchical timing wheel (Varghese and Lauck, "Hashed and Hierarchical Timing Wheels",
 * 1987): four wheels of 256 slots. The first wheel has a slot for each of the next 256 ticks, the
 * second one for each of the next 256 turns of the first, and so on: 2^32 ticks, which are 34 years
 * at 250 ms. A thing waits in the wheel of the highest digit (base 256) in which its tick differs
 * from the present one, and moves to a lower wheel when that digit is reached, at most three times.
 * The list of a slot runs through arrays that are indexed by the number of the thing. That is 16
 * bytes per thing, and no object. A heap would need log2(n) moves for each change.
 *
 * A thing expires up to one tick before its time, and never after it if `advance` is called in
 * time. Numbers should be small integers that are used again, because the arrays grow to the
 * largest one. Time that goes backwards counts as standing still.
 */

import { PagedIntegers } from './paged-integers.ts';

const DIGIT_BITS = 8;
const SLOTS = 1 << DIGIT_BITS;
const WHEELS = 4;
const MOST_TICKS = 2 ** (DIGIT_BITS * WHEELS);
/** Slot of a thing that is in no list. */
const NOWHERE = -1;
const NO_THING = -1;

export class ExpiryWheel {
  readonly #tickMs: number;
  readonly #start: number;
  /** Present tick: all earlier ones are done. */
  #tick = 0;
  #size = 0;
  /** First thing of each slot of each wheel, and the number of things in each wheel. */
  readonly #first = new Int32Array(WHEELS * SLOTS).fill(NO_THING);
  readonly #inWheel = new Float64Array(WHEELS);
  /** Tick, slot and neighbours in the list, by the number of the thing. */
  readonly #ticks = new PagedIntegers((length) => new Uint32Array(length));
  readonly #slots = new PagedIntegers((length) => new Int32Array(length).fill(NOWHERE));
  readonly #before = new PagedIntegers((length) => new Int32Array(length));
  readonly #after = new PagedIntegers((length) => new Int32Array(length));

  /** `now` is the present time in milliseconds. */
  constructor({ now, tickMs = 250 }: { now: number; tickMs?: number }) {
    this.#start = now;
    this.#tickMs = tickMs;
  }

  /** Things that have not expired. */
  get size(): number {
    return this.#size;
  }

  has(thing: number): boolean {
    return thing < this.#slots.length && this.#slots.get(thing) !== NOWHERE;
  }

  /** Adds a thing, or changes its time. A time in the past expires with the next `advance`. */
  set(thing: number, time: number): void {
    if (!Number.isSafeInteger(thing) || thing < 0) {
      throw new RangeError(`Cannot note an expiry: expected a thing of 0 or more, got ${thing}`);
    }
    this.remove(thing);
    this.#ticks.cover(thing + 1);
    this.#slots.cover(thing + 1);
    this.#before.cover(thing + 1);
    this.#after.cover(thing + 1);
    const tick = Math.floor((time - this.#start) / this.#tickMs);
    this.#ticks.set(thing, Math.min(MOST_TICKS - 1, Math.max(this.#tick, tick)));
    this.#link(thing);
    this.#size++;
  }

  /** Removes a thing. Returns false if it is not there. */
  remove(thing: number): boolean {
    if (!this.has(thing)) return false;
    this.#unlink(thing);
    this.#size--;
    return true;
  }

  /**
   * Lets the time pass, and calls `expired` for each thing whose time has come, after removing it.
   * Does at most `mostSteps` steps, of which each moves or expires one thing or passes one slot.
   * Returns false if that was not enough; then it is to be called again.
   */
  advance(now: number, expired: (thing: number) => void, mostSteps = Infinity): boolean {
    const end = Math.min(MOST_TICKS - 1, Math.floor((now - this.#start) / this.#tickMs));
    for (let steps = 0; this.#tick <= end; steps++) {
      if (this.#size === 0) {
        this.#tick = end;
        return true;
      }
      if (steps >= mostSteps) return false;
      const upper = this.#firstAbove();
      if (upper !== NO_THING) {
        // Its digit has been reached, so it belongs into a lower wheel.
        this.#unlink(upper);
        this.#link(upper);
        continue;
      }
      const due = this.#first[this.#tick % SLOTS]!;
      if (due !== NO_THING) {
        this.remove(due);
        expired(due);
      } else if (this.#tick === end) return true;
      else this.#tick = Math.min(end, this.#nextTick());
    }
    return true;
  }

  /**
   * Time after which `advance` may have something to do, if it was called at `now` and nothing is
   * set meanwhile. Infinity if there are no things.
   */
  waitMs(now: number): number {
    if (this.#size === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#start + this.#nextTick() * this.#tickMs - now);
  }

  /** A thing in an upper wheel whose slot is the present one, or none. */
  #firstAbove(): number {
    // `#link` puts no thing into the present slot of an upper wheel, so these are the things that
    // waited for the digit that has just changed.
    for (let wheel = WHEELS - 1; wheel > 0; wheel--) {
      if (this.#inWheel[wheel] === 0) continue;
      const thing = this.#first[wheel * SLOTS + digit(this.#tick, wheel)]!;
      if (thing !== NO_THING) return thing;
    }
    return NO_THING;
  }

  /** The next tick at which a slot may hold things: empty lower wheels are passed at once. */
  #nextTick(): number {
    let span = 1;
    for (let wheel = 0; wheel < WHEELS - 1 && this.#inWheel[wheel] === 0; wheel++) span *= SLOTS;
    return (Math.floor(this.#tick / span) + 1) * span;
  }

  #link(thing: number): void {
    const tick = this.#ticks.get(thing);
    let wheel = WHEELS - 1;
    while (wheel > 0 && digit(tick, wheel) === digit(this.#tick, wheel)) wheel--;
    const slot = wheel * SLOTS + digit(tick, wheel);
    const next = this.#first[slot]!;
    this.#slots.set(thing, slot);
    this.#before.set(thing, NO_THING);
    this.#after.set(thing, next);
    if (next !== NO_THING) this.#before.set(next, thing);
    this.#first[slot] = thing;
    this.#inWheel[wheel]!++;
  }

  #unlink(thing: number): void {
    const slot = this.#slots.get(thing);
    const before = this.#before.get(thing);
    const after = this.#after.get(thing);
    if (before === NO_THING) this.#first[slot] = after;
    else this.#after.set(before, after);
    if (after !== NO_THING) this.#before.set(after, before);
    this.#slots.set(thing, NOWHERE);
    this.#inWheel[slot >> DIGIT_BITS]!--;
  }
}

/** Digit of a tick in base 256. */
function digit(tick: number, wheel: number): number {
  return (tick >>> (DIGIT_BITS * wheel)) & (SLOTS - 1);
}
