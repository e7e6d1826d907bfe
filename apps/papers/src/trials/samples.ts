/** The numbers of all trials of one experiment, and their statistics. */

import { COLUMNS, type Column, type Job } from './trials.ts';

export interface Summary {
  readonly mean: number;
  /** Standard deviation of the numbers, with n - 1. */
  readonly deviation: number;
  /** Standard error of the mean. */
  readonly error: number;
  readonly most: number;
  /** Number of values. */
  readonly trials: number;
}

export class Samples {
  readonly job: Job;
  readonly trials: number;
  readonly #numbers: Float64Array;

  constructor(job: Job, numbers: Float64Array) {
    this.job = job;
    this.#numbers = numbers;
    this.trials = numbers.length / COLUMNS[job.kind].length;
  }

  /** One number of every trial. */
  column(name: Column): Float64Array {
    const columns: readonly Column[] = COLUMNS[this.job.kind];
    const at = columns.indexOf(name);
    if (at < 0)
      throw new Error(`Cannot report ${name}: expected it from the trial, but ${this.job.kind} has none`);
    return Float64Array.from({ length: this.trials }, (_, t) => this.#numbers[t * columns.length + at]);
  }

  summary(name: Column, of: (value: number) => number = (value) => value): Summary {
    return summarize(this.column(name).map(of));
  }

  /**
   * The share of positives among non-member keys. Trials are independent, so their scatter gives
   * the error. With fewer than 30 trials the scatter is uncertain, and the error is at least that
   * of counting.
   */
  rate(name: Column = 'positives'): Summary {
    const { strangers } = this.job;
    const rate = this.summary(name, (positives) => positives / strangers);
    const counting = Math.sqrt((rate.mean * (1 - rate.mean)) / (strangers * this.trials));
    return { ...rate, error: this.trials < 30 ? Math.max(rate.error, counting) : rate.error };
  }

  /** Share of the trials whose number satisfies the condition. */
  share(name: Column, condition: (value: number) => boolean): number {
    return this.column(name).filter(condition).length / this.trials;
  }
}

export function summarize(values: ArrayLike<number>): Summary {
  const count = values.length;
  let sum = 0;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    sum += values[i];
    most = Math.max(most, values[i]);
  }
  const mean = sum / count;
  let squares = 0;
  for (let i = 0; i < count; i++) squares += (values[i] - mean) ** 2;
  const deviation = Math.sqrt(squares / Math.max(1, count - 1));
  return { mean, deviation, error: deviation / Math.sqrt(count), most, trials: count };
}
