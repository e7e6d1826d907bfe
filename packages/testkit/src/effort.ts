/**
 * Number by which the rounds of the long tests are multiplied: 1 in `npm test`, 20 in `npm run
 * test:full`, a tenth in `npm run test:quick`. In Chromium `npm test` repeats a quarter, because
 * Node runs the same arithmetic in full. vitest.config.ts puts the number in, because a browser has
 * no environment variables.
 */
declare const __BLOOMERY_EFFORT__: number;

export const EFFORT: number = __BLOOMERY_EFFORT__;

/**
 * True in the quick form, which skips single tests that take seconds and cannot be made smaller.
 */
export const QUICK: boolean = EFFORT < 0.2;

/**
 * The number of rounds, trials or questions for this run: `count` at effort 1, in proportion at any
 * other. It is a whole number and never falls below `least`. A test that asserts that a rare event
 * happened gives in `least` the number of rounds that this takes.
 */
export function withEffort(count: number, least = 1): number {
  return Math.max(Math.min(count, least), Math.round(count * EFFORT));
}
