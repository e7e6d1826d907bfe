// Lists the files of the repository, for every check that reads the tree. It reads folders and does
// not ask git, so that it works in a copy without one. The folders below are left out, because
// programs write them.

import { readdirSync } from 'node:fs';
import { join, posix } from 'node:path';

const SKIPPED = new Set(['node_modules', 'dist', 'build', 'coverage', '.git', '.vite', '__screenshots__']);
/** Folder of the bundled command. git ignores all of it except the file that npm links to. */
const BUNDLES = 'packages/bloomery/bin';

/**
 * Paths of all files below `folder`, relative to `root`, with slashes.
 * @param {string} root
 * @param {string} [folder]
 * @returns {string[]}
 */
export function repositoryFiles(root, folder = '') {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : repositoryFiles(root, path);
    return folder === BUNDLES && entry.name !== 'bloomery.js' ? [] : [path];
  });
}

/**
 * True for a file of code that people write. The embedded kernels (`*-binary.ts`) are generated.
 * @param {string} path
 */
export function isCode(path) {
  return /\.(?:tsx?|m?js)$/.test(path) && !path.endsWith('-binary.ts');
}
