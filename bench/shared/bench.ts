/**
 * A benchmark: suites of lanes that are measured side by side, the key sets they get, and
 * the tables that come of it. There are two (filters/filters-bench.ts,
 * structures/structures-bench.ts); all the machinery is common.
 */

import type { KeyKind } from './keys.ts';
import type { Table } from './report.ts';
import type { Results } from './results.ts';
import type { FormName, Subject } from './subject.ts';

/** The lane without a filter: the floor of everything that reads a key. */
export const READING = 'reading the key';

/** One subject, which is measured in a process of its own. */
export interface Lane {
  /** Unique among all benchmarks: a process finds its lane by it. */
  readonly name: string;
  /**
   * True for a structure that is too slow to be filled with millions of keys. It gets fewer
   * operations, and above `fillLimit` only the sample.
   */
  readonly slow?: boolean;
  /** The largest key set it is measured with. */
  readonly maxKeys: number;
  /** Left out of the quick form. */
  readonly fullOnly?: boolean;
  make(capacity: number): Promise<Subject>;
}

/** Lanes that answer the same question: one section for each key set. */
export interface Suite {
  readonly name: string;
  readonly lanes: readonly Lane[];
  /** The forms to measure, of those that a subject has. */
  readonly forms: readonly FormName[];
  /** Lanes that are measured whatever `--only` says. */
  readonly always: readonly string[];
  /** Whether the native yardstick runs beside it. */
  readonly native: boolean;
  /** Many small structures built one after the other, to see which fail; full form only. */
  readonly trials?: { readonly size: number; readonly sets: number; readonly lanes: readonly string[] };
}

export interface KeySetPlan {
  readonly suite: Suite;
  readonly kind: KeyKind;
  readonly sizes: readonly number[];
}

export interface Bench {
  /** The heading of the Markdown file. */
  readonly title: string;
  readonly command: string;
  /** The lines of --help that differ. */
  readonly about: { readonly quick: string; readonly only: string; readonly full: string };
  readonly quick: readonly KeySetPlan[];
  readonly full: readonly KeySetPlan[];
  /** Meanings of the columns. */
  readonly legend: (results: Results) => string[];
  readonly tables: (results: Results) => { readonly targets: Table; readonly sections: readonly Table[] };
  /** The part of --json besides the single measurements. */
  readonly summary?: (results: Results) => object;
}
