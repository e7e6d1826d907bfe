/**
 * The last answers of a whole node, over all its processes, numbered in the order in which they are
 * gathered (docs/spec/console.md, "Answers"), and the busiest objects of all processes together.
 *
 * A key belongs to one process (`workers/team.ts`), so the counts of an object need not be added
 * up: an object with a share of φ in the whole node has at least that share in its own process, and
 * is in that process's list. The whole list is then cut at φ of the whole total.
 */

import {
  type AnswersPart,
  type BusyObject,
  type BusyPart,
  KEPT_ANSWERS,
  type LocalAnswer,
} from './answer-recorder.ts';
import { BUSY } from './busy-objects.ts';

export interface Answer extends LocalAnswer {
  /** Rises, and is unique since the start of the node. */
  readonly id: number;
}

export interface Answers {
  readonly v: 1;
  readonly answers: readonly Answer[];
  /** Answers of the same time that are left out. */
  readonly skipped: number;
}

export interface Busiest {
  readonly v: 1;
  readonly since: number;
  readonly total: number;
  readonly threshold: number;
  readonly epsilon: number;
  readonly delta: number;
  readonly objects: readonly BusyObject[];
  /** Objects with that share that are left out of the list. */
  readonly more: number;
}

const MOST_OBJECTS = 20;

export class AnswerBook {
  /** Answers of each process that are numbered already. */
  readonly #counts = new Map<number, number>();
  #answers: Answer[] = [];
  #lastId = 0;

  /** The number of the last answer. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Answers of a process that are known; the rest is asked for. */
  knownOf(worker: number): number {
    return this.#counts.get(worker) ?? 0;
  }

  /** A process has ended, and the next one of this number counts from zero. */
  forget(worker: number): void {
    this.#counts.delete(worker);
  }

  /** Takes new answers of all processes. */
  take(parts: ReadonlyMap<number, AnswersPart>): void {
    const news: LocalAnswer[] = [];
    let count = 0;
    for (const [worker, part] of parts) {
      count += Math.max(0, part.count - this.knownOf(worker));
      this.#counts.set(worker, part.count);
      news.push(...part.answers);
    }
    news.sort((a, b) => a.at - b.at);
    const kept = news.slice(-KEPT_ANSWERS);
    // Answers that no process kept have their numbers as well.
    let id = this.#lastId + count - kept.length;
    this.#lastId += count;
    this.#answers = [...this.#answers, ...kept.map((answer) => ({ id: ++id, ...answer }))].slice(
      -KEPT_ANSWERS,
    );
  }

  /** Takes answers that the primary has numbered. */
  adopt(lastId: number, answers: readonly Answer[]): void {
    // Two questions that overlap bring the same answers.
    const news = answers.filter(({ id }) => id > this.#lastId);
    this.#lastId = Math.max(this.#lastId, lastId);
    this.#answers = [...this.#answers, ...news].slice(-KEPT_ANSWERS);
  }

  /** The answers after a number, at most `most` of the newest. */
  after(id: number, most = KEPT_ANSWERS): Answers {
    const answers = this.#answers.filter((answer) => answer.id > id).slice(-most);
    return { v: 1, answers, skipped: Math.max(0, this.#lastId - id - answers.length) };
  }

  /** All answers that are kept. */
  all(): Answers {
    return { v: 1, answers: this.#answers, skipped: 0 };
  }
}

export function busiestOf(parts: readonly BusyPart[]): Busiest {
  const total = parts.reduce((sum, part) => sum + part.total, 0);
  const objects = parts
    .flatMap((part) => part.objects)
    .filter(({ count }) => count >= BUSY.threshold * total)
    .sort((a, b) => b.count - a.count || b.atLeast - a.atLeast);
  return {
    v: 1,
    since: Math.min(...parts.map((part) => part.since)),
    total,
    ...BUSY,
    objects: objects.slice(0, MOST_OBJECTS),
    more: Math.max(0, objects.length - MOST_OBJECTS),
  };
}
