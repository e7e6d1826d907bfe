// `npm test` checks everything that must hold before a change lands, on a fresh clone as well as on
// a used one. `npm run test:quick` (--quick) checks as much as a machine with only Node and npm can
// in three minutes, for daily work. Both end with the slowest files and with one line that counts
// the tests. If at most three files fail, they run once more, alone: a test with real processes can
// miss a deadline on a busy machine. The last lines name such files. docs/notes/tests.md has the
// measurements.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attempt, fail, setUp, step } from './setup.mjs';
import { repositoryFiles } from './source/repository-files.mjs';
import { countLine, filesToRepeat, overBudget, slowestFiles } from './test-report.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const quick = process.argv.includes('--quick');
const started = Date.now();

setUp({ tests: !quick });
step('checking format and lint', 'npx', ['biome', 'ci', '--error-on-warnings', '.']);
step('checking types', 'npm', ['run', '--silent', 'check:types']);
step('checking package boundaries', 'node', ['tools/check-boundaries.mjs']);
step('checking the rules of STYLE.md', 'node', ['tools/check-rules.mjs']);
step('checking that every export is used', 'npm', ['run', '--silent', 'check:exports']);
step('checking that frames keep their bytes', 'node', ['tools/check-frames.mjs']);
step('checking the links of the pages', 'node', ['tools/check-links.mjs']);
step('checking the codes of errors', 'node', ['tools/check-errors.mjs']);
step('checking the table of limits', 'node', ['tools/limits-table.mjs']);
step('checking that public functions take a signal', 'node', ['tools/check-signals.mjs']);
if (!quick) {
  step('checking the embedded kernel', 'node', ['tools/build-kernel.mjs', '--check']);
  step('checking bundle sizes', 'node', ['tools/check-bundles.mjs']);
  step('measuring what docs/guide/which-filter.md says', 'node', ['tools/which-filter.mjs']);
  step('running the examples', 'node', ['tools/run-examples.mjs']);
  step('running the transcript of the README', 'node', ['tools/transcript.mjs']);
}

const folder = mkdtempSync(join(tmpdir(), 'bloomery-test-'));
// Below 1, vitest.config.ts also leaves out the files that are slow or need a program of their own.
if (quick) process.env.BLOOMERY_EFFORT ??= '0.1';
const what = quick ? 'running the quick tests in Node' : 'running the tests in Node and in Chromium';
const report = runTests(what, []);
/** @type {string[]} */
let repeated = [];
if (!report.success) {
  repeated = filesToRepeat(report, root);
  if (repeated.length === 0) fail(`Failed: ${countLine(report)}`);
  const again = runTests(`running again, alone: ${repeated.join(', ')}`, repeated);
  if (!again.success) fail(`Failed twice: ${countLine(again)}`);
}
rmSync(folder, { recursive: true });

const seconds = Math.round((Date.now() - started) / 1000);
console.log(`\nThe slowest test files:\n${slowestFiles(report, root).join('\n')}`);
if (quick) console.log(`\n${leftOut()}`);
const warning = overBudget(seconds, quick);
if (warning !== undefined) console.warn(`\n${warning}`);
console.log(`\nAll ${quick ? 'quick ' : ''}checks passed in ${seconds} s.`);
if (repeated.length > 0)
  console.warn(`\nWarning: failed among the others, and passed alone: ${repeated.join(', ')}`);
const numPassedTests = report.numPassedTests + report.numFailedTests;
console.log(countLine({ ...report, numPassedTests, numFailedTests: 0 }));

/**
 * Runs test files, or all of them, and returns the report of Vitest.
 * @param {string} what
 * @param {string[]} files
 * @returns {import('./test-report.mjs').Report & import('./test-report.mjs').Counts & { success: boolean }}
 */
function runTests(what, files) {
  const file = join(folder, `report-${files.length}.json`);
  const project = quick ? ['--project', 'node'] : [];
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${file}`];
  const success = attempt(what, 'npx', ['vitest', 'run', ...project, ...reporters, ...files]);
  if (!existsSync(file)) fail(`Cannot read the report of the tests: expected ${file}`);
  const report = JSON.parse(readFileSync(file, 'utf8'));
  // Errors outside of tests fail a run as well, and the report does not know them.
  return { ...report, success };
}

function leftOut() {
  const all = repositoryFiles(root).filter((path) => /\.test\.(ts|mjs)$/.test(path));
  const ran = new Set(report.testResults.map(({ name }) => name)).size;
  return [
    `Left out: ${all.length - ran} of ${all.length} test files (notQuick in vitest.config.ts), most repetitions of`,
    'random tests, Chromium, the embedded kernel, bundle sizes, examples, the transcript. `npm test` runs all of it.',
  ].join('\n');
}
