// `npm run build`: builds every package that has a build script, each after its dependencies. Every
// package that is published runs this as its `prepack`, so a tarball is never published without its
// build output.
//
// Old output is removed first: tsc would leave the files of a module that was renamed, and they
// would be published.

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBuildRecord } from './build-record.mjs';
import { inBuildOrder, isBuilt, readWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const record = startBuildRecord(root);
for (const { folder, manifest } of inBuildOrder(readWorkspaces(root)).filter(isBuilt)) {
  rmSync(join(root, folder, 'dist'), { recursive: true, force: true });
  // Output goes to standard error, because `npm pack --json` prints its answer on standard output.
  const { status, error } = spawnSync('npm', ['run', '--silent', 'build', '-w', manifest.name], {
    cwd: root,
    stdio: ['inherit', 2, 2],
  });
  if (error) console.error(`Cannot run npm: ${error.message}`);
  if (status !== 0) {
    console.error(`Cannot build ${manifest.name} (${folder}): its build script failed`);
    process.exit(1);
  }
}
record.finish();
