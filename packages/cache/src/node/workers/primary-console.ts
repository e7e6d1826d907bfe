/**
 * The console's memory of a node with workers, in the primary: the history of the whole node, and
 * the answers of all workers with their numbers. Workers send nothing for it unless a console is
 * open. The history is taken from the reports that they send anyway (member-ledger.ts), so its rows
 * may be two seconds behind.
 *
 * A worker that does not answer within a second is left out of that answer. Its requests are then
 * missing in the list, and in no count.
 */

import { AnswerBook, busiestOf } from '../console/answer-book.ts';
import type { AnswersPart, BusyPart } from '../console/answer-recorder.ts';
import type { ConsoleQuestion, NumberedAnswers, PartQuestion } from '../console/console-part.ts';
import type { HistoryRow } from '../console/history-ring.ts';
import { type LookAtCounts, NodeHistory } from '../console/node-history.ts';
import type { Who } from '../console/who.ts';

export interface PrimaryConsoleOptions {
  readonly folder: string | null;
  readonly look: LookAtCounts;
  readonly warn: (problem: unknown) => void;
  readonly rowDone: (row: HistoryRow) => void;
  /** The workers that serve clients. */
  readonly workers: () => readonly number[];
  /** Asks a worker; null if it does not answer in time. */
  readonly ask: (worker: number, question: PartQuestion) => Promise<unknown>;
}

const NOT_KNOWN: Who['local'] = { isStored: false, isFresh: null };

export class PrimaryConsole {
  readonly #options: PrimaryConsoleOptions;
  readonly #history: NodeHistory;
  readonly #book = new AnswerBook();
  /** One question at a time: each takes the answers that are new since the one before it. */
  #gathering: Promise<unknown> = Promise.resolve();

  constructor(options: PrimaryConsoleOptions) {
    this.#options = options;
    const { folder, look, warn, rowDone } = options;
    this.#history = new NodeHistory({ folder, look, warn, rowDone, clock: Date.now });
  }

  start(): void {
    this.#history.start();
  }

  close(): Promise<void> {
    return this.#history.close();
  }

  /** A worker has ended, and its next life counts from zero. */
  end(worker: number): void {
    this.#book.forget(worker);
  }

  answer(question: ConsoleQuestion): Promise<unknown> {
    switch (question.about) {
      case 'history':
        return Promise.resolve(this.#history.history(question.span));
      case 'answers':
        return this.#answers(question.after);
      case 'busiest':
        return this.#busiest();
      case 'stored':
        return this.#options
          .ask(question.owner, { about: 'stored', key: question.key })
          .then((local) => local ?? NOT_KNOWN);
    }
  }

  #answers(after: number): Promise<NumberedAnswers> {
    const gathered = this.#gathering.then(async () => {
      const parts = await this.#parts<AnswersPart>((worker) => ({
        about: 'answers',
        after: this.#book.knownOf(worker),
      }));
      this.#book.take(parts);
      return { lastId: this.#book.lastId, answers: this.#book.after(after).answers };
    });
    this.#gathering = gathered.catch(() => {});
    return gathered;
  }

  async #busiest(): Promise<unknown> {
    const parts = await this.#parts<BusyPart>(() => ({ about: 'busiest' }));
    return busiestOf([...parts.values()]);
  }

  async #parts<T>(questionFor: (worker: number) => PartQuestion): Promise<Map<number, T>> {
    const { workers, ask } = this.#options;
    const parts = new Map<number, T>();
    await Promise.all(
      workers().map(async (worker) => {
        const part = (await ask(worker, questionFor(worker))) as T | null;
        if (part !== null) parts.set(worker, part);
      }),
    );
    return parts;
  }
}
