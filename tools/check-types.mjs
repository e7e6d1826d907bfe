// `npm run check:types`: checks the types of every package with a tsconfig.json, tests included, and
// of the tools. A package that is added takes part by itself.

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

for (const project of [...projects, 'tsconfig.tools.json']) {
  const { status } = spawnSync(process.execPath, [tsc, '-p', project], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
if (process.exitCode === undefined) console.log(`types: ${projects.length} packages and the tools checked`);
