/** The result of a run: plain data, for the tables, for the targets and for --json. */

import type { KeyKind } from './keys.ts';
import { ACTIONS, type Action, type FormName } from './subject.ts';

export interface Row {
  readonly lane: string;
  readonly form: FormName;
  /** ns per key, one value for each round. */
  readonly rounds: Readonly<Record<Action, number[]>>;
  readonly bitsPerKey: number | null;
  /** Measured after the rounds. */
  rate: number | null;
  rateKeys: number;
  /** Errors of a structure that counts, measured after the rounds. */
  counts: CountErrors | null;
  readonly parameters: string;
  readonly figures: Readonly<Record<string, number>>;
}

/** Estimated counts beside the true ones, over all different keys of a stream. */
export interface CountErrors {
  readonly keys: number;
  /** The share of keys whose estimate is too high. */
  readonly over: number;
  /** The share of keys whose estimate is too low. */
  readonly under: number;
  /** The share of keys whose estimate is too high by more than Count-Min's ε times the stream. */
  readonly beyond: number;
  /** Average excess of the estimates. */
  readonly meanError: number;
}

/** Many structures built one after the other, each of other keys. */
export interface Trials {
  readonly lane: string;
  readonly size: number;
  readonly sets: number;
  readonly failed: number;
  readonly milliseconds: number[];
}

export interface Section {
  readonly suite: string;
  readonly kind: KeyKind;
  readonly size: number;
  readonly averageLength: number;
  readonly distinct: number;
  readonly rows: Row[];
  readonly trials: Trials[];
  /**
   * Facts that a reader of the table must know: lost keys, filters that were not filled, checks
   * that passed.
   */
  readonly notes: string[];
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly node: string;
  readonly v8: string;
  /** Compiler of the native yardstick; null where none was wanted. */
  readonly compiler: string | null;
  readonly date: string;
}

export interface Results {
  readonly machine: Machine;
  readonly rounds: number;
  readonly sliceMs: number;
  readonly sections: Section[];
}

export function emptyRounds(): Record<Action, number[]> {
  return Object.fromEntries(ACTIONS.map((action) => [action, []])) as unknown as Record<Action, number[]>;
}

/** `has` of a round: the mean of hit and miss. */
export function hasRounds(row: Row): number[] {
  return row.rounds.hit.map((hit, i) => (hit + row.rounds.miss[i]) / 2);
}

/** Operations that a ratio can compare. */
export type Measure = 'add' | 'has' | 'delete' | 'build';

export function actionRounds(row: Row, measure: Measure): number[] {
  return measure === 'has' ? hasRounds(row) : row.rounds[measure];
}

/** The first form of a lane: that of a peer that has one only. */
export function firstRow(section: Section, lane: string): Row | undefined {
  return section.rows.find((row) => row.lane === lane);
}

export function findRow(section: Section, lane: string, form: FormName): Row | undefined {
  return section.rows.find((row) => row.lane === lane && row.form === form);
}

export function sizeName(size: number): string {
  return size >= 1e6 ? `${size / 1e6} M` : size >= 1e3 ? `${size / 1e3} k` : String(size);
}
