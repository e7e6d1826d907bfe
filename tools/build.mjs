// `npm run build`: builds every package, each after the packages that it depends on. Every package runs this before it is
// packed (`prepack`), so a tarball never holds an empty shell or the output of an older source.
//
//   node tools/build.mjs                 builds all packages
//   node tools/build.mjs <folder> …      builds these only
//
// A package with a tsconfig.build.json is compiled by tsc into dist; a package with a build.mjs builds itself. tsc leaves
// files of modules that have moved, and npm would publish them, so dist is removed first.

import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const tsc = join(root, 'node_modules/typescript/bin/tsc');

if (!existsSync(tsc)) {
  console.error('Cannot build: expected the development packages, got no node_modules (run: npm install)');
  process.exit(1);
}
const wanted = process.argv.slice(2).map((folder) => resolve(folder));
const workspaces = findWorkspaces();
for (const folder of wanted) {
  if (!workspaces.some((workspace) => workspace.folder === folder)) {
    console.error(`Cannot build: expected the folder of a package, got ${folder}`);
    process.exit(1);
  }
}
for (const { name, folder } of workspaces) {
  if (wanted.length > 0 && !wanted.includes(folder)) continue;
  if (existsSync(join(folder, 'tsconfig.build.json'))) {
    rmSync(join(folder, 'dist'), { recursive: true, force: true });
    run(name, folder, [tsc, '-p', 'tsconfig.build.json']);
  } else if (existsSync(join(folder, 'build.mjs'))) run(name, folder, ['build.mjs']);
}

function run(name, cwd, args) {
  // Output goes to standard error, because `npm pack --json` prints its answer on standard output.
  const { status, error } = spawnSync(process.execPath, args, { cwd, stdio: ['ignore', 2, 2] });
  if (error) throw error;
  if (status !== 0) {
    console.error(`Cannot build ${name}: expected exit code 0 from ${args.join(' ')}, got ${status}`);
    process.exit(1);
  }
}
