// Decides whether the packages must be installed or built before the command can run. The record of
// a build is an empty file, whose time is the start of the last build that succeeded. So a source
// that is changed during a build is newer than the record. It lies in node_modules, so that a new
// installation is followed by a new build.

import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { inBuildOrder, isBuilt, readWorkspaces } from './workspaces.mjs';

const RECORD = 'node_modules/.cache/bloomery/built';

/**
 * Marks the start of a build and removes the record of the one before. `finish` records that this
 * one succeeded.
 * @param {string} root
 */
export function startBuildRecord(root) {
  const record = join(root, RECORD);
  const unfinished = `${record}.${process.pid}`;
  mkdirSync(dirname(record), { recursive: true });
  rmSync(record, { force: true });
  closeSync(openSync(unfinished, 'w'));
  process.once('exit', () => rmSync(unfinished, { force: true }));
  return { finish: () => renameSync(unfinished, record) };
}

/**
 * Reason why npm's packages must be installed, or undefined if they are those of package-lock.json.
 * @param {string} root
 */
export function reasonToInstall(root) {
  const installed = timeOf(join(root, 'node_modules/.package-lock.json'));
  if (installed === undefined) return 'node_modules is not there';
  if (installed < (timeOf(join(root, 'package-lock.json')) ?? 0))
    return 'package-lock.json is newer than node_modules';
  return undefined;
}

/**
 * Reason why the workspaces must be built, or undefined if the last build still holds.
 * @param {string} root
 */
export function reasonToBuild(root) {
  const builtAt = timeOf(join(root, RECORD));
  if (builtAt === undefined) return 'they were not built yet';
  const packages = inBuildOrder(readWorkspaces(root));
  const outputs = packages.filter(isBuilt).flatMap(outputsOf);
  const missing = outputs.find((path) => !existsSync(join(root, path)));
  if (missing !== undefined) return `${missing} is not there`;
  const sources = ['package.json', 'tsconfig.base.json', ...packages.flatMap((one) => sourcesOf(root, one))];
  const changed = sources.find((path) => (timeOf(join(root, path)) ?? 0) >= builtAt);
  if (changed !== undefined) return `${changed} is newer`;
  return undefined;
}

/**
 * A build makes the files that package.json promises to importers and to the shell, or else the
 * folder `dist`.
 * @param {import('./workspaces.mjs').WorkspaceFolder} workspace
 */
function outputsOf({ folder, manifest }) {
  const promised = filesIn([manifest.main, manifest.bin, manifest.exports]);
  const outputs = promised.length > 0 ? promised : ['dist'];
  return outputs.map((path) => join(folder, path));
}

/**
 * All paths in a tree of conditions; a pattern such as `./dist/*.js` does not name a single file.
 * @param {unknown} value
 * @returns {string[]}
 */
function filesIn(value) {
  if (typeof value === 'string') return value.includes('*') ? [] : [value];
  return Object.values(value ?? {}).flatMap(filesIn);
}

/**
 * The settings next to package.json and everything in src, except for tests, which are not built.
 * @param {string} root
 * @param {import('./workspaces.mjs').WorkspaceFolder} workspace
 */
function sourcesOf(root, { folder }) {
  const settings = readdirSync(join(root, folder)).filter((name) => /\.(?:json|m?js)$/.test(name));
  const src = join(root, folder, 'src');
  const modules = existsSync(src) ? readdirSync(src, { recursive: true }).map((path) => `src/${path}`) : [];
  return [...settings, ...modules]
    .filter((path) => /\.\w+$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => `${folder}/${path}`);
}

/** @param {string} path */
function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
