/**
 * `bloomery cache --demo` as a user runs it: three nodes in processes of their own, with traffic.
 * The demonstration checks its own claims, so its exit code is most of the test.
 */

import { expect, test } from 'vitest';
import { bloomery } from '../run-command.ts';

test('cache --demo shows seven scenes, whose claims hold, and ends', () => {
  const { code, stdout } = bloomery(['cache', '--demo']);
  expect(stdout).not.toMatch('NOT SO');
  expect(stdout.match(/^\d\. /gm)).toHaveLength(7);
  expect(stdout).toMatch(/Cache-Status: anvil; hit.*, bellows; fwd=uri-miss/);
  expect(stdout).toMatch('Every body was complete and right');
  expect(code).toBe(0);
});

test('cache --keep without --demo is refused', () => {
  for (const option of ['--keep', '--no-keep']) {
    const { code, stderr } = bloomery(['cache', option]);
    expect(stderr).toMatch(`${option} belongs to --demo`);
    expect(code).toBe(2);
  }
});
