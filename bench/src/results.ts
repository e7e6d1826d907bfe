/** What a run leaves: plain data, for the tables, for the targets and for --json. */

import type { KeyKind } from './keys.ts';
import type { Action, FormName } from './subject.ts';

export interface Row {
  readonly lane: string;
  readonly form: FormName;
  /** ns per key, one value for each round. */
  readonly rounds: Readonly<Record<Action, number[]>>;
  readonly bitsPerKey: number;
  /** Measured after the rounds. */
  rate: number | null;
  rateKeys: number;
  readonly parameters: string;
}

export interface Section {
  readonly kind: KeyKind;
  readonly size: number;
  readonly averageLength: number;
  readonly rows: Row[];
  /** What a reader of the table must know: lost keys, filters that were not filled, checks that passed. */
  readonly notes: string[];
}

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly node: string;
  readonly v8: string;
  readonly compiler: string;
  readonly date: string;
}

export interface Results {
  readonly machine: Machine;
  readonly rounds: number;
  readonly sliceMs: number;
  readonly sections: Section[];
}

/** `has` of a round: the mean of hit and miss. */
export function hasRounds(row: Row): number[] {
  return row.rounds.hit.map((hit, i) => (hit + row.rounds.miss[i]) / 2);
}

export function findRow(section: Section, lane: string, form: FormName): Row | undefined {
  return section.rows.find((row) => row.lane === lane && row.form === form);
}

export function sizeName(size: number): string {
  return size >= 1e6 ? `${size / 1e6} M` : `${size / 1e3} k`;
}
