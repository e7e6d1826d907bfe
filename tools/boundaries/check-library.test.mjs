import { expect, test } from 'vitest';
import { checkLibrary } from './check-library.mjs';
import { plantedWorkspace } from './planted-workspace.mjs';

test('the library asks no clock and draws no random numbers', () => {
  for (const use of ['Math.random', 'Date.now', 'new Date', 'performance.now', 'crypto.']) {
    const text = `export const value = ${use}();`;
    expect(checkLibrary(plantedWorkspace({ 'packages/bloomery/src/a.ts': text }))).toEqual([
      `packages/bloomery/src/a.ts: uses ${use}, which callers pass in`,
    ]);
    expect(checkLibrary(plantedWorkspace({ 'packages/bloomery/src/a.test.ts': text }))).toEqual([]);
    expect(checkLibrary(plantedWorkspace({ 'packages/cache/src/a.ts': text }))).toEqual([]);
  }
});

test('a comment may speak of a clock', () => {
  expect(checkLibrary(plantedWorkspace({ 'packages/bloomery/src/a.ts': '// no Date.now here' }))).toEqual([]);
});
