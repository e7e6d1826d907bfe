/**
 * A long measurement in pieces. The outcome of each piece is written to a folder, so that a run can
 * stop after some minutes and the same command goes on later. A machine that others use as well is
 * never taken for longer than that.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';

/** Exit code of a run that is not done yet. */
const GO_ON = 75;

export interface PieceOptions {
  /** A folder that is kept for the next run. Without it, the run uses one that it removes. */
  readonly folder?: string | undefined;
  /** Minutes after which no new piece begins. */
  readonly minutes?: string | undefined;
}

class NotYet extends Error {
  override readonly name = 'NotYet';
}

export class Pieces {
  readonly folder: string;
  readonly #until: number;
  readonly #loads: number[] = [];
  #done = 0;

  private constructor(folder: string, minutes: number) {
    this.folder = folder;
    this.#until = performance.now() + minutes * 60_000;
    mkdirSync(join(folder, 'pieces'), { recursive: true });
  }

  /** Runs the measurement. A run that has to stop says so, and ends with code 75. */
  static run({ folder, minutes }: PieceOptions, measure: (pieces: Pieces) => void): void {
    const place = folder ?? mkdtempSync(join(tmpdir(), 'bloomery-text-'));
    const pieces = new Pieces(place, Number(minutes ?? Number.POSITIVE_INFINITY));
    try {
      measure(pieces);
    } catch (error) {
      if (!(error instanceof NotYet)) throw error;
      console.error(`${pieces.#done} pieces are done. The same command goes on.`);
      process.exitCode = GO_ON;
    } finally {
      if (folder === undefined) rmSync(place, { recursive: true, force: true });
    }
  }

  /** The outcome of a piece: measured now, or by an earlier run. */
  piece<T>(name: string, measure: () => T): T {
    const path = join(this.folder, 'pieces', `${name.replaceAll(' ', '-')}.json`);
    if (!existsSync(path)) {
      if (performance.now() > this.#until) throw new NotYet(name);
      console.error(name);
      const load = loadavg()[0];
      const outcome = { load, outcome: measure() };
      writeFileSync(`${path}.new`, JSON.stringify(outcome));
      renameSync(`${path}.new`, path);
    }
    const { load, outcome } = JSON.parse(readFileSync(path, 'utf8')) as { load: number; outcome: T };
    this.#loads.push(load);
    this.#done++;
    return outcome;
  }

  /** The load of the machine at the beginning of the pieces. */
  get load(): string {
    const [least, most] = [Math.min(...this.#loads), Math.max(...this.#loads)];
    return `The load of the machine was ${least.toFixed(1)} to ${most.toFixed(1)}.`;
  }
}
