/**
 * The figures of rows that have run, in a file: a row of a large fleet takes minutes, so a run that
 * was stopped goes on where it was, and tables and plots are made without running anything again.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import type { RowFigures } from './fleet-rows.ts';

export class RowFile {
  readonly #path: string;
  readonly #rows = new Map<string, RowFigures>();

  constructor(path: string) {
    this.#path = path;
    for (const row of read(path)) this.#rows.set(idOf(row), row);
  }

  get all(): readonly RowFigures[] {
    return [...this.#rows.values()];
  }

  has(row: Pick<RowFigures, 'section' | 'name' | 'seed'>): boolean {
    return this.#rows.has(idOf(row));
  }

  /** Keeps a row, and writes the file with the rows of other runs that came meanwhile. */
  set(row: RowFigures): void {
    for (const other of read(this.#path)) this.#rows.set(idOf(other), other);
    this.#rows.set(idOf(row), row);
    const sorted = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1));
    const lines = sorted.map(([, each]) => JSON.stringify(each));
    writeFileSync(this.#path, `[\n${lines.join(',\n')}\n]\n`);
  }
}

function idOf({ section, name, seed }: Pick<RowFigures, 'section' | 'name' | 'seed'>): string {
  return `${section}/${name}/${seed}`;
}

function read(path: string): RowFigures[] {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as RowFigures[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
