import { expect, test } from 'vitest';
import { plantedTree } from './planted-tree.mjs';
import { isCode, repositoryFiles } from './repository-files.mjs';

test('repositoryFiles leaves out what programs write', () => {
  const root = plantedTree({
    'README.md': '',
    'packages/a/src/x.ts': '',
    'packages/a/dist/x.js': '',
    'node_modules/b/index.js': '',
    'packages/bloomery/bin/bloomery.js': '',
    'packages/bloomery/bin/chunk.mjs': '',
  });
  expect(repositoryFiles(root).sort()).toEqual([
    'README.md',
    'packages/a/src/x.ts',
    'packages/bloomery/bin/bloomery.js',
  ]);
  expect(repositoryFiles(root, 'packages/a')).toEqual(['packages/a/src/x.ts']);
});

test('isCode is true for programs that people write', () => {
  expect(['a.ts', 'a.mjs', 'a.js'].filter(isCode)).toHaveLength(3);
  expect(['a.md', 'a.json', 'src/kernel/a-binary.ts', 'ts'].filter(isCode)).toEqual([]);
});
