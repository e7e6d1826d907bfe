// Makes a fresh clone ready, with nothing but Node and npm: checks Node's version, installs npm's
// packages, builds ours, and installs the programs that the tests need. A step that is done already
// is skipped.
//
// Packages are installed by `npm ci`, which takes exactly what package-lock.json says. There is no
// fallback when it fails: a lock file that npm ci refuses is a fault, and tools/lock-file.test.mjs
// finds it.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { reasonToBuild, reasonToInstall } from './build-record.mjs';
import { installPrograms } from './install-programs.mjs';
import { nodeVersionProblem } from './node-version.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Sets the clone up. With `tests` it always builds, and installs the programs that the tests need.
 */
export function setUp({ tests = false } = {}) {
  checkNode();
  const toInstall = reasonToInstall(root);
  if (toInstall !== undefined) {
    step(`installing packages: ${toInstall}`, 'npm', ['ci', '--no-audit', '--no-fund'], {
      hint: 'After a change of dependencies in a package.json, run npm install: it brings package-lock.json up to date.',
    });
  }
  const toBuild = tests ? 'for the tests' : reasonToBuild(root);
  if (toBuild !== undefined) {
    step(`building the packages: ${toBuild}`, 'npm', ['run', '--silent', 'build']);
  }
  if (!tests) return;
  const problem = installPrograms();
  if (problem !== undefined) fail(problem);
}

/**
 * Runs a command; if it fails, ends this program with a message and with `hint`.
 * @param {string} what
 * @param {string} command
 * @param {string[]} args
 * @param {{ hint?: string }} [options]
 */
export function step(what, command, args, { hint } = {}) {
  if (!attempt(what, command, args))
    fail([`Failed: ${command} ${args.join(' ')} (${what})`, hint].filter(Boolean).join('\n'));
}

/**
 * Runs a command, and returns whether it succeeded.
 * @param {string} what
 * @param {string} command
 * @param {string[]} args
 */
export function attempt(what, command, args) {
  console.log(`\n— ${what}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (error) fail(`Cannot run ${command}: ${error.message} (${what})`);
  return status === 0;
}

/**
 * @param {string} message
 * @returns {never}
 */
export function fail(message) {
  console.error(`\n${message}`);
  process.exit(1);
}

function checkNode() {
  const { engines } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  const problem = nodeVersionProblem(process.versions.node, engines.node);
  if (problem !== undefined) fail(problem);
}
