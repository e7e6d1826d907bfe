// Makes a fresh clone ready, with nothing but Node: checks its version, installs the packages, builds the
// library, and, if the tests need it, installs Chromium. Each step is skipped when it is done already.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export function setUp({ browser = false } = {}) {
  checkNode();
  installPackages();
  step('building the library', 'npm', ['run', '--silent', 'build']);
  if (browser) installChromium();
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

function checkNode() {
  const wanted = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
  if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
    fail(`Bloomery needs Node ${wanted} or later; this is ${process.versions.node}.`);
  }
}

function installPackages() {
  const installed = `${root}node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs)
    return;
  // Not `npm ci`: it refuses a lock file that does not list the optional packages of every other platform, and not
  // every registry has all of them. The versions are those of the lock file all the same.
  step('installing packages', 'npm', ['install', '--no-save', '--no-audit', '--no-fund']);
}

// The browser tests run in the distribution's Chromium; CHROMIUM_PATH names another one.
function installChromium() {
  const path = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
  if (existsSync(path)) return;
  const help =
    'The browser tests need Chromium. Install it (Debian, Ubuntu: apt-get install chromium), or set ' +
    'CHROMIUM_PATH to a Chromium or Chrome. To run the Node tests alone: npx vitest run --project node';
  if (process.env.CHROMIUM_PATH) fail(`CHROMIUM_PATH is ${path}, but there is no such file.\n${help}`);
  if (process.getuid?.() !== 0 || !hasCommand('apt-get')) fail(help);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  step('looking for packages', 'apt-get', ['update', '-qq'], { env });
  step('installing Chromium', 'apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'chromium'], {
    env,
  });
  if (!existsSync(path)) fail(help);
}

function hasCommand(name) {
  try {
    execFileSync('which', [name], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
