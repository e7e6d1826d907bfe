/**
 * Three lines that put a filter in front of any lookup: `guard`. `RebuiltFilter` makes the filter
 * from the store, at the start and again by a schedule. `dedupe` tells the first sight of an event
 * exactly.
 */

export { type DedupeOptions, type Deduper, type DedupeStats, dedupe, type SeenStore } from './dedupe.ts';
export { type Guarded, type GuardOptions, type GuardStats, guard, type Lookup } from './guard.ts';
export type { GuardingFilter } from './guarded-filter.ts';
export type { RateProblem } from './rate-watch.ts';
export {
  RebuiltFilter,
  type RebuiltFilterOptions,
  type RebuiltFilterStatus,
  type RebuiltState,
} from './rebuilt-filter.ts';
