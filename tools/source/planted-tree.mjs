// A temporary tree on the disk, for tests that plant a fault and see it found.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/**
 * Writes the files and returns the root of the tree, which is removed when the test ends.
 * @param {Record<string, string>} files texts by path
 */
export function plantedTree(files) {
  const root = mkdtempSync(join(tmpdir(), 'bloomery-planted-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}
