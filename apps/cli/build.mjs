// Builds the command into packages/bloomery/bin, from where it is published: `npx bloomery` is what
// people type, and the name is the library's. The folder holds everything that the command runs,
// npm's packages included, so that the library stays without dependencies and the folder can be
// copied anywhere. One file for each command and thread, instead of hundreds of modules, halves the
// time to start. `grep` is one file with everything that it needs, because its start is nearly all
// of its time. Types are checked by tsc (npm run check:types); this only bundles.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundledPackages, licenseNotices } from './bundled-packages.mjs';
import { lateLoading } from './late-loading.mjs';

/** Programs and threads are started by the names of their files, so each is a file of its own. */
const ENTRIES = {
  main: 'src/main.ts',
  'hash-worker': 'src/hashing/hash-worker.ts',
  'scan-worker': 'src/text/scanning/scan-worker.ts',
  'papers-worker': '../papers/src/trials/trial-worker.ts',
  'worker-process': '../../packages/cache/dist/node/workers/worker-process.js',
};
/** Commands with a program of their own, each in one file that loads no other. */
const ALONE = { grep: 'src/grep-main.ts' };
/** The file that npm links to; it is not built. */
const LINKED = 'bloomery.js';

const root = fileURLToPath(new URL('.', import.meta.url));
const library = join(root, '../../packages/bloomery');
const bin = join(library, 'bin');
const { version } = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8'));

for (const name of readdirSync(bin)) {
  if (name !== LINKED) rmSync(join(bin, name), { recursive: true });
}
const common = {
  absWorkingDir: root,
  outdir: bin,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // Names stay as they are, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  lineLimit: 200,
  metafile: true,
  logLevel: 'warning',
};
const define = { __BLOOMERY_VERSION__: JSON.stringify(version) };
const plugins = [lateLoading()];
const { metafile } = await build({
  ...common,
  entryPoints: ENTRIES,
  splitting: true,
  // In one folder with the entries: code finds a thread's file beside its own, in whichever chunk
  // it is.
  chunkNames: '[name]-[hash]',
  define,
  plugins,
});
// In CommonJS, because Node loads an ES module in several steps of its event loop. Compiling the
// kernel in WebAssembly would take longer than the checksums of a search in JavaScript.
const { metafile: alone } = await build({
  ...common,
  entryPoints: ALONE,
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  define: { ...define, __BLOOMERY_WASM__: 'false', 'import.meta.url': 'undefined' },
  plugins,
});
checkComplete(metafile);
checkComplete(alone);
writeFileSync(
  join(bin, 'THIRD-PARTY-LICENSES.txt'),
  licenseNotices(bundledPackages(root, { inputs: { ...metafile.inputs, ...alone.inputs } })),
);

// The console's page, for the nodes that the command starts (src/fleet/console-page.ts).
const page = join(root, '../console/dist');
if (existsSync(page)) cpSync(page, join(bin, 'console'), { recursive: true });

/** Throws if a built file imports a package that is not bundled. */
function checkComplete({ outputs }) {
  for (const [file, { imports }] of Object.entries(outputs)) {
    const missing = imports.find(
      ({ path, external }) => external && !path.startsWith('node:') && !isBuiltin(path),
    );
    if (missing !== undefined) {
      throw new Error(
        `Cannot build the command: expected all packages in it, got an import of ${missing.path} (${file})`,
      );
    }
  }
}
