/** The parts of the papers, in the order in which they are shown. */

import { compressedFigures } from './compressed-figures.ts';
import { compressedTables } from './compressed-tables.ts';
import { perl } from './perl.ts';
import type { Part } from './section.ts';
import { simulations } from './simulations.ts';
import { survey } from './survey.ts';
import { tutorial } from './tutorial.ts';

export const PARTS: readonly Part[] = [
  compressedTables,
  compressedFigures,
  simulations,
  survey,
  tutorial,
  perl,
];

/** Those with these names, or all of them. */
export function chooseParts(names: readonly string[]): readonly Part[] {
  const unknown = names.find((name) => PARTS.every((part) => part.name !== name));
  if (unknown !== undefined) {
    throw new RangeError(
      `there is no part ${unknown}; there are ${PARTS.map(({ name }) => name).join(', ')}`,
    );
  }
  return names.length === 0 ? PARTS : PARTS.filter(({ name }) => names.includes(name));
}
