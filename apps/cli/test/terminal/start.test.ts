/** The start of the built command: what it loads before it does its work. */

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../run-command.ts';

const scratch = temporaryFolder();
const LINKED = new URL('../../../../packages/bloomery/bin/bloomery.js', import.meta.url);

/** Runs the command with a pipe as its output, and returns the modules of Node that it loaded. */
function loadedBy(args: readonly string[]): { output: string; modules: string[] } {
  const script = `const { writeSync } = process.getBuiltinModule('node:fs');
    process.on('exit', () => writeSync(2, process.moduleLoadList.join('\\n')));
    await import(${JSON.stringify(LINKED.href)});`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', script, '--', fileURLToPath(LINKED), ...args],
    { encoding: 'utf8', env: { ...process.env, HOME: scratch, XDG_CACHE_HOME: '', FORCE_COLOR: '' } },
  );
  return { output: stdout, modules: stderr.split('\n').map((line) => line.split(' ').at(-1)!) };
}

test('grep loads one file, and no module of the network for its output', () => {
  writeFileSync(join(scratch, 'a.log'), 'one line with a needle\n');
  const { output, modules } = loadedBy(['grep', '-s', 'needle', join(scratch, 'a.log')]);
  expect(output).toBe('one line with a needle\n');
  expect(modules).toContain('zlib');
  for (const name of ['net', 'child_process', 'tty', 'worker_threads', 'internal/fs/streams'])
    expect(modules).not.toContain(name);
});
