/**
 * Experiments, named by their parameters. The same parameters are the same experiment: if two
 * sections ask for it, it is run once, with the larger of their numbers of trials.
 */

import type { Samples } from './samples.ts';
import type { Job } from './trials.ts';

/** The number of elements in all of the papers' simulations. */
export const N = 10_000;

/** Number of non-member keys that each filter is asked to measure its rate. */
export const STRANGERS = 100_000;

export interface FilterParameters {
  readonly bits: number;
  readonly hashes: number;
  readonly keys?: number;
  readonly replaced?: number;
  readonly partitioned?: boolean;
  readonly strangers?: number;
  readonly code?: boolean;
}

/** A filter whose rate is measured, or, with `code`, its size as a message. */
export function filterJob(parameters: FilterParameters): Job {
  const { bits, hashes, keys = N, replaced = 0, partitioned = false, strangers = STRANGERS } = parameters;
  const { code = false } = parameters;
  return job({ kind: 'filter', bits, hashes, keys, replaced, partitioned, strangers, code });
}

/**
 * One of the simulations of coded sizes, in which no key is looked up. `replaced` is a share of the
 * elements.
 */
export function simulationJob(shape: { bits: number; hashes: number; replaced: number }): Job {
  const { bits, hashes, replaced } = shape;
  return filterJob({ bits, hashes, replaced: replaced * N, strangers: 0, code: true });
}

/** Any job, named by its parameters. */
export function job<T extends WithoutName<Job>>(parameters: T): T & { readonly id: string } {
  return { ...parameters, id: Object.values(parameters).join(' ') };
}

export interface Work {
  readonly job: Job;
  readonly trials: number;
}

/** The work of a part without repetitions. */
export function collect(wanted: readonly Work[]): Work[] {
  const all = new Map<string, Work>();
  for (const work of wanted) {
    const before = all.get(work.job.id);
    if (before === undefined || before.trials < work.trials) all.set(work.job.id, work);
  }
  return [...all.values()];
}

export type Results = ReadonlyMap<string, Samples>;

export function resultOf(results: Results, { id }: Job): Samples {
  const samples = results.get(id);
  if (samples === undefined)
    throw new Error(`Cannot report ${id}: expected its trials, but they were not run`);
  return samples;
}

/** A share of the trials, but at least enough to estimate an error. */
export function fraction(trials: number, divisor: number, least = 8): number {
  return Math.max(least, Math.round(trials / divisor));
}

/** More trials than this would run into the seeds of the next experiment. */
export const MOST_TRIALS = 2 ** 20;

/**
 * The seed of an experiment's first trial; trial t has t more. It is a hash of the experiment's
 * name, so experiments do not share hash functions, and a new experiment changes no other.
 * docs/papers/papers.md was written with seed 0.
 */
export function firstSeed({ id }: Job, seed: number): number {
  return MOST_TRIALS * fnv(seed === 0 ? id : `${seed} ${id}`);
}

type WithoutName<T> = T extends Job ? Omit<T, 'id'> : never;

/** FNV-1a. */
function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return hash >>> 0;
}
