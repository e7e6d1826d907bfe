// Installs the programs that the tests need, as far as required-programs.mjs says that this machine can.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { planPrograms, problemAfterInstall } from './required-programs.mjs';

/** Seconds that apt-get waits for another apt-get or dpkg, for instance the nightly upgrade, before it gives up. */
const LOCK_SECONDS = 300;

/** @returns what is wrong, or undefined if the tests can run */
export function installPrograms({ machine = thisMachine(), runApt = runAptHere } = {}) {
  const plan = planPrograms(machine);
  if (plan.action === 'ready') return undefined;
  if (plan.action === 'fail') return plan.message;
  // A failed update is no reason to stop: one source of several may be down, and old lists may do.
  runApt('looking for packages', ['update', '-qq']);
  const installed = runApt(`installing ${plan.packages.join(' ')}`, [
    'install',
    '-y',
    '-qq',
    '--no-install-recommends',
    ...plan.packages,
  ]);
  return problemAfterInstall(machine, { aptFailed: !installed });
}

function thisMachine() {
  return {
    chromiumPath: process.env.CHROMIUM_PATH,
    hasCommand: (name) => findOnPath(name) !== undefined,
    hasFile: existsSync,
    isRoot: process.getuid?.() === 0,
  };
}

/** The program that a shell would start for this name. */
export function findOnPath(name, path = process.env.PATH ?? '') {
  return path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function runAptHere(what, args) {
  console.log(`\n— ${what}`);
  const { status, error } = spawnSync('apt-get', ['-o', `DPkg::Lock::Timeout=${LOCK_SECONDS}`, ...args], {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
  if (error) console.error(`Cannot run apt-get: ${error.message}`);
  return status === 0;
}
