// `npm run check:types`: checks the types of every package with a tsconfig.json, tests included, of
// the tools and of the benchmarks. A package that is added takes part by itself.
//
// The benchmarks import other libraries, which `npm ci` does not install. So they are checked
// against bench/peers, which declares the parts that are used; `npm --prefix bench run check` takes
// the libraries' own types.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = join(root, 'node_modules/typescript/bin/tsc');
const projects = readWorkspaces(root)
  .map(({ folder }) => `${folder}/tsconfig.json`)
  .filter((project) => existsSync(join(root, project)));

for (const project of [...projects, 'tsconfig.tools.json', 'bench/tsconfig.declared.json']) {
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
if (process.exitCode === undefined)
  console.log(`types: ${projects.length} packages, the tools and the benchmarks checked`);
