/**
 * The default structure of `build`, which `plan` describes as well.
 *
 * A blocked filter answers five times as fast on sets that do not fit in a cache, and changing its
 * file touches one page per key instead of k. It needs more bits the lower the rate: 4 % more at 1
 * %, 15 % more at 0.01 %. So the default is blocked down to a rate of 0.1 %, and classic below. A
 * block takes at most 24 hashes.
 */

import type { PlanLayout } from 'bloomery/math';

export const DEFAULT_RATE = 0.01;
const LEAST_BLOCKED_RATE = 0.001;
const MOST_BLOCKED_HASHES = 24;

interface KnownParameters {
  readonly rate?: number | undefined;
  readonly layout?: string | undefined;
  readonly hashes?: number | undefined;
}

export function defaultStructure({
  rate = DEFAULT_RATE,
  layout,
  hashes = 0,
}: KnownParameters): 'bloom' | 'blocked' {
  if (layout === 'blocked' || layout === 'split-block') return 'blocked';
  if (layout !== undefined) return 'bloom';
  return rate < LEAST_BLOCKED_RATE || hashes > MOST_BLOCKED_HASHES ? 'bloom' : 'blocked';
}

/** The layout of the default structure. */
export function defaultLayout(known: KnownParameters): PlanLayout {
  return defaultStructure(known) === 'blocked' ? 'blocked' : 'classic';
}
