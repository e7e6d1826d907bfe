/**
 * One question to one neighbour of a simulated fleet. It stands in the place of
 * `peers/neighbour-ask.ts` and tells the search and the hub the same things in the same order, only
 * that no HTTP is spoken and no byte can be damaged. The answer comes from the holder's
 * `answerAsk` (simulated-entry.ts).
 */

import type { Clock } from '@bloomery/transport';
import type { AskListener } from '../../peers/neighbour-ask.ts';
import type { Neighbour, NeighbourReport, QuestionEnd } from '../../peers/neighbour-port.ts';
import type { SearchAsk } from '../../peers/neighbour-search.ts';
import type { ObjectAsk } from '../../peers/objects/object-request.ts';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import type { ResponseHead } from '../../policy/message-head.ts';

/** The holder's answer to a question: exactly one of `found`, `refused` and `lost` is called. */
export interface AskAnswer {
  /** The holder waits for the origin itself (peers/head-wait.ts). */
  waits(): void;
  /** The holder gives the object, from its store or from a fetch that has landed. */
  found(from: 'store' | 'flight', summary: SummaryVersion, isHot: boolean): void;
  refused(summary: SummaryVersion, tryNode: string | null): void;
  /** The holder's process ended before it answered, and the connection was reset. */
  lost(): void;
}

/** The way of a question to a holder, and of its answer back. */
export interface AskRoute {
  readonly clock: Clock;
  /** Time one way. */
  readonly wayMs: number;
  /** Time for the body after the head. */
  readonly bodyMs: number;
  readonly bytes: number;
  /** The secret of the fleet. */
  readonly keyId: number;
  readonly report: (report: NeighbourReport) => void;
  /** Notes the question (peers/running-asks.ts). Returns a function that forgets it. */
  readonly running: () => () => void;
  /** Puts the question to the holder, after the way. Returns a function that ends it there. */
  readonly put: (answer: AskAnswer) => () => void;
  /** A holder refused. */
  readonly refused: () => void;
}

/** Every object has the same head here. */
const HEAD: ResponseHead = { status: 200, statusText: 'OK', headers: [] };

export class SimulatedAsk implements SearchAsk {
  readonly neighbour: Neighbour;
  /** Called when the whole object is here. `isHot`: the holder wants it to be kept. */
  whole: (isHot: boolean) => void = () => {};
  readonly #ask: ObjectAsk & { readonly isMiss: boolean };
  readonly #route: AskRoute;
  readonly #listener: AskListener;
  readonly #beganMs: number;
  readonly #forget: () => void;
  #phase: 'asked' | 'body' | 'over' = 'asked';
  #isWaiting = false;
  #summary: SummaryVersion | null = null;
  #leave: () => void = () => {};

  constructor(
    neighbour: Neighbour,
    ask: ObjectAsk & { readonly isMiss: boolean },
    listener: AskListener,
    route: AskRoute,
  ) {
    this.neighbour = neighbour;
    this.#ask = ask;
    this.#route = route;
    this.#listener = listener;
    this.#beganMs = route.clock.monotonic();
    this.#forget = route.running();
  }

  start(): void {
    const { clock, wayMs, report, put } = this.#route;
    report({ kind: 'asked', neighbour: this.neighbour, ask: this.#ask.kind });
    clock.after(wayMs, () => {
      if (this.#isOver) return;
      this.#leave = put({
        waits: () => void clock.after(wayMs, () => this.#processing()),
        found: (from, summary, isHot) => void clock.after(wayMs, () => this.#answered(from, summary, isHot)),
        refused: (summary, tryNode) => void clock.after(wayMs, () => this.#refused(summary, tryNode)),
        lost: () => void clock.after(wayMs, () => this.#lost()),
      });
    });
  }

  abort(end: 'cancelled' | 'late' = 'cancelled'): void {
    if (this.#isOver) return;
    const bodyBegan = this.#phase === 'body';
    this.#end();
    if (bodyBegan) this.#reportBody('cancelled');
    else this.#reportAnswer(end, false);
  }

  get #isOver(): boolean {
    return this.#phase === 'over';
  }

  #processing(): void {
    if (this.#phase !== 'asked' || this.#isWaiting || !this.#listener.waits()) return;
    this.#reportAnswer('waits', false);
    this.#isWaiting = true;
  }

  #answered(from: 'store' | 'flight', summary: SummaryVersion, isHot: boolean): void {
    const { clock, bodyMs } = this.#route;
    if (this.#isOver) return;
    this.#summary = summary;
    this.#listener.answered();
    if (bodyMs > 0) clock.after(bodyMs, () => this.#arrived(from, isHot));
    else this.#arrived(from, isHot);
  }

  #arrived(from: 'store' | 'flight', isHot: boolean): void {
    if (this.#isOver) return;
    this.#phase = 'body';
    this.#listener.head(HEAD);
    this.#reportAnswer('hit', from === 'store');
    this.#end();
    this.#reportBody('whole');
    this.whole(isHot);
  }

  #refused(summary: SummaryVersion, tryNode: string | null): void {
    if (this.#isOver) return;
    this.#summary = summary;
    this.#end();
    this.#route.refused();
    this.#reportAnswer('refused', false);
    this.#listener.failed('refused', tryNode);
  }

  #lost(): void {
    if (this.#isOver) return;
    this.#end();
    this.#reportAnswer('failed', false);
    this.#listener.failed('failed', null);
  }

  #end(): void {
    this.#phase = 'over';
    this.#leave();
    this.#forget();
  }

  #reportAnswer(end: QuestionEnd, wasStored: boolean): void {
    const { report, clock, keyId } = this.#route;
    const { neighbour } = this;
    const { kind: ask, isMiss } = this.#ask;
    if (this.#isWaiting) {
      this.#isWaiting = false;
      report({ kind: 'asked', neighbour, ask });
    }
    const ms = clock.monotonic() - this.#beganMs;
    const isFalseMiss = isMiss && end === 'hit' && wasStored;
    const summary = this.#summary;
    report({ kind: 'answered', neighbour, ask, end, ms, summary, keyId, isFalseMiss });
  }

  #reportBody(end: 'whole' | 'cancelled'): void {
    const { report, bytes } = this.#route;
    report({ kind: 'body', neighbour: this.neighbour, ask: this.#ask.kind, end, bytes });
  }
}
