// Builds the program of the papers: one file for the program and one for its threads, since Node 20
// runs no TypeScript. The command `bloomery` does not need this build: it bundles the source
// (apps/cli/build.mjs).

import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('.', import.meta.url));
rmSync(`${root}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: { main: 'src/main.ts', 'papers-worker': 'src/trials/trial-worker.ts' },
  outdir: 'dist',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: ['picocolors'],
  logLevel: 'warning',
});
