/**
 * That two byte arrays are the same. The matcher of the test runner takes seconds for a megabyte; a loop does not, and
 * the matcher is asked only to show a difference.
 */

import { expect } from 'vitest';

export function expectSameBytes(actual: Uint8Array, expected: Uint8Array, what = 'bytes'): void {
  let same = actual.length === expected.length;
  for (let i = 0; same && i < expected.length; i++) same = actual[i] === expected[i];
  if (!same) expect(actual, what).toEqual(expected);
}
