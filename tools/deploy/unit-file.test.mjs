// deploy/bloomery-cache.service and deploy/cache.json. systemd itself reads the unit where
// systemd-analyze exists; no test starts it, because that needs a machine that systemd booted.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { loadConfig } from '../../packages/cache/src/node/config/node-config.ts';
import { parseUnit, settingsOfUnit, unitProblems } from './unit-file.mjs';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));
const text = readFileSync(join(deploy, 'bloomery-cache.service'), 'utf8');
const scratch = mkdtempSync(join(tmpdir(), 'bloomery-unit-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
const why = hasSystemd ? '' : ' (skipped: this machine has no systemd-analyze)';

test('the unit fits the settings of the cache', () => {
  expect(unitProblems(parseUnit(text))).toEqual([]);
});

test.each([
  ['=bloomery cache', '=bloomery proxy', 'ExecStart does not start bloomery cache'],
  ['--quiet', '--quite', '--quite is no flag of the cache'],
  ['CACHE_DISK=', 'CACHE_DISC=', 'BLOOMERY_CACHE_DISC is no setting of the cache'],
  ['NoNewPrivileges=yes', 'NoNewPrivileges=no', 'NoNewPrivileges is no, expected yes'],
  ['CapabilityBoundingSet=\n', '', 'CapabilityBoundingSet is not set, expected the empty list'],
  ['TIMEOUT=30s', 'TIMEOUT=45s', 'TimeoutStopSec is 45000 ms, expected more than a drain, 45000 ms'],
  ['MemoryMax=1G', 'MemoryMax=0G', 'MemoryMax is 0 GiB, expected 768000000 bytes or more'],
  ['=%d/', '=/etc/bloomery/', 'the secret of the fleet is not the credential of the unit'],
  ['StateDirectory=b', 'StateDirectory=d', 'the disk store is not below StateDirectory'],
  ['-HUP', '-INT', 'ExecReload does not send SIGHUP'],
  ['KillMode=mixed', 'KillMode=process', 'a stop does not send SIGTERM to the primary alone'],
  ['DynamicUser=yes', 'DynamicUser=yes\nMemoryDenyWriteExecute=yes', 'MemoryDenyWriteExecute stops V8'],
])('a unit with a fault in %s is refused', (found, fault, problem) => {
  expect(text).toContain(found);
  expect(unitProblems(parseUnit(text.replace(found, fault)))).toContain(problem);
});

test('cache.json is a configuration that the cache accepts, with the variables of the unit', () => {
  const secret = join(scratch, 'fleet.secret');
  writeFileSync(secret, 'a secret of at least sixteen bytes\n', { mode: 0o600 });
  const flags = { ...settingsOfUnit(parseUnit(text)).forLoadConfig(), disk: scratch, peerSecret: secret };
  const config = loadConfig({ file: join(deploy, 'cache.json'), environment: {}, flags });
  expect(config.warnings).toEqual([]);
  expect(config.peers?.listen?.port).toBe(3129);
});

test.skipIf(!hasSystemd)(`systemd accepts the unit${why}`, () => {
  expect(verify(text)).toEqual({ status: 0, output: '' });
  expect(verify(text.replace('RestartSec=', 'RestartSecs=')).output).toContain('RestartSecs');
});

test.skipIf(!hasSystemd)(`systemd rates the exposure of the unit below 2 of 10${why}`, () => {
  expect(exposure(text).status).toBe(0);
  expect(exposure(text.replace('SystemCallFilter=', '#')).status).not.toBe(0);
});

/**
 * systemd insists that the command exists. Node stands in for it, because it does here.
 * @param {string} unit
 */
function write(unit) {
  const path = join(scratch, 'bloomery-cache.service');
  writeFileSync(path, unit.replace('ExecStart=bloomery ', `ExecStart=${process.execPath} `));
  return path;
}

/** @param {string} unit */
function verify(unit) {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', write(unit)], {
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

/** @param {string} unit */
function exposure(unit) {
  return spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', write(unit)]);
}
