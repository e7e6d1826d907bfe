/**
 * The shock of `--replace`: a share of the nodes is replaced by empty ones in the middle of the
 * measured part, and the table says how many requests went to the origin before, right after, and
 * at the end.
 */

import type { FleetResult, SeriesPoint } from '@bloomery/cache/simulation';
import { formatTable } from '@bloomery/papers/drawing';
import { formatShare } from '../terminal/format-values.ts';
import type { PolicyRun } from './fleet-table.ts';

/** Points of the series over the measured part. The replacement comes in the middle. */
export const SERIES_POINTS = 40;

/** Points that make up "before", "right after" and "at the end": an eighth of the run. */
const WINDOW = SERIES_POINTS / 8;

export interface Shock {
  readonly before: number;
  readonly after: number;
  readonly end: number;
}

/** Shares of requests that went to the origin: before the middle of the series, after it, last. */
export function shockOf({ series }: Pick<FleetResult, 'series'>): Shock {
  const middle = Math.floor(series.length / 2);
  return {
    before: originShare(series.slice(middle - WINDOW, middle)),
    after: originShare(series.slice(middle, middle + WINDOW)),
    end: originShare(series.slice(-WINDOW)),
  };
}

export function shockTable(runs: readonly PolicyRun[]): string {
  const head = ['policy', 'before', 'right after', 'at the end'];
  const rows = runs.map(({ name, result }) => {
    const { before, after, end } = shockOf(result);
    return [name, formatShare(before), formatShare(after), formatShare(end)];
  });
  return formatTable([head, ...rows], { right: [1, 2, 3] });
}

function originShare(points: readonly SeriesPoint[]): number {
  return points.reduce((sum, { originShare: share }) => sum + share, 0) / points.length;
}
