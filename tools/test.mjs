// `npm test`: everything that must hold before a change lands, on a fresh clone as well as on a used one.
// Ends with one line that counts the tests.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setUp, step } from './setup.mjs';

const started = Date.now();
setUp({ tests: true });
step('checking format and lint', 'npx', ['biome', 'ci', '--error-on-warnings', '.']);
step('checking types', 'npm', ['run', '--silent', 'check:types']);
step('checking package boundaries', 'node', ['tools/check-boundaries.mjs']);
step('checking that frames keep their bytes', 'node', ['tools/check-frames.mjs']);
step('checking the links of the pages', 'node', ['tools/check-links.mjs']);
step('checking the embedded kernel', 'node', ['tools/build-kernel.mjs', '--check']);
step('checking bundle sizes', 'node', ['tools/check-bundles.mjs']);
step('measuring what docs/guide/which-filter.md says', 'node', ['tools/which-filter.mjs']);
step('running the examples', 'node', ['tools/run-examples.mjs']);
step('running the transcript of the README', 'node', ['tools/transcript.mjs']);

const folder = mkdtempSync(join(tmpdir(), 'bloomery-test-'));
const report = join(folder, 'report.json');
step('running the tests in Node and in Chromium', 'npx', [
  'vitest',
  'run',
  '--reporter=dot',
  '--reporter=json',
  `--outputFile.json=${report}`,
]);
const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, 'utf8'));
rmSync(folder, { recursive: true });
console.log(`\nAll checks passed in ${Math.round((Date.now() - started) / 1000)} s.`);
console.log(`tests: ${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
