// Reads the packages and their source files from the disk. assembly/ is not read, because
// AssemblyScript has its own rules.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import { readWorkspaces } from '../workspaces.mjs';
import { sourceFile } from './workspace.mjs';

/** @param {string} root the root of the repository @returns {import('./workspace.mjs').Workspace} */
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
    .flatMap((folder) => typeScriptIn(join(root, folder)))
    .map((path) => sourceFile(relative(root, path).split(sep).join('/'), readFileSync(path, 'utf8')));
  return { packages, files, testTools: Object.keys(devDependencies) };
}

function typeScriptIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
