import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findOnPath, installPrograms } from './install-programs.mjs';

/**
 * A machine that lacks `missing`, with an apt-get that installs everything except `broken`, and
 * that fails at the steps in `failing`. Another apt-get holds the lock for the first `lockedFor`
 * calls. `calls` collects what apt-get was asked to do, and the pauses between.
 * @param {object} options
 * @param {string[]} options.missing
 * @param {string[]} [options.broken]
 * @param {(string | undefined)[]} [options.failing]
 * @param {number} [options.lockedFor]
 * @param {boolean} [options.isRoot]
 */
function bareMachine({ missing, broken = [], failing = [], lockedFor = 0, isRoot = true }) {
  const lacking = new Set(missing);
  /** @type {(string | number)[][]} */
  const calls = [];
  const has = (/** @type {string} */ name) => !lacking.has(name);
  let locked = lockedFor;
  const pause = (/** @type {number} */ seconds) => calls.push(['pause', seconds]);
  /**
   * @param {string[]} args
   * @returns {'done' | 'failed' | 'locked'}
   */
  const runApt = (args) => {
    calls.push(args);
    if (locked-- > 0) return 'locked';
    if (failing.includes(args[0])) return 'failed';
    if (args[0] === 'install') for (const name of missing) if (!broken.includes(name)) lacking.delete(name);
    return 'done';
  };
  const machine = { chromiumPath: undefined, isRoot, hasCommand: has, hasFile: has };
  return { calls, options: { machine, runApt, pause } };
}

test('installPrograms succeeds on a machine that lacked a command and a file', () => {
  const { calls, options } = bareMachine({ missing: ['pip', '/usr/bin/chromium'] });
  expect(installPrograms(options)).toBeUndefined();
  expect(calls.map(([action]) => action)).toEqual(['update', 'install']);
  expect(calls[1].slice(-2)).toEqual(['chromium', 'python3-pip']);
});

test('installPrograms leaves apt-get alone when nothing is missing', () => {
  const { calls, options } = bareMachine({ missing: [] });
  expect(installPrograms(options)).toBeUndefined();
  expect(calls).toEqual([]);
});

test('installPrograms does not start apt-get for a user who is not root', () => {
  const { calls, options } = bareMachine({ missing: ['pip'], isRoot: false });
  expect(installPrograms(options)).toContain('sudo apt-get install');
  expect(calls).toEqual([]);
});

test('installPrograms goes on when apt-get update fails', () => {
  const { calls, options } = bareMachine({ missing: ['pip'], failing: ['update'] });
  expect(installPrograms(options)).toBeUndefined();
  expect(calls).toHaveLength(2);
});

test('installPrograms reports that apt-get install failed', () => {
  const { options } = bareMachine({ missing: ['pip'], failing: ['install'] });
  expect(installPrograms(options)).toContain('apt-get could not install them');
});

test('installPrograms waits while another apt-get holds the lock', () => {
  const { calls, options } = bareMachine({ missing: ['pip'], lockedFor: 2 });
  expect(installPrograms(options)).toBeUndefined();
  expect(calls.map(([action]) => action)).toEqual([
    'update',
    'pause',
    'update',
    'pause',
    'update',
    'install',
  ]);
});

test('installPrograms waits no longer than five minutes for each step', () => {
  const { calls, options } = bareMachine({ missing: ['pip'], lockedFor: Number.POSITIVE_INFINITY });
  expect(installPrograms(options)).toContain('apt-get could not install them');
  const pauses = calls.filter(([action]) => action === 'pause').map(([, seconds]) => seconds);
  expect(pauses.map(Number).reduce((sum, seconds) => sum + seconds, 0)).toBe(2 * 300);
});

test('installPrograms reports a program that is still missing after apt-get succeeded', () => {
  const { options } = bareMachine({ missing: ['pip', 'bloom'], broken: ['bloom'] });
  const problem = installPrograms(options);
  expect(problem).toContain('apt-get reported success');
  expect(problem).toContain('  bloom (');
  expect(problem).not.toContain('  pip (');
});

let folder = '';
afterEach(() => {
  if (folder !== '') rmSync(folder, { recursive: true });
});

test('findOnPath finds an executable file in any folder of the path, and nothing else', () => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-path-'));
  for (const name of ['a', 'b']) mkdirSync(join(folder, name));
  for (const name of ['a/readable', 'b/tool']) writeFileSync(join(folder, name), '#!/bin/sh\n');
  chmodSync(join(folder, 'a/readable'), 0o644);
  chmodSync(join(folder, 'b/tool'), 0o755);
  const path = ['', join(folder, 'a'), join(folder, 'b')].join(delimiter);
  expect(findOnPath('tool', path)).toBe(join(folder, 'b/tool'));
  expect(findOnPath('readable', path)).toBeUndefined();
  expect(findOnPath('other', path)).toBeUndefined();
  expect(findOnPath('tool', '')).toBeUndefined();
});
