// Builds the command: one file for each command and thread instead of hundreds of modules, so that it starts in half the
// time. Types are checked by tsc (npm run check:types); this only bundles. npm's packages stay imports.

import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('.', import.meta.url));
rmSync(`${root}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  // The threads are started by their file names.
  entryPoints: {
    main: 'src/main.ts',
    'hash-worker': 'src/hashing/hash-worker.ts',
    'papers-worker': '../papers/src/trials/trial-worker.ts',
  },
  outdir: 'dist',
  bundle: true,
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  external: ['commander', 'cli-progress', 'picocolors', 'fzstd'],
  logLevel: 'warning',
});
