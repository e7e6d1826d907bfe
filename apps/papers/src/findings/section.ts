/**
 * The report of a part of the papers: text, tables, plots and comparisons with theory. The forms
 * decide how it is shown.
 */

import type { Plot } from '../drawing/plot.ts';
import type { Results, Work } from '../trials/jobs.ts';
import type { Comparison } from './comparison.ts';

/** A part of the papers that can be asked for by its name. */
export interface Part {
  readonly name: string;
  /** One line for `--list`. */
  readonly what: string;
  /** The files of its figures, known before they are drawn. */
  readonly files: readonly string[];
  /** Whether its comparisons are shown one by one. */
  readonly showsVerdicts?: boolean;
  work(trials: number): Work[];
  report(results: Results): Report;
}

export interface Report {
  readonly sections: readonly Section[];
  readonly comparisons: readonly Comparison[];
}

export interface Section {
  readonly title: string;
  /**
   * Paragraphs before the tables. Here and in cells: Markdown with emphasis, bold, code and links,
   * and no more.
   */
  readonly text: readonly string[];
  readonly tables: readonly Table[];
  readonly figures?: readonly Figure[];
  /** Paragraphs after the tables. */
  readonly notes?: readonly string[];
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /**
   * How many columns at the left name the row; 1 unless told. Where a table is folded they are
   * repeated.
   */
  readonly names?: number;
  /** Columns before which a table that is too wide may be folded. */
  readonly folds?: readonly number[];
}

export interface Figure {
  /** The name of the file that it becomes. */
  readonly file: string;
  readonly caption: string;
  readonly plot: Plot;
}

/** The result of a run: the reports of the parts that were asked for. */
export interface Findings {
  readonly trials: number;
  readonly seed: number;
  /** Whether these are all parts that there are. */
  readonly whole: boolean;
  readonly parts: readonly { readonly part: Part; readonly report: Report }[];
}
