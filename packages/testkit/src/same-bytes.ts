/**
 * Expects two byte arrays to be the same. The matcher of the test runner takes seconds for a
 * megabyte and a loop does not, so the matcher is used only to show a difference.
 */

import { expect } from 'vitest';

export function expectSameBytes(actual: Uint8Array, expected: Uint8Array, what = 'bytes'): void {
  let same = actual.length === expected.length;
  for (let i = 0; same && i < expected.length; i++) same = actual[i] === expected[i];
  if (!same) expect(actual, what).toEqual(expected);
}
