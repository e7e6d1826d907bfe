/**
 * How much the long tests do: 1 in CI, more in the full form, `npm run test:full`. The value is put in by
 * vitest.config.ts, because a browser has no environment variables.
 */
declare const __BLOOMERY_EFFORT__: number;

export const EFFORT: number = __BLOOMERY_EFFORT__;
