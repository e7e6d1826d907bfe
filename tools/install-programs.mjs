// Installs the programs that the tests need, if required-programs.mjs says that this machine can.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { planPrograms, problemAfterInstall } from './required-programs.mjs';

/**
 * Seconds to wait for another apt-get or dpkg, for instance the daily upgrade of a machine that was
 * just started.
 */
const LOCK_SECONDS = 300;
const PAUSE_SECONDS = 5;

/**
 * @param {object} [world]
 * @param {import('./required-programs.mjs').Machine} [world.machine]
 * @param {(args: string[]) => 'done' | 'failed' | 'locked'} [world.runApt] runs apt-get
 * @param {(seconds: number) => void} [world.pause] waits this many seconds
 * @returns {string | undefined} the problem, or undefined if the tests can run
 */
export function installPrograms({ machine = thisMachine(), runApt = runAptHere, pause = pauseHere } = {}) {
  const plan = planPrograms(machine);
  if (plan.action === 'ready') return undefined;
  if (plan.action === 'fail') return plan.message;
  // We tried DPkg::Lock::Timeout: apt-get then waits for the lock of dpkg, but not for those of its
  // lists and archives.
  const patiently = (/** @type {string} */ what, /** @type {string[]} */ args) => {
    console.log(`\n— ${what}`);
    for (let waited = 0; ; waited += PAUSE_SECONDS) {
      const outcome = runApt(args);
      if (outcome !== 'locked' || waited >= LOCK_SECONDS) return outcome === 'done';
      pause(PAUSE_SECONDS);
    }
  };
  // A failed update is no reason to stop: one source of several may be down, and old lists may do.
  patiently('looking for packages', ['update', '-qq']);
  const options = ['-y', '-qq', '--no-install-recommends'];
  const installed = patiently(`installing ${plan.packages.join(' ')}`, [
    'install',
    ...options,
    ...plan.packages,
  ]);
  return problemAfterInstall(machine, { aptFailed: !installed });
}

/** @returns {import('./required-programs.mjs').Machine} */
function thisMachine() {
  return {
    chromiumPath: process.env.CHROMIUM_PATH,
    hasCommand: (name) => findOnPath(name) !== undefined,
    hasFile: existsSync,
    isRoot: process.getuid?.() === 0,
  };
}

/**
 * The program that a shell would start for this name.
 * @param {string} name
 * @param {string} [path]
 */
export function findOnPath(name, path = process.env.PATH ?? '') {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {string[]} args
 * @returns {'done' | 'failed' | 'locked'}
 */
function runAptHere(args) {
  const { status, error, stderr } = spawnSync('apt-get', args, {
    stdio: ['ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
    maxBuffer: Number.POSITIVE_INFINITY,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8' },
  });
  process.stderr.write(error ? `Cannot run apt-get: ${error.message}\n` : stderr);
  if (status === 0) return 'done';
  return /Could not get lock/.test(stderr) ? 'locked' : 'failed';
}

/** @param {number} seconds */
function pauseHere(seconds) {
  console.log(`waiting ${seconds} s for it`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000 * seconds);
}
