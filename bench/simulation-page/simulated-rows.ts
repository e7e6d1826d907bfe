/**
 * The rows that `npm run bench:simulation` wrote: figures of simulated fleets by section, name and
 * seed. A figure of several seeds is their mean here; bench/results/simulation.md has the
 * intervals.
 */

import { existsSync, readFileSync } from 'node:fs';
import type { FleetResult } from '@bloomery/cache/simulation';

export interface SimulatedRow {
  readonly section: string;
  readonly name: string;
  readonly seed: number;
  readonly result: FleetResult;
}

export class SimulatedRows {
  readonly #rows: readonly SimulatedRow[];

  constructor(rows: readonly SimulatedRow[]) {
    this.#rows = rows;
  }

  /** Reads the rows of a file. A file that is not there has none. */
  static read(path: string): SimulatedRows {
    return new SimulatedRows(existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []);
  }

  /** Names of a section that have run, in the order of the file. */
  names(section: string): string[] {
    return [...new Set(this.#rows.filter((row) => row.section === section).map(({ name }) => name))];
  }

  /** The results of a row, one for each seed; empty if it has not run. */
  results(section: string, name: string): FleetResult[] {
    return this.#rows
      .filter((row) => row.section === section && row.name === name)
      .map(({ result }) => result);
  }

  /** Mean of a figure over the seeds, or null if the row has not run or has no such figure. */
  mean(section: string, name: string, of: (result: FleetResult) => number | null): number | null {
    const values = this.results(section, name).map(of);
    if (values.length === 0 || values.some((value) => value === null)) return null;
    return (values as number[]).reduce((sum, value) => sum + value, 0) / values.length;
  }
}
