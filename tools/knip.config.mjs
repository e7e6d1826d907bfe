// The configuration of knip, which finds exports that no other file uses, and files that no entry
// loads: `npx knip --config tools/knip.config.mjs`, a part of `npm test`. An export that is used
// only in its own file is dead as well: it makes readers look for callers that do not exist.
//
// knip counts tests as users. It does not check dependencies here, because check-boundaries.mjs
// does.

import { fileURLToPath } from 'node:url';
import { readWorkspaces } from './workspaces.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ISSUES = ['files', 'exports', 'types', 'duplicates'];
const TESTS = ['src/**/*.test.ts', 'test/**/*.test.ts'];

/**
 * Files that are started by their names, as threads, processes or commands.
 * @type {Record<string, string[]>}
 */
const STARTED = {
  'apps/cli': [
    'src/main.ts',
    'src/grep-main.ts',
    'src/hashing/hash-worker.ts',
    'src/text/scanning/scan-worker.ts',
  ],
  'apps/console': [
    'src/shell/main.tsx',
    'src/{plan/plan,papers/papers,inside/inside}-view.tsx',
    'src/engine/engine.ts',
    'src/node/node-views.ts',
  ],
  'apps/annotator': ['src/{worker,panel,options,site-script}.ts'],
  'apps/papers': ['src/main.ts', 'src/trials/trial-worker.ts'],
  'packages/bloomery': ['test/fuzz-subjects.ts', 'test/fuzz-frames.ts'],
  'packages/cache': ['src/node/workers/worker-process.ts'],
  'packages/overlay': ['test/routing/run-daemon.mjs', 'test/search/run-share.mjs'],
  'packages/sim': ['test/meshes/print-trace.ts'],
};

/**
 * Sources of a package's public entries: `./dist/wire/index.js` is built from `src/wire/index.ts`.
 * @param {import('./workspaces.mjs').Manifest} manifest
 */
function publicEntries({ exports = {} }) {
  return Object.values(exports)
    .map((target) => (typeof target === 'string' ? target : target.default))
    .map((path) =>
      path
        .replace(/^\.\/dist\//, 'src/')
        .replace(/^\.\//, '')
        .replace(/\.js$/, '.ts'),
    );
}

/** @typedef {{ entry: string[], project: string[], includeEntryExports?: boolean }} Workspace */

/** @type {[folder: string, workspace: Workspace][]} */
const packages = readWorkspaces(root).map(({ folder, manifest }) => {
  const entry = [...publicEntries(manifest), ...(STARTED[folder] ?? []), ...TESTS];
  const project = ['src/**/*.{ts,tsx}', 'test/**/*.ts', '!src/**/*-binary.ts'];
  // Everything in the test kit is for this repository, so it must be used here.
  return [folder, { entry, project, includeEntryExports: folder === 'packages/testkit' }];
});

export default {
  include: ISSUES,
  ignoreIssues: {
    // The rules take these modules whole, as a value with a field for each list.
    'tools/{boundaries/tables,rules/exceptions}.mjs': ['exports'],
  },
  workspaces: {
    '.': {
      entry: ['tools/*.mjs', 'tools/conformance/loopback-only.mjs', 'tools/**/*.test.mjs'],
      project: ['tools/**/*.mjs'],
    },
    ...Object.fromEntries(packages),
    bench: {
      entry: [
        '{.,*}/main.ts',
        'stores/*/main.ts',
        'text/search.ts',
        'stores/join/*.mjs',
        'lane-process.ts',
        'kernel/parts.ts',
        'engine/rows.ts',
        'packets/{lane,accuracy,figures}.ts',
        'private/page.ts',
        'queues/{real,sweep,figures}.ts',
        'multicast/figure.ts',
        'traceback/lane.ts',
        'delivery/{codes,strategies,swarm,figures}.ts',
        'cache/digests.mjs',
        'console/page.mjs',
        'packets/capture.mjs',
        'stores/*.mjs',
        'reconcile/*.mjs',
        'cache/eviction.mjs',
        'cache/tick-shape.mjs',
      ],
      project: ['**/*.{ts,mjs}'],
    },
  },
};
