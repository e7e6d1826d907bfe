/** The experiment of one of the paper's simulations. */

import { filterJob } from './jobs.ts';
import { N, type PrintedSimulation } from './printed.ts';

/** Sizes only: no strangers are asked. */
export function simulationJob({ bits, hashes, replaced }: PrintedSimulation) {
  return filterJob({ bits, hashes, replaced: replaced * N, strangers: 0, code: true });
}
