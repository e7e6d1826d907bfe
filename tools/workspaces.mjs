// The packages of this repository, read from `workspaces` in package.json, so that no tool keeps
// its own list.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The fields of a package.json that the tools read.
 * @typedef {object} Manifest
 * @property {string} name
 * @property {boolean} [private]
 * @property {string[]} [workspaces]
 * @property {string} [main]
 * @property {string | Record<string, string>} [bin]
 * @property {Record<string, string | Record<string, string>>} [exports]
 * @property {Record<string, string>} [scripts]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 */

/** @typedef {{ folder: string, manifest: Manifest }} WorkspaceFolder */

/**
 * Every workspace: its folder, relative to the root, and its package.json.
 * @param {string} root
 * @returns {WorkspaceFolder[]}
 */
export function readWorkspaces(root) {
  const { workspaces = [] } = readManifest(root);
  return workspaces
    .flatMap((pattern) => (pattern.endsWith('/*') ? foldersIn(root, pattern.slice(0, -2)) : [pattern]))
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map((folder) => ({ folder, manifest: readManifest(join(root, folder)) }));
}

/**
 * The workspaces that are built, and those they depend on, each after its dependencies.
 *
 * Development dependencies do not count: only tests need them, and tests are not built. They may
 * also point both ways, as between the library and the test kit.
 * @param {WorkspaceFolder[]} workspaces
 */
export function inBuildOrder(workspaces) {
  const byName = new Map(workspaces.map((workspace) => [workspace.manifest.name, workspace]));
  /** @type {WorkspaceFolder[]} */
  const order = [];
  const visit = (/** @type {WorkspaceFolder} */ workspace, /** @type {string[]} */ path) => {
    if (order.includes(workspace)) return;
    const { name, dependencies, peerDependencies, optionalDependencies } = workspace.manifest;
    if (path.includes(name)) {
      const circle = [...path.slice(path.indexOf(name)), name].join(' → ');
      throw new Error(`Cannot order the packages: expected no circle of dependencies, got ${circle}`);
    }
    for (const needed of Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })) {
      const next = byName.get(needed);
      if (next !== undefined) visit(next, [...path, name]);
    }
    order.push(workspace);
  };
  for (const workspace of workspaces.filter(isBuilt)) visit(workspace, []);
  return order;
}

/** @param {Pick<WorkspaceFolder, 'manifest'>} workspace */
export function isBuilt({ manifest }) {
  return manifest.scripts?.build !== undefined;
}

/**
 * @param {string} root
 * @param {string} parent
 */
function foldersIn(root, parent) {
  if (!existsSync(join(root, parent))) return [];
  return readdirSync(join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${parent}/${entry.name}`)
    .sort();
}

/**
 * @param {string} folder
 * @returns {Manifest}
 */
function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
