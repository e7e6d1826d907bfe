/**
 * The answers of a simulated node to questions of its neighbours. It models `peers/peer-entry.ts`
 * without HTTP, by the same rules: a stored object is given and counts as used; `coming` also waits
 * for a fetch that is under way; a fetch feeds two neighbours, and a third one is told to ask one
 * of the two; a node that waits for the asker itself refuses; a fetch that waits for the origin
 * says so (`peers/head-wait.ts`).
 *
 * Left out: the bound of 16 questions of one neighbour at a time, which the asker keeps as well
 * (`PeerScore.isOverloaded`).
 */

import type { Clock } from '@bloomery/transport';
import type { HotObjects } from '../../peers/decisions/hot-objects.ts';
import type { ObjectAsk } from '../../peers/objects/object-request.ts';
import type { SummaryVersion } from '../../peers/objects/object-response.ts';
import type { NodeFlights } from '../node-flights.ts';
import type { ObjectCache } from '../object-cache.ts';
import type { AskAnswer } from './simulated-ask.ts';

export interface SimulatedEntryParts {
  readonly clock: Clock;
  readonly cache: ObjectCache;
  readonly flights: NodeFlights;
  /** The objects that neighbours should keep, because they ask for them often. */
  readonly hot: HotObjects<number>;
  /** The version of the node's summary. */
  readonly summary: () => SummaryVersion;
  /** Whether this node waits for another one, for this object. */
  readonly isWaitingFor: (node: string, object: number) => boolean;
}

/** Neighbours that one fetch feeds. */
const MOST_FED = 2;

export class SimulatedEntry {
  readonly #parts: SimulatedEntryParts;
  /** The neighbours that wait for a fetch, by object. */
  readonly #fed = new Map<number, string[]>();
  /** The answers that wait for fetches, with the functions that end their waits. */
  readonly #waits = new Map<AskAnswer, () => void>();

  constructor(parts: SimulatedEntryParts) {
    this.#parts = parts;
  }

  /** Answers a question that has arrived. Returns a function that ends the wait of the asker. */
  answerAsk(asker: string, object: number, ask: ObjectAsk, answer: AskAnswer): () => void {
    const { cache, flights, summary, isWaitingFor, hot } = this.#parts;
    if (cache.use(object)) {
      answer.found('store', summary(), ask.rest === null && hot.gave(object));
      return nothing;
    }
    if (ask.kind === 'stored' || !flights.has(object) || isWaitingFor(asker, object)) {
      answer.refused(summary(), null);
      return nothing;
    }
    const fed = this.#fed.get(object) ?? [];
    if (fed.length >= MOST_FED && !fed.includes(asker)) {
      answer.refused(summary(), fed[Math.floor(this.#parts.clock.random() * fed.length)]!);
      return nothing;
    }
    return this.#feed(asker, object, fed, ask, answer);
  }

  /** Breaks off all answers, as the end of the process does. */
  breakOff(): void {
    for (const [answer, stop] of [...this.#waits]) {
      stop();
      answer.lost();
    }
  }

  /** Lets a neighbour wait for a fetch, until it lands or the neighbour's time is over. */
  #feed(asker: string, object: number, fed: string[], { waitMs }: ObjectAsk, answer: AskAnswer): () => void {
    const { clock, flights, summary } = this.#parts;
    if (waitMs === 0) {
      answer.refused(summary(), null);
      return nothing;
    }
    fed.push(asker);
    this.#fed.set(object, fed);
    let leave = nothing;
    let stopDeadline = nothing;
    let unwatch = nothing;
    const stop = () => {
      this.#waits.delete(answer);
      leave();
      stopDeadline();
      unwatch();
      const at = fed.indexOf(asker);
      if (at >= 0) fed.splice(at, 1);
      if (fed.length === 0) this.#fed.delete(object);
    };
    leave = flights.join(object, () => {
      stop();
      answer.found('flight', summary(), false);
    });
    stopDeadline = clock.after(waitMs, () => {
      stop();
      answer.refused(summary(), null);
    });
    unwatch = flights.whenRooted(object, () => {
      // The neighbour goes on waiting, without the budget.
      stopDeadline();
      answer.waits();
    });
    this.#waits.set(answer, stop);
    return stop;
  }
}

function nothing(): void {}
