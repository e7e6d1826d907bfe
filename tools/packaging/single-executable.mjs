// Builds the command as one file that needs no Node: the program `node` with the command inside
// (single executable applications, nodejs.org/api/single-executable-applications.html).
//
// The main script of such a file is one script in CommonJS. Threads cannot be started from a file
// beside it, so their code goes in as assets (apps/cli/src/thread-file.ts). Worker processes of the
// cache are the executable itself, started again by node:cluster.
//
// We refused to unpack the built folder at the first start: a read-only home or two versions at
// once would break it.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
// @ts-expect-error: the package has no types.
import { inject } from 'postject';

/** Marks in `node` the place of the switch, as Node's documentation gives it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * Builds the executable. `node` is the program that it contains, which must be of this platform.
 * @param {{ root: string, node: string, output: string, work: string }} places
 */
export async function buildSingleExecutable({ root, node, output, work }) {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const cli = join(root, 'apps/cli');
  const { version } = JSON.parse(readFileSync(join(root, 'packages/bloomery/package.json'), 'utf8'));
  /** @type {import('esbuild').BuildOptions} */
  const common = {
    absWorkingDir: cli,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    logLevel: 'error',
    define: { __BLOOMERY_VERSION__: JSON.stringify(version), __BLOOMERY_SINGLE__: 'true' },
  };
  await build({
    ...common,
    stdin: { contents: ENTRY, resolveDir: cli, sourcefile: 'single-executable.js' },
    outfile: join(work, 'main.cjs'),
    format: 'cjs',
    define: { ...common.define, 'import.meta.url': '__bloomery_url' },
    banner: { js: "const __bloomery_url = require('node:url').pathToFileURL(process.execPath).href;" },
    plugins: [lateRequires()],
  });
  for (const [name, entry] of Object.entries(THREADS)) {
    await build({ ...common, entryPoints: [entry], outfile: join(work, `${name}.js`), format: 'esm' });
  }
  const config = {
    main: join(work, 'main.cjs'),
    output: join(work, 'command.blob'),
    disableExperimentalSEAWarning: true,
    assets: {
      ...Object.fromEntries(Object.keys(THREADS).map((name) => [`${name}.js`, join(work, `${name}.js`)])),
      ...consoleAssets(join(root, 'apps/console/dist'), work),
    },
  };
  writeFileSync(join(work, 'sea.json'), JSON.stringify(config));
  execFileSync(node, ['--experimental-sea-config', join(work, 'sea.json')], { stdio: 'pipe' });
  rmSync(output, { force: true });
  copyFileSync(node, output);
  chmodSync(output, 0o755);
  await withoutWarnings(() =>
    inject(output, 'NODE_SEA_BLOB', readFileSync(config.output), { sentinelFuse: FUSE }),
  );
}

/**
 * The console's page, and the list of its files, which Node 20 cannot tell
 * (packages/cache/src/node/console/page-files.ts). Empty if the page was not built.
 * @param {string} page
 * @param {string} work
 * @returns {Record<string, string>}
 */
function consoleAssets(page, work) {
  if (!existsSync(page)) return {};
  const files = readdirSync(page, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
  const list = join(work, 'console.json');
  writeFileSync(list, JSON.stringify(files.map((file) => relative(page, file))));
  return {
    'console.json': list,
    ...Object.fromEntries(files.map((file) => [`console/${relative(page, file)}`, file])),
  };
}

const THREADS = {
  'hash-worker': 'src/hashing/hash-worker.ts',
  'scan-worker': 'src/text/scanning/scan-worker.ts',
  'papers-worker': '../papers/src/trials/trial-worker.ts',
};

const ENTRY = `
import cluster from 'node:cluster';
import { main } from './src/main.ts';
if (cluster.isWorker) import('../../packages/cache/dist/node/workers/worker-process.js');
else {
  main(process.argv.slice(2)).then(() => {
    // After an error the command ends at once. It does not wait for an unread pipe or for a thread.
    if (process.exitCode) process.exit();
  });
}
`;

/** Bundles CommonJS packages that a source loads late, as apps/cli/build.mjs does. */
function lateRequires() {
  return {
    name: 'late-requires',
    /** @param {import('esbuild').PluginBuild} plugin */
    setup({ onLoad }) {
      onLoad({ filter: /[\\/]apps[\\/][^\\/]+[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
        loader: /** @type {const} */ ('ts'),
        contents: readFileSync(path, 'utf8').replaceAll(
          /createRequire\(import\.meta\.url\)\((['"][^'"]+['"])\)/g,
          'require($1)',
        ),
      }));
    },
  };
}

/**
 * postject prints a warning of its ELF reader for every `node`, about a section that it then
 * ignores.
 * @param {() => Promise<void>} work
 */
async function withoutWarnings(work) {
  const { warn } = console;
  console.warn = () => {};
  try {
    await work();
  } finally {
    console.warn = warn;
  }
}
