import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findOnPath, installPrograms } from './install-programs.mjs';

/**
 * A machine that lacks `missing`, with an apt-get that installs everything except `broken`, and that fails at
 * the steps in `failing`. `calls` collects what apt-get was asked to do.
 */
function bareMachine({ missing, broken = [], failing = [], isRoot = true }) {
  const lacking = new Set(missing);
  const calls = [];
  const has = (name) => !lacking.has(name);
  const runApt = (_what, args) => {
    calls.push(args);
    if (failing.includes(args[0])) return false;
    if (args[0] === 'install') for (const name of missing) if (!broken.includes(name)) lacking.delete(name);
    return true;
  };
  return { calls, options: { machine: { isRoot, hasCommand: has, hasFile: has }, runApt } };
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

test('installPrograms reports a program that is still missing after apt-get succeeded', () => {
  const { options } = bareMachine({ missing: ['pip', 'bloom'], broken: ['bloom'] });
  const problem = installPrograms(options);
  expect(problem).toContain('apt-get reported success');
  expect(problem).toContain('  bloom (');
  expect(problem).not.toContain('  pip (');
});

let folder;
afterEach(() => folder && rmSync(folder, { recursive: true }));

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
