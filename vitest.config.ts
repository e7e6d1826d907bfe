// The tests of the workspace: every file in Node, those of the library in Chromium as well.

import { availableParallelism } from 'node:os';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const effort = Number(process.env.BLOOMERY_EFFORT ?? 1);
if (!(effort > 0))
  throw new RangeError(`Cannot run tests: BLOOMERY_EFFORT is a number above 0, got ${effort}`);

const isomorphicTests = ['packages/bloomery/{src,test}/**/*.test.ts'];

// Vitest's own default is one worker fewer than there are cores, so one of two cores would stand idle for half of the
// run. Node's tests come first with a worker on each core, then Chromium's with a page on each.
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
            ...isomorphicTests,
            'packages/{cache,files,stores}/{src,test}/**/*.test.ts',
            'apps/*/{src,test}/**/*.test.ts',
            'tools/**/*.test.{mjs,ts}',
          ],
          exclude: ['**/*.browser.test.ts', '**/node_modules/**'],
        },
      },
      {
        extends: true,
        // Node runs the same arithmetic in full, so `npm test` repeats a quarter of it here. The full form repeats all.
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
