// How the cache does in http-tests/cache-tests, the suite behind cache-tests.fyi, in a checkout of
// it that was set up as its README says:
//
//     npm run conformance -- --checkout DIR [--write]
//
// Starts the suite's server, a built node with its store in memory as a reverse proxy before it,
// and the suite's client, all on 127.0.0.1. Prints "158 of 160 required, 96 of 105 optimal" and
// exits with 1 if a test does not do what tools/conformance/differences.json says, in either
// direction. Tests that surprise are run a second time, alone: on a busy machine a test of
// freshness may come too late. `--write` writes the figures into the list, and figures and table
// into the page docs/spec/cache-conformance.md. No part of the suite is in this repository.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { keepPage, summaryOf, verdictOf } from './conformance/verdict.mjs';

/**
 * A test of the suite, as far as it is read here.
 * @typedef {{ id: string, kind?: 'required' | 'optimal' | 'check', browser_only?: boolean }} SuiteTest
 */

const at = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const LIST = at('./conformance/differences.json');
const PAGE = at('../docs/spec/cache-conformance.md');
const COMMAND = at('../apps/cli/bin/bloomery.js');

const { values } = parseArgs({
  options: { checkout: { type: 'string' }, write: { type: 'boolean', default: false } },
});
const checkout = resolve(
  values.checkout ?? fail('--checkout DIR is missing: a checkout of http-tests/cache-tests'),
);
for (const path of ['test-engine/server/server.mjs', 'tests/index.mjs', 'node_modules/undici']) {
  if (!existsSync(join(checkout, path)))
    fail(`${join(checkout, path)} is missing: set the suite up as its README says`);
}
if (!existsSync(COMMAND)) fail(`${COMMAND} is missing: npm run build`);
const expected = JSON.parse(readFileSync(LIST, 'utf8'));

/** @type {import('node:child_process').ChildProcess[]} */
const children = [];
let exitCode = 1;
try {
  exitCode = await main();
} finally {
  for (const child of children) child.kill('SIGTERM');
  await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
}
process.exit(exitCode);

async function main() {
  const origin = await startOrigin();
  const node = await startNode(origin);
  const suite = await loadSuite();
  const ran = suite.tests.flatMap(({ tests }) => tests).filter((test) => test.browser_only !== true);
  console.error(`suite at ${commitOf(checkout)}: ${ran.length} tests, a minute or two`);
  await suite.runTests(suite.tests, false, node);
  let { counts, surprises } = verdictOf(suite.results(), expected);
  if (surprises.length > 0) {
    const again = ran.filter(({ id }) => surprises.some((line) => line.startsWith(`${id} `)));
    for (const test of again) {
      console.error(`again, alone: ${test.id}`);
      await suite.runAgain(test, node);
    }
    ({ counts, surprises } = verdictOf(suite.results(), expected));
  }
  console.log(summaryOf(counts));
  for (const line of surprises) console.log(line);
  if (values.write) {
    const list = { ...expected, ...counts };
    writeFileSync(LIST, `${JSON.stringify(list, null, 2)}\n`);
    execFileSync(at('../node_modules/.bin/biome'), ['format', '--write', LIST], { stdio: 'ignore' });
    keepPage(PAGE, list, true);
  }
  return surprises.length === 0 ? 0 : 1;
}

/** The suite's own client. Its results count a test whose dependency fails as not shown. */
async function loadSuite() {
  const load = (/** @type {string} */ path) => import(pathToFileURL(join(checkout, path)).href);
  /** @type {{ default: { tests: SuiteTest[] }[] }} */
  const { default: tests } = await load('tests/index.mjs');
  const { runTests } = await load('test-engine/client/runner.mjs');
  const { testResults } = await load('test-engine/client/test.mjs');
  const { determineTestResult, resultTypes } = await load('test-engine/lib/results.mjs');
  // A run writes dates into the tests, so a second run needs them as they were.
  const fresh = structuredClone(tests).flatMap((set) => set.tests);
  const runAgain = async (/** @type {SuiteTest} */ { id }, /** @type {string} */ base) => {
    delete testResults[id]; // the client refuses a test that has a result
    await runTests([{ tests: fresh.filter((test) => test.id === id) }], false, base);
  };
  const results = () =>
    tests
      .flatMap((set) => set.tests)
      .filter(({ id }) => id in testResults)
      .flatMap(({ id, kind = 'required' }) => {
        if (kind === 'check') return [];
        return { id, kind, passed: determineTestResult(tests, id, testResults) === resultTypes.pass };
      });
  return { tests, runTests, runAgain, results };
}

async function startOrigin() {
  const port = await freePort();
  const child = start(['--import', at('./conformance/loopback-only.mjs'), 'test-engine/server/server.mjs'], {
    cwd: checkout,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      npm_config_protocol: 'http',
      npm_config_port: String(port),
      npm_config_pidfile: join(tmpdir(), `cache-tests-${process.pid}.pid`),
    },
  });
  await lineOf(child, /^Listening on /);
  return `http://127.0.0.1:${port}`;
}

/** @param {string} origin */
async function startNode(origin) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  start(
    [
      COMMAND,
      'cache',
      '--listen',
      `127.0.0.1:${port}`,
      '--upstream',
      `/=${origin}/`,
      '--no-disk',
      '--log-level',
      'error',
    ],
    {},
  );
  for (let tries = 0; ; tries++) {
    try {
      await fetch(`${url}/`, { headers: { connection: 'close' } }).then((answer) => answer.arrayBuffer());
      return url;
    } catch (error) {
      if (tries > 200)
        throw new Error(`Cannot reach the node: expected an answer at ${url}`, { cause: error });
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}

/**
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 */
function start(args, options) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options });
  children.push(child);
  return child;
}

/**
 * Waits for a line of a program, and reads the others too, so that the program never blocks.
 * @param {import('node:child_process').ChildProcess} child
 * @param {RegExp} pattern
 */
async function lineOf(child, pattern) {
  if (child.stdout === null) throw new Error("Cannot read the suite's server: expected a pipe, got none");
  const lines = createInterface({ input: child.stdout });
  const found = new Promise((done) => lines.on('line', (line) => pattern.test(line) && done(true)));
  const ended = once(child, 'exit').then(() => false);
  if (!(await Promise.race([found, ended]))) {
    throw new Error(`Cannot start the suite's server: expected a line ${pattern}, got its end`);
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/** @param {string} folder */
function commitOf(folder) {
  try {
    return execFileSync('git', ['-C', folder, 'rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return 'an unknown commit';
  }
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  console.error(message);
  process.exit(2);
}
