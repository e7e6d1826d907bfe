import { appendFileSync, renameSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NOTHING_REQUIRED } from '@bloomery/stores/text';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run-command.ts';
import { localTargets } from './local-targets.ts';

const scratch = temporaryFolder();
const target = localTargets({
  required: NOTHING_REQUIRED,
  counts: { blocks: 0, candidates: 0, indexBytes: 0 },
  onError: () => {},
});

/** Opens a log, changes it, and tells whether the change is noticed. */
async function isNoticed(change: (path: string) => void): Promise<boolean> {
  const path = join(scratch, 'a.log');
  writeFileSync(path, 'first line\n'.repeat(1000));
  utimesSync(path, 1e9, 1e9);
  const file = await target(path).open();
  try {
    change(path);
    await file.check();
    return false;
  } catch (error) {
    expect((error as Error).message).toBe('Cannot search the whole file: it was changed while it was read');
    return true;
  } finally {
    file.close();
  }
}

test('a log that is cut, edited, or emptied and written again during the search is an error', async () => {
  expect(await isNoticed((path) => truncateSync(path, 100))).toBe(true);
  expect(await isNoticed((path) => writeFileSync(path, 'other line\n'.repeat(1000)))).toBe(true);
  // As `copytruncate` of logrotate does it, with a program that writes fast: larger than before.
  expect(await isNoticed((path) => writeFileSync(path, 'other line\n'.repeat(9000)))).toBe(true);
});

test('a log that grows, or gets another name, is searched as it was at the beginning', async () => {
  expect(await isNoticed((path) => appendFileSync(path, 'last line\n'))).toBe(false);
  expect(await isNoticed((path) => renameSync(path, `${path}.1`))).toBe(false);
  expect(await isNoticed(() => {})).toBe(false);
});
