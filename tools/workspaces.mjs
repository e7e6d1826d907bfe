// The packages of this repository, found from the `workspaces` of the root manifest, so that no tool keeps a list of its own.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Every package with its folder and manifest. A package comes after all packages that it depends on. */
export function findWorkspaces() {
  const unordered = readManifest(root).workspaces.flatMap(expand);
  const seen = new Set();
  const ordered = [];
  const visit = (workspace) => {
    if (seen.has(workspace)) return;
    seen.add(workspace);
    const wanted = dependenciesOf(workspace);
    for (const other of unordered) if (wanted.has(other.name)) visit(other);
    ordered.push(workspace);
  };
  for (const workspace of unordered) visit(workspace);
  return ordered;
}

/** Folders of a pattern such as `packages/*`, which is the only kind used here. */
function expand(pattern) {
  const shelf = join(root, dirname(pattern));
  return readdirSync(shelf)
    .map((name) => join(shelf, name))
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .map((folder) => {
      const manifest = readManifest(folder);
      return { name: manifest.name, folder, manifest };
    });
}

function dependenciesOf({ manifest }) {
  const { dependencies, devDependencies, peerDependencies } = manifest;
  return new Set(Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies }));
}

function readManifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}
