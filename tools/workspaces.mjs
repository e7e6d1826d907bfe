// The packages of this repository, read from `workspaces` in package.json, so that no tool keeps
// its own list.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every workspace: its folder, relative to the root, and its package.json. */
export function readWorkspaces(root) {
  const { workspaces } = readManifest(root);
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
 */
export function inBuildOrder(workspaces) {
  const byName = new Map(workspaces.map((workspace) => [workspace.manifest.name, workspace]));
  const order = [];
  const visit = (workspace, path) => {
    if (order.includes(workspace)) return;
    const { name, dependencies, peerDependencies, optionalDependencies } = workspace.manifest;
    if (path.includes(name)) {
      const circle = [...path.slice(path.indexOf(name)), name].join(' → ');
      throw new Error(`Cannot order the packages: expected no circle of dependencies, got ${circle}`);
    }
    for (const needed of Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })) {
      if (byName.has(needed)) visit(byName.get(needed), [...path, name]);
    }
    order.push(workspace);
  };
  for (const workspace of workspaces.filter(isBuilt)) visit(workspace, []);
  return order;
}

export function isBuilt({ manifest }) {
  return manifest.scripts?.build !== undefined;
}

function foldersIn(root, parent) {
  if (!existsSync(join(root, parent))) return [];
  return readdirSync(join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${parent}/${entry.name}`)
    .sort();
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
