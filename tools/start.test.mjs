import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'bloomery-start-'));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('npm start ends the program when npm is ended by its id', async () => {
  // npm runs a script by `sh -c`. dash starts the program as a child of its own and does not pass
  // signals on, so without `exec` the program would go on alone.
  const start = scripts.start.replace('tools/start.mjs', 'program.mjs');
  expect(start).not.toBe(scripts.start);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { start } }));
  writeFileSync(
    join(folder, 'program.mjs'),
    `process.once('SIGTERM', () => { console.log('stopped'); process.exit(); });
    setTimeout(() => process.exit(1), 60_000);
    console.log('ready');`,
  );
  const npm = spawn('npm', ['start', '--silent'], { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  npm.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
    if (said === 'ready\n') npm.kill('SIGTERM');
  });
  // Closed when the last process that writes to it has ended.
  await once(npm.stdout, 'close');
  expect(said).toBe('ready\nstopped\n');
});
