/** The problems of settings that are refused, as the operator sees them; none if they are taken. */

import { ConfigError } from '../../src/node/config/config-sources.ts';

export function configProblems(load: () => unknown): readonly string[] {
  try {
    load();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}
