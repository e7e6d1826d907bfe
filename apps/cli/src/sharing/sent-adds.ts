/**
 * The adds of one command that are under way. A few batches at a time are sent ahead of the
 * server's answers, and the command gives up if no answer comes for a while: the filter itself
 * would wait for its server forever.
 */

import type { SharedFilter } from '@bloomery/stores/shared';
import type { KeyBatch } from 'bloomery';
import { formatCount } from '../terminal/format-values.ts';
import { UsageError } from '../usage-error.ts';

const MOST_UNDER_WAY = 4;

export class SentAdds {
  readonly #filter: SharedFilter;
  readonly #timeoutMs: number;
  readonly #underWay: { readonly id: Promise<string>; readonly count: number }[] = [];
  /** Keys that the server has acknowledged. */
  added = 0;
  /** The id of the last add. */
  id = '';

  constructor(filter: SharedFilter, timeoutMs: number) {
    this.#filter = filter;
    this.#timeoutMs = timeoutMs;
  }

  async send(keys: KeyBatch, count: number): Promise<void> {
    const id = this.#filter.addMany(keys);
    // The answer is awaited later, and must not end the process before.
    id.catch(() => {});
    this.#underWay.push({ id, count });
    if (this.#underWay.length >= MOST_UNDER_WAY) await this.#takeAnswer();
  }

  async end(): Promise<void> {
    while (this.#underWay.length > 0) await this.#takeAnswer();
  }

  async #takeAnswer(): Promise<void> {
    const { id, count } = this.#underWay.shift()!;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#tooLate()), this.#timeoutMs);
    });
    try {
      this.id = await Promise.race([id, late]);
      this.added += count;
    } finally {
      clearTimeout(timer);
    }
  }

  #tooLate(): UsageError {
    const { lastError } = this.#filter.stats();
    const reason = lastError === null ? 'no answer' : lastError.message;
    return new UsageError(
      `${formatCount(this.added)} keys were added, and then the server did not answer for ${this.#timeoutMs / 1000} s: ${reason}; adding them again does no harm`,
    );
  }
}
