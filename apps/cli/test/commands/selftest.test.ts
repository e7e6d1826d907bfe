import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import {
  EARLIER_FRAMES,
  GOLDEN_FRAMES,
  RANGE_FRAME,
  WORKED_EXAMPLE,
} from '../../src/selftest/golden-frames.ts';
import { SAMPLES } from '../../src/selftest/sample-filters.ts';
import { bloomery, COMMAND, PACKAGE, temporaryFolder } from '../run-command.ts';

test('this build passes, a line each', () => {
  const { code, stdout, stderr } = bloomery(['selftest']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const lines = stdout.trim().split('\n');
  expect(lines.length).toBeGreaterThan(20);
  for (const line of lines.slice(0, -1)) expect(line).toMatch(/^✓ .* \d+(\.\d+)? s {2}\S/);
  expect(lines.at(-1)).toMatch(/^all is well: WebAssembly on Node v\d+/);
});

test('there is a pinned frame for every sample, and the first is the worked example of the documentation', () => {
  expect(Object.keys(GOLDEN_FRAMES)).toEqual(Object.keys(SAMPLES));
  expect(GOLDEN_FRAMES.bloom).toBe(WORKED_EXAMPLE);
  const page = readFileSync(
    fileURLToPath(new URL('../../../../docs/spec/frame.md', import.meta.url)),
    'utf8',
  );
  const [, dump] = /holding the strings `key-0` to `key-19`, is these 57 bytes:\s*```([^`]*)```/.exec(page)!;
  // Each line: bytes of two digits, then at least two spaces and what they are.
  const bytes = [...dump.matchAll(/^((?:[0-9A-F]{2} ?)+)/gm)]
    .map(([, text]) => text.replaceAll(' ', ''))
    .join('');
  expect(WORKED_EXAMPLE).toBe(bytes.toLowerCase());
  // All thirteen structures are pinned. An earlier form is not the one that is written today.
  const codes = new Set(
    [...Object.values(GOLDEN_FRAMES), RANGE_FRAME].map((frame) => Number.parseInt(frame.slice(10, 12), 16)),
  );
  expect([...codes].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  for (const [name, frame] of Object.entries(EARLIER_FRAMES)) expect(GOLDEN_FRAMES[name]).not.toBe(frame);
});

test('a build that writes other bytes fails: exit code 1, and the line says where', () => {
  const folder = temporaryFolder();
  cpSync(join(PACKAGE, 'bin'), join(folder, 'bin'), { recursive: true });
  cpSync(join(PACKAGE, 'package.json'), join(folder, 'package.json'));
  changeBuilt(join(folder, 'bin'), '067D2051', '067D2050');
  const { status, stdout } = spawnSync(process.execPath, [
    join(folder, 'bin/bloomery.js'),
    'selftest',
    'pinned',
    '--json',
  ]);
  expect(status).toBe(1);
  const { failed, checks } = JSON.parse(stdout.toString());
  expect(failed).toBe(1);
  expect(checks.filter(({ outcome }: { outcome: string }) => outcome === 'failed')).toEqual([
    expect.objectContaining({
      name: 'pinned bytes of every structure',
      detail: 'the worked example of docs/spec/frame.md: byte 31 is 81, expected 80',
    }),
  ]);
});

/** Changes a text in whichever built file has it. */
function changeBuilt(built: string, text: string, other: string): void {
  let changes = 0;
  for (const name of readdirSync(built, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.js')) continue;
    const before = readFileSync(join(built, name), 'utf8');
    if (!before.includes(text)) continue;
    writeFileSync(join(built, name), before.replace(text, other));
    changes++;
  }
  expect(changes).toBe(1);
}

test('a check that is not there is exit code 2, and the others are named', () => {
  const { code, stdout, stderr } = bloomery(['selftest', 'rates of sheep']);
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/no check has "rates of sheep" in its name; there are: hashes of known keys; /);
});

test('without WebAssembly the kernels cannot be compared, and all else holds', () => {
  const args = [
    '--import',
    'data:text/javascript,delete globalThis.WebAssembly',
    COMMAND,
    'selftest',
    'agree',
    'pinned',
    'split',
    '--json',
  ];
  const { status, stdout } = spawnSync(process.execPath, args);
  expect(status).toBe(0);
  const { kernel, failed, checks } = JSON.parse(stdout.toString());
  expect({ kernel, failed }).toEqual({ kernel: 'JavaScript', failed: 0 });
  const skipped = checks.filter(({ outcome }: { outcome: string }) => outcome === 'skipped');
  expect(checks).toHaveLength(3);
  expect(skipped).toHaveLength(1);
  expect(skipped[0].detail).toMatch(/Cannot compile WebAssembly/);
});
