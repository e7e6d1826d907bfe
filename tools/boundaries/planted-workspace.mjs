// A workspace for the tests of the rules: files by path, and manifests by folder where a test needs
// more than a name.

import { sourceFile } from './workspace.mjs';

/** @param {Record<string, string>} files @param {Record<string, object>} manifests */
export function plantedWorkspace(files, manifests = {}) {
  const homes = new Set(Object.keys(files).map((path) => path.split('/').slice(0, 2).join('/')));
  for (const home of Object.keys(manifests)) homes.add(home);
  const packages = [...homes].map((home) => {
    const name = home.split('/')[1];
    const ownName = name === 'bloomery' ? name : `@bloomery/${name}`;
    return { home, name, manifest: { name: ownName, ...manifests[home] } };
  });
  return {
    packages,
    files: Object.entries(files).map(([path, text]) => sourceFile(path, text)),
    testTools: ['vitest'],
  };
}
