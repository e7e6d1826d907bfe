/** The parts of the papers, in the order in which they are shown. */

import type { Part } from './findings/section.ts';
import { compressedFigures } from './texts/compressed-figures.ts';
import { compressedTables } from './texts/compressed-tables.ts';
import { perl } from './texts/perl.ts';
import { simulations } from './texts/simulations.ts';
import { survey } from './texts/survey.ts';
import { tutorial } from './texts/tutorial.ts';

export const PARTS: readonly Part[] = [
  compressedTables,
  compressedFigures,
  simulations,
  survey,
  tutorial,
  perl,
];

/** The parts with these names, or all parts if there are none. */
export function chooseParts(names: readonly string[]): readonly Part[] {
  const unknown = names.find((name) => PARTS.every((part) => part.name !== name));
  if (unknown !== undefined) {
    throw new RangeError(
      `there is no part ${unknown}; there are ${PARTS.map(({ name }) => name).join(', ')}`,
    );
  }
  return names.length === 0 ? PARTS : PARTS.filter(({ name }) => names.includes(name));
}
