import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { plantedTree } from './source/planted-tree.mjs';

const PROGRAM = fileURLToPath(new URL('./check-rules.mjs', import.meta.url));

/** @param {string} text */
function check(text) {
  const root = plantedTree({ 'packages/a/src/x.ts': text });
  return spawnSync(process.execPath, [PROGRAM, root], { encoding: 'utf8' });
}

test('check-rules fails for a fault that was planted in a tree on the disk', () => {
  const { status, stderr } = check('/** What it is. */\nexport const x = 1;\n');
  expect(status).toBe(1);
  expect(stderr).toContain('got "What" (packages/a/src/x.ts:1)\n');
});

test('check-rules passes a clean tree', () => {
  const { status, stdout } = check('/** Number of things. */\nexport const x = 1;\n');
  expect(status).toBe(0);
  expect(stdout).toBe('rules: 1 files keep to STYLE.md\n');
});
