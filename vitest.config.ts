import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const isomorphicTests = ['packages/bloomery/{src,test}/**/*.test.ts'];

export default defineConfig({
  define: { __BLOOMERY_EFFORT__: process.env.BLOOMERY_EFFORT ?? '1' },
  test: {
    testTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          environment: 'node',
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
        // Cross-origin isolation, so that SharedArrayBuffer exists in the page.
        server: {
          headers: {
            'Cross-Origin-Opener-Policy': 'same-origin',
            'Cross-Origin-Embedder-Policy': 'require-corp',
          },
        },
        test: {
          name: 'chromium',
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
