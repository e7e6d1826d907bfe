/**
 * The experience of this node with one neighbour: was its summary right, how fast is it, how many
 * requests are under way, is it failing.
 *
 * A look-up in a summary is a guess, and Squid has names for its four ends (CacheDigest.cc,
 * `cacheDigestGuessStatsUpdate(stats, real_hit, guess_hit)`). They mean here:
 *
 * - true hit: the summary said "maybe", the neighbour was asked and gave the object.
 * - false hit: the summary said "maybe", the neighbour was asked and refused. A false positive of
 *   the summary, an object that was removed meanwhile, a variant that the neighbour does not have,
 *   an overloaded neighbour and a lie all look the same, because every refusal has the same bytes.
 *   Squid's `close_hits` ("cd said hit, doc was in the peer cache, but we got a miss") are those
 *   false hits whose answer names a later summary than the one that we hold: the neighbour
 *   published the change, and it had not reached us yet.
 * - true miss: the summary said "no", and nothing contradicted it. Squid asked each neighbour by
 *   ICP and knew. We do not ask, so this count is an upper bound.
 * - false miss: the summary said "no", and the neighbour gave the stored object all the same,
 *   because another node or the owner of the key had named it.
 *
 * A neighbour is judged by its last 20 verdicts: right, wrong (a refusal, damaged bytes) or late (a
 * deadline that it missed, a connection that failed, a body that broke off). If fewer than half of
 * them were right, it is asked on one occasion in 32 (`peer-choice.ts` draws). A liar then costs 20
 * wasted round trips, and 3 % of its share afterwards; a neighbour that was repaired is back after
 * ten good answers. A close hit is no verdict. A neighbour that fails three times in a row rests
 * for a second, then twice as long after each further failure, up to 30 s. Both ways back need no
 * timer and no operator.
 *
 * Late verdicts are forgiven, wrong ones are not. A neighbour loses its late verdicts when it comes
 * back (its link was lost, or it restarted). A doubted neighbour also loses them when it gives an
 * object in time. Without that, in a fleet with a fault every few seconds, most neighbours were
 * asked on only one occasion in 32 for a long time, because ten good answers at that rate take 320
 * occasions. Each verdict that is forgiven costs the neighbour one object that it gave before, of
 * 20 at most. So a liar gains nothing by connecting again and again, nor by missing deadlines
 * instead of refusing. A liar that never gives an object costs 20 round trips as before. One that
 * gives objects wastes at most 20 round trips, and two more for each object. Nothing is forgiven
 * while more of the other verdicts are wrong than right.
 *
 * A neighbour that sent a body with another digest than the object's name says is distrusted, which
 * means that it is not asked at all: for a minute after the first such body, then twice as long
 * after each further one, up to an hour. So a forger costs at most 30 refused bodies in a day. A
 * neighbour that served an old version of a file, which its origin replaced under the same name,
 * loses a minute.
 *
 * Time comes in as `now`, in milliseconds of a clock that does not jump.
 */

import { RecentLatencies } from './recent-latencies.ts';

/** The end of the wait for a head, in one request for an object. */
export type AskEnd =
  /** The head of the object came. */
  | 'hit'
  /** The neighbour refused (504). */
  | 'refused'
  /**
   * The neighbour gave an object that the request cannot use, such as another variant. Its summary
   * was right, so this is neither a hit nor a false hit.
   */
  | 'unusable'
  /** The neighbour refused, and its answer named a later state of its summary than we hold. */
  | 'refused-newer'
  /** No head came within the deadline. */
  | 'late'
  /** The connection failed, or the answer was not one of ours. */
  | 'failed'
  /** This node ended it, because another source answered first or the client left. */
  | 'cancelled';

/** The judgement of one answer. */
type Verdict = 'right' | 'wrong' | 'late';

export interface GuessCounts {
  readonly trueHits: number;
  readonly falseHits: number;
  readonly trueMisses: number;
  readonly falseMisses: number;
  /** The part of the false hits that a later summary explains. */
  readonly closeHits: number;
}

/** Concurrent requests to one neighbour. The neighbour refuses further ones at once. */
const MOST_CONCURRENT = 16;
const VERDICTS = 20;
const FAILURES_TO_REST = 3;
const SHORTEST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;
const SHORTEST_DISTRUST_MS = 60_000;
const LONGEST_DISTRUST_MS = 3_600_000;
/** A latency that was measured longer ago than this no longer counts against a neighbour. */
const LATENCY_LASTS_MS = 60_000;

export class PeerScore {
  readonly latencies = new RecentLatencies();
  #trueHits = 0;
  #falseHits = 0;
  #trueMisses = 0;
  #falseMisses = 0;
  #closeHits = 0;
  #failed = 0;
  #late = 0;
  #broken = 0;
  #concurrent = 0;
  /** The last verdicts, the newest at the end. */
  #verdicts: Verdict[] = [];
  /**
   * Late verdicts that may be forgiven: objects that the neighbour gave, less those forgiven so
   * far.
   */
  #credit = 0;
  #failuresInRow = 0;
  #restsUntil = -Infinity;
  #forged = 0;
  #distrustedUntil = -Infinity;
  #measuredAt = -Infinity;

  get guesses(): GuessCounts {
    return {
      trueHits: this.#trueHits,
      falseHits: this.#falseHits,
      trueMisses: this.#trueMisses,
      falseMisses: this.#falseMisses,
      closeHits: this.#closeHits,
    };
  }

  /** Requests that failed before their head, came too late, or broke off after it. */
  get troubles(): { readonly failed: number; readonly late: number; readonly broken: number } {
    return { failed: this.#failed, late: this.#late, broken: this.#broken };
  }

  /** Bodies that had another digest than the name of the object says. */
  get forged(): number {
    return this.#forged;
  }

  /** Requests under way. */
  get concurrent(): number {
    return this.#concurrent;
  }

  /** True while the neighbour has as many requests of this node as it takes. */
  get isOverloaded(): boolean {
    return this.#concurrent >= MOST_CONCURRENT;
  }

  /** True if fewer than half of the last 20 verdicts were right. */
  get isDoubted(): boolean {
    return this.#verdicts.length >= VERDICTS && 2 * this.#count('right') < VERDICTS;
  }

  /** True if it is doubted, and was late more often than wrong. */
  get isDoubtedAsLate(): boolean {
    return this.isDoubted && this.#count('late') > this.#count('wrong');
  }

  /** True during the rest after failures in a row. */
  isResting(now: number): boolean {
    return now < this.#restsUntil;
  }

  /** Milliseconds for which the neighbour is not asked because of a wrong digest; 0 if it is. */
  distrustedMs(now: number): number {
    return Math.max(0, this.#distrustedUntil - now);
  }

  /** Milliseconds until it is asked again, or null if that depends on its answers. 0 if it is. */
  waitMs(now: number): number | null {
    const waitMs = Math.max(this.distrustedMs(now), this.#restsUntil - now, 0);
    return waitMs === 0 && this.isDoubted ? null : waitMs;
  }

  /** The reason why the neighbour is not asked at present, in words for people, or null. */
  doubt(now: number): string | null {
    const distrustedMs = this.distrustedMs(now);
    if (distrustedMs > 0)
      return `it sent an object with a wrong digest; it is asked again in ${Math.ceil(distrustedMs / 1000)} s`;
    if (this.isResting(now)) return 'it failed several times in a row';
    if (!this.isDoubted) return null;
    return this.isDoubtedAsLate ? 'it was late or failed too often' : 'it was wrong too often';
  }

  /**
   * Expected wait in ms, by which neighbours are ordered: the average latency times the requests
   * that would be under way (Finagle's load balancer calls it "peak EWMA"). A neighbour without a
   * measurement of the last minute has 0, so it is tried and measured.
   */
  expectedMs(now: number): number {
    if (now - this.#measuredAt > LATENCY_LASTS_MS) return 0;
    return this.latencies.averageMs * (this.#concurrent + 1);
  }

  /** Notes that a request is sent. Each call is followed by one of `end`. */
  begin(): void {
    this.#concurrent++;
  }

  /**
   * Notes that the wait for a head has ended. A hit goes on until `finish` or `breakOff`. `guessed`
   * says whether the neighbour was asked because its summary said "maybe". Otherwise it may have
   * waited for its own source, so neither the time nor a deadline that passed counts against it.
   * `waitedMs` is the time until the head, or until this node gave up: a deadline that was missed
   * counts as a latency, so that the next deadline is longer if this one was too short.
   */
  end(end: AskEnd, { guessed, waitedMs, now }: { guessed: boolean; waitedMs: number; now: number }): void {
    if (end !== 'hit') this.#leave();
    if (end === 'failed') {
      this.#failed++;
      this.#fail(now);
    } else if (end === 'refused' || end === 'refused-newer' || end === 'unusable') this.#failuresInRow = 0;
    if (!guessed || end === 'cancelled') return;
    if (end !== 'failed') {
      this.latencies.add(waitedMs);
      this.#measuredAt = now;
    }
    if (end === 'late') {
      this.#late++;
      this.#fail(now);
    }
    if (end === 'hit') this.#trueHits++;
    if (end === 'refused' || end === 'refused-newer') this.#falseHits++;
    if (end === 'refused-newer') this.#closeHits++;
    if (end === 'refused') this.#judge('wrong');
    if (end === 'late' || end === 'failed') this.#judge('late');
  }

  /**
   * Notes that the body of a hit is complete, or that this node no longer wants it. Only now is the
   * hit a verdict for the neighbour: otherwise one that breaks every body would have half of its
   * verdicts right.
   */
  finish({ guessed }: { guessed: boolean }): void {
    this.#leave();
    this.#failuresInRow = 0;
    if (!guessed) return;
    const wasDoubted = this.isDoubted;
    this.#judge('right');
    if (wasDoubted) this.#forgive();
    this.#credit = Math.min(VERDICTS, this.#credit + 1);
  }

  /** Notes that the body of a hit stalled or broke off, or that it was damaged. */
  breakOff({ now, isDamaged = false }: { now: number; isDamaged?: boolean }): void {
    this.#leave();
    this.#broken++;
    this.#fail(now);
    this.#judge(isDamaged ? 'wrong' : 'late');
  }

  /** Notes that the neighbour is back: its link was lost and is up again, or it restarted. */
  comeBack(): void {
    this.#failuresInRow = 0;
    this.#restsUntil = -Infinity;
    this.#forgive();
  }

  /**
   * The score with which a neighbour begins that left the fleet, and has joined it again at the
   * same address: without the counts and the requests of its earlier stay, and with all that it
   * must not get rid of by leaving.
   */
  rejoined(): PeerScore {
    const score = new PeerScore();
    score.#verdicts = [...this.#verdicts];
    score.#credit = this.#credit;
    score.#forged = this.#forged;
    score.#distrustedUntil = this.#distrustedUntil;
    score.comeBack();
    return score;
  }

  /** True if there is something that the neighbour must not get rid of by leaving. */
  get isTainted(): boolean {
    return this.#forged > 0 || this.#verdicts.some((verdict) => verdict !== 'right');
  }

  /** Notes that a whole body had another digest than the name of the object says. */
  distrust(now: number): void {
    const forMs = Math.min(LONGEST_DISTRUST_MS, SHORTEST_DISTRUST_MS * 2 ** this.#forged);
    this.#forged++;
    this.#distrustedUntil = Math.max(this.#distrustedUntil, now + forMs);
    this.#judge('wrong');
  }

  /** Notes that the summary said "no" at a miss of this node. */
  countMiss(): void {
    this.#trueMisses++;
  }

  /** Notes that the neighbour had the object of an earlier `countMiss` all the same. */
  contradictMiss(): void {
    if (this.#trueMisses > 0) this.#trueMisses--;
    this.#falseMisses++;
  }

  /** A request from before the neighbour left the fleet may end after it has joined again. */
  #leave(): void {
    this.#concurrent = Math.max(0, this.#concurrent - 1);
  }

  #judge(verdict: Verdict): void {
    this.#verdicts.push(verdict);
    if (this.#verdicts.length > VERDICTS) this.#verdicts.shift();
  }

  #count(verdict: Verdict): number {
    let count = 0;
    for (const each of this.#verdicts) if (each === verdict) count++;
    return count;
  }

  /**
   * Forgets all late verdicts, if there is credit for them and at least half of the others are
   * right.
   */
  #forgive(): void {
    const late = this.#count('late');
    if (late > this.#credit || this.#count('wrong') > this.#count('right')) return;
    this.#credit -= late;
    this.#verdicts = this.#verdicts.filter((verdict) => verdict !== 'late');
  }

  #fail(now: number): void {
    this.#failuresInRow++;
    if (this.#failuresInRow < FAILURES_TO_REST) return;
    const doublings = this.#failuresInRow - FAILURES_TO_REST;
    this.#restsUntil = now + Math.min(LONGEST_REST_MS, SHORTEST_REST_MS * 2 ** doublings);
  }
}
