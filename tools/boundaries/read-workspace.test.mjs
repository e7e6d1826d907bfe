import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readWorkspace } from './read-workspace.mjs';

test('readWorkspace finds the packages, their files and the imports in them', () => {
  const { packages, files, testTools } = readWorkspace(fileURLToPath(new URL('../..', import.meta.url)));
  expect(packages.map(({ home }) => home)).toEqual(expect.arrayContaining(['packages/bloomery', 'apps/cli']));
  expect(testTools).toContain('vitest');
  const barrel = files.find(({ path }) => path === 'packages/bloomery/src/index.ts');
  expect(barrel).toMatchObject({ home: 'packages/bloomery', package: 'bloomery', isTest: false });
  expect(barrel?.imports.map(({ target }) => target)).toContain(
    'packages/bloomery/src/filters/bloom-filter.ts',
  );
  expect(files.filter(({ path }) => path.includes('/assembly/'))).toEqual([]);
});
