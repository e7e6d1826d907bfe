import { closeSync, openSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run-command.ts';
import { identify } from './text-file.ts';

const path = join(temporaryFolder(), 'a.log');

/** A time in some seconds, so that the times of the inodes are not recent. */
const now = Math.ceil(Date.now() / 1000) + 60;

/** Whether a file that was changed at this time can be recognised later. */
function hasTime(seconds: number): boolean {
  writeFileSync(path, 'a line\n');
  utimesSync(path, seconds, seconds);
  const descriptor = openSync(path, 'r');
  try {
    return identify(descriptor, () => 1000 * now).modified !== '';
  } finally {
    closeSync(descriptor);
  }
}

test('identify: a time that a later change may get as well is not kept', () => {
  // A whole second may be the clock of a file system that has no others.
  expect(hasTime(now - 2)).toBe(false);
  expect(hasTime(now - 3)).toBe(true);
  expect(hasTime(now - 2.25)).toBe(true);
  expect(hasTime(now + 100.25)).toBe(false);
});
