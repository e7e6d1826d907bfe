// Builds the command into packages/bloomery/bin, from where it is published: `npx bloomery` is what
// people type, and the name is the library's. The folder holds everything that the command runs,
// npm's packages included, so that the library stays without dependencies and the folder can be
// copied anywhere. One file for each command and thread, instead of hundreds of modules, halves the
// time to start. Types are checked by tsc (npm run check:types); this only bundles.

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundledPackages, licenseNotices } from './bundled-packages.mjs';

/** Programs and threads are started by the names of their files, so each is a file of its own. */
const ENTRIES = {
  main: 'src/main.ts',
  'hash-worker': 'src/hashing/hash-worker.ts',
  'papers-worker': '../papers/src/trials/trial-worker.ts',
  'worker-process': '../../packages/cache/dist/node/workers/worker-process.js',
};
/** The file that npm links to; it is not built. */
const LINKED = 'bloomery.js';

const root = fileURLToPath(new URL('.', import.meta.url));
const library = join(root, '../../packages/bloomery');
const bin = join(library, 'bin');
const { version } = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8'));

for (const name of readdirSync(bin)) {
  if (name !== LINKED) rmSync(join(bin, name), { recursive: true });
}
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: ENTRIES,
  outdir: bin,
  bundle: true,
  splitting: true,
  // In one folder with the entries: code finds a thread's file beside its own, in whichever chunk
  // it is.
  chunkNames: '[name]-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  define: { __BLOOMERY_VERSION__: JSON.stringify(version) },
  plugins: [lateRequires(), nodeRequires()],
  metafile: true,
  logLevel: 'warning',
});
checkComplete(metafile);
writeFileSync(join(bin, 'THIRD-PARTY-LICENSES.txt'), licenseNotices(bundledPackages(root, metafile)));

/**
 * A source that loads a CommonJS package late calls `createRequire(import.meta.url)('name')`, which
 * esbuild does not follow. As a plain `require` it is bundled, and still evaluated only when it is
 * called.
 */
function lateRequires() {
  return {
    name: 'late-requires',
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]apps[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        return {
          loader: 'ts',
          contents: text.replaceAll(/createRequire\(import\.meta\.url\)\((['"][^'"]+['"])\)/g, 'require($1)'),
        };
      });
    },
  };
}

/**
 * Packages in CommonJS call `require` for Node's modules, and there is no `require` in an ES
 * module. The usual remedy, a banner that makes one in every file, takes 3 to 5 % more processor
 * time for `--version`, `--help` and `check`.
 */
function nodeRequires() {
  return {
    name: 'node-requires',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[a-z:_/]+$/ }, ({ path, kind }) => {
        const isNode = path.startsWith('node:') || isBuiltin(path);
        return kind === 'require-call' && isNode ? { path, namespace: 'node-requires' } : null;
      });
      onLoad({ filter: /.*/, namespace: 'node-requires' }, ({ path }) => {
        const name = JSON.stringify(path);
        return {
          contents: `const found = process.getBuiltinModule(${name});
            if (found === undefined) throw new Error(${JSON.stringify(`Cannot find module '${path}'`)});
            module.exports = found;`,
        };
      });
    },
  };
}

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
