/**
 * The terminal, pipe or file that a report is written to. Reports are functions of it: they ask no
 * terminal themselves, so a test can say how wide one is.
 */

import type pc from 'picocolors';

export type Colors = ReturnType<typeof pc.createColors>;

export interface Screen {
  readonly colors: Colors;
  /** Columns of text. */
  readonly width: number;
  /** Whether tables that are wider than the screen are folded. In a pipe a row stays one line. */
  readonly folds: boolean;
}
