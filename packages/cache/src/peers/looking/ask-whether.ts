/**
 * Asks one neighbour whether it has an object, for people. The question is that of a request, and
 * ends at the head of the answer. The head is not proven by then: it is shown to a person, and no
 * byte is used.
 */

import type { Clock } from '@bloomery/transport';

export type Truth = 'has' | 'has-not' | 'failed';

/** The listener of a question (neighbour-ask.ts), as far as it is used. */
interface WhetherListener {
  waits(): boolean;
  answered(): void;
  head(): boolean;
  data(): void;
  end(): void;
  failed(how: string): void;
}

interface Question {
  start(): void;
  abort(): void;
}

/** `newAsk` makes the question, which must report to no score. It never rejects. */
export function askWhether(
  clock: Clock,
  budgetMs: number,
  newAsk: (listener: WhetherListener) => Question,
): Promise<Truth> {
  return new Promise((resolve) => {
    const end = (truth: Truth): void => {
      cancel();
      resolve(truth);
      // The question is not ended within the call that tells its answer.
      queueMicrotask(() => ask.abort());
    };
    const cancel = clock.after(budgetMs, () => end('failed'));
    const ask = newAsk({
      waits: () => false,
      answered: () => end('has'),
      head: () => {
        end('has');
        return true;
      },
      data: () => {},
      end: () => end('has'),
      // `unusable`: it has another variant, or one that is not fresh enough.
      failed: (how) => end(how === 'refused' ? 'has-not' : how === 'unusable' ? 'has' : 'failed'),
    });
    ask.start();
  });
}
