import { closeSync, openSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run-command.ts';
import { identify } from './text-file.ts';

const path = join(temporaryFolder(), 'a.log');

/** Whether a file that was changed at this time can be recognised later. */
function hasTime(seconds: number): boolean {
  writeFileSync(path, 'a line\n');
  utimesSync(path, seconds, seconds);
  const descriptor = openSync(path, 'r');
  try {
    return identify(descriptor).modified !== '';
  } finally {
    closeSync(descriptor);
  }
}

test('identify: a time that a later change may get as well is not kept', () => {
  const now = Math.floor(Date.now() / 1000);
  // A whole second may be the clock of a file system that has no others.
  expect(hasTime(now)).toBe(false);
  expect(hasTime(now - 10)).toBe(true);
  expect(hasTime(now - 1 + 0.25)).toBe(true);
  expect(hasTime(now + 100.25)).toBe(false);
});
