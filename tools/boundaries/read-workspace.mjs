// Reads the packages and their source files from the disk. assembly/ is not read, because
// AssemblyScript has its own rules.

import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { repositoryFiles } from '../source/repository-files.mjs';
import { readWorkspaces } from '../workspaces.mjs';
import { sourceFile } from './workspace.mjs';

/**
 * @param {string} root the root of the repository @returns {import('./workspace.mjs').Workspace}
 */
export function readWorkspace(root) {
  const packages = readWorkspaces(root).map(({ folder, manifest }) => ({
    home: folder,
    name: basename(folder),
    manifest,
  }));
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const files = packages
    .flatMap(({ home }) => [`${home}/src`, `${home}/test`])
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => repositoryFiles(root, folder))
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => sourceFile(path, readFileSync(join(root, path), 'utf8')));
  return { packages, files, testTools: Object.keys(devDependencies) };
}
