// Makes a fresh clone ready, with nothing but Node: checks its version, installs the packages, builds the
// packages, and installs what the tests need. Each step is skipped when it is done already.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installPrograms } from './install-programs.mjs';
import { nodeVersionProblem } from './node-version.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

export function setUp({ tests = false } = {}) {
  checkNode();
  installPackages();
  step('building the packages', 'npm', ['run', '--silent', 'build']);
  if (!tests) return;
  const problem = installPrograms();
  if (problem !== undefined) fail(problem);
}

export function step(what, command, args, options = {}) {
  console.log(`\n— ${what}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (error) fail(`${what}: cannot run ${command}: ${error.message}`);
  if (status !== 0) fail(`${what} failed: ${command} ${args.join(' ')}`);
}

export function fail(message) {
  console.error(`\n${message}`);
  process.exit(1);
}

export function checkNode() {
  const { engines } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
  const problem = nodeVersionProblem(process.versions.node, engines.node);
  if (problem !== undefined) fail(problem);
}

function installPackages() {
  const installed = `${root}node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs)
    return;
  // Not `npm ci`: it refuses a lock file that does not list the optional packages of every other platform, and not
  // every registry has all of them. The versions are those of the lock file all the same.
  step('installing packages', 'npm', ['install', '--no-save', '--no-audit', '--no-fund']);
}
