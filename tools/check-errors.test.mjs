import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { plantedTree } from './source/planted-tree.mjs';

const PROGRAM = fileURLToPath(new URL('./check-errors.mjs', import.meta.url));
const SOURCE = "export class AError extends Error { readonly code: 'one' | 'two'; }\n";

/** @param {string[]} codes rows of the page */
function check(codes) {
  const rows = codes.map((code) => `| \`${code}\` | it failed | try again |`).join('\n');
  const page = `# Errors\n\n## AError\n\n| code | means | do |\n|---|---|---|\n${rows}\n`;
  const root = plantedTree({ 'packages/a/src/a-error.ts': SOURCE, 'docs/errors.md': page });
  return spawnSync(process.execPath, [PROGRAM, root], { encoding: 'utf8' });
}

test('check-errors passes a page that lists every code', () => {
  const { status, stdout } = check(['one', 'two']);
  expect([status, stdout]).toEqual([0, 'errors: 2 codes stand in docs/errors.md as in the source\n']);
});

test('check-errors fails for a code that the page lacks', () => {
  const { status, stderr } = check(['one']);
  expect([status, stderr]).toEqual([
    1,
    'Cannot find a code: expected a row for AError two, got none (docs/errors.md)\n',
  ]);
});

test('check-errors fails for a code that the source lacks', () => {
  const { status, stderr } = check(['one', 'two', 'three']);
  expect([status, stderr]).toEqual([
    1,
    'Cannot find a code: expected AError three in the source, got none (docs/errors.md)\n',
  ]);
});
