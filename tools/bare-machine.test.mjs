import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const bareMachine = (/** @type {string[]} */ ...args) =>
  spawnSync(fileURLToPath(new URL('bare-machine', import.meta.url)), args, { encoding: 'utf8' });

test('tools/bare-machine --help explains every option, without root', () => {
  const { status, stdout, stderr } = bareMachine('--help');
  expect([status, stderr]).toEqual([0, '']);
  for (const option of ['--data', '--home', '--mirror', '--user', '--without-node', '--file', '--rebuild']) {
    expect(stdout).toContain(`\n  ${option} `);
  }
});

test('tools/bare-machine refuses an option that it does not know', () => {
  const { status, stderr } = bareMachine('--dta', '/tmp');
  expect(status).toBe(2);
  expect(stderr).toBe('Cannot make a bare machine: expected an option of --help, got --dta\n');
});
