// The tests of the workspace: every file in Node, those of the pure packages in Chromium as well.
// BLOOMERY_EFFORT decides how much runs (docs/notes/tests.md): 1 is `npm test`, 20 is `npm run
// test:full`, and below 1 is `npm run test:quick`, which leaves out the files of `notQuick`.

import { availableParallelism } from 'node:os';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const effort = Number(process.env.BLOOMERY_EFFORT ?? 1);
if (!(effort > 0))
  throw new RangeError(`Cannot run tests: BLOOMERY_EFFORT is a number above 0, got ${effort}`);

const isomorphicTests = [
  'packages/{bloomery,reconcile}/{src,test}/**/*.test.ts',
  'packages/packets/src/capture/**/*.test.ts',
  'packages/delivery/src/{codes,math,sketches}/**/*.test.ts',
  'packages/stores/src/annotations/{pages,publication}/**/*.test.ts',
];

/** Files that the quick form leaves out. A new file takes part in it until it is listed here. */
const notQuick = [
  // Programs that run, are killed, or fill a disk.
  'packages/cache/test/{chaos,clients,faults,fleet,node}/**',
  'packages/cache/test/console/{fleet,history,workers}.test.ts',
  'packages/files/test/locks/**',
  'packages/overlay/test/routing/processes.test.ts',
  'packages/delivery/test/processes/**',
  'packages/overlay/test/search/{groups,processes,revoked}.test.ts',
  'packages/cache/src/store/disk/disk-store-{crash,scale}.test.ts',
  'apps/cli/test/{in-place/kill.test.ts,inputs/**,mail/**,packed/**,terminal/**,text/**,tracing/**}',
  'apps/cli/test/commands/{add,annotations,build,cache,cache-demo,cache-group-find,check,combine,convert,digestd,fetch,halve,join,layer,papers,plan,route,selftest,share,sign,similar,similar-text,simulate,verify}.test.ts',
  'packages/cache/src/node/log/access-log.test.ts',
  // A program, a browser or a word list that `npm ci` does not bring: openssl, Chromium,
  // dictionaries, another version of Node.
  'packages/cache/src/node/config/node-config.test.ts',
  'packages/cache/test/proxy/origin.test.ts',
  'packages/transport/test/http/tls.test.ts',
  'apps/cli/src/signing/key-files.test.ts',
  'apps/cli/src/documents/document-pairs.test.ts',
  'packages/sim/test/meshes/node-versions.test.ts',
  'packages/bloomery/test/kernel/csp.node.test.ts',
  'apps/console/test/page/**',
  'apps/annotator/test/browser/**',
  'packages/stores/src/dictionaries/{hyphenation,passwords}/**',
  'packages/stores/test/spelling/words.test.ts',
  'packages/stores/test/{join,layered}/**',
  'packages/stores/src/join/postgres-hash.test.ts',
  'packages/packets/test/{captures,exports}/**',
  'packages/packets/test/queues/real-tcp.test.ts',
  'apps/cli/test/commands/{hyphenate,password,spell}.test.ts',
  // More than 5 s of CPU time at a tenth of the effort, or a gigabyte of memory.
  'packages/bloomery/test/filters/large.node.test.ts',
  'packages/bloomery/test/kernel/twins.test.ts',
];

// Vitest's own default is one worker fewer than there are cores, so one of two cores would stand
// idle for half of the run. Node's tests come first with a worker on each core, then Chromium's
// with a page on each.
const maxWorkers = availableParallelism();

export default defineConfig({
  define: { __BLOOMERY_EFFORT__: String(effort) },
  test: {
    testTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          environment: 'node',
          maxWorkers,
          sequence: { groupOrder: 1 },
          include: [
            '{packages,apps}/*/{src,test}/**/*.test.ts',
            'tools/**/*.test.{mjs,ts}',
            'bench/simulation-page/*.test.ts',
          ],
          exclude: ['**/*.browser.test.ts', '**/node_modules/**', ...(effort < 1 ? notQuick : [])],
        },
      },
      {
        extends: true,
        // Node runs the same arithmetic in full, so `npm test` repeats a quarter of it here. The
        // full form repeats all.
        define: { __BLOOMERY_EFFORT__: String(effort > 1 ? effort : effort / 4) },
        // Cross-origin isolation, so that SharedArrayBuffer exists in the page.
        server: {
          headers: {
            'Cross-Origin-Opener-Policy': 'same-origin',
            'Cross-Origin-Embedder-Policy': 'require-corp',
          },
        },
        test: {
          name: 'chromium',
          maxWorkers,
          sequence: { groupOrder: 2 },
          include: isomorphicTests,
          exclude: ['**/*.node.test.ts', '**/node_modules/**'],
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({
              launchOptions: {
                executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
                args: [
                  '--no-sandbox',
                  '--disable-gpu',
                  '--disable-quic',
                  '--no-first-run',
                  '--disable-background-networking',
                  '--disable-component-update',
                  '--disable-sync',
                ],
              },
            }),
            instances: [{ browser: 'chromium' }],
          },
        },
      },
    ],
  },
});
