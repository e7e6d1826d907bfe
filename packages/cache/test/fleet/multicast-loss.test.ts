/**
 * A fleet by multicast whose datagrams are lost: real processes in a network namespace, and a rule
 * of nft, with a group of IPv4 and with one of IPv6. It needs root, `ip` and `nft`, and is skipped
 * with a reason where one of them is missing.
 */

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { buildSync } from 'esbuild';
import { expect, test } from 'vitest';
import { bundleProgram, PROGRAM_BUILD } from '../node/cache-program.ts';
import { cleanUp, scratchFolder } from '../node/scratch.ts';
import type { LossFigures } from './multicast-loss-program.ts';

const SOURCE = fileURLToPath(new URL('multicast-loss-program.ts', import.meta.url));
const SPACE = `bl-loss-${process.pid}`;

function whyNot(): string | null {
  if (process.getuid?.() !== 0) return 'namespaces need root';
  try {
    execFileSync('nft', ['--version'], { stdio: 'ignore' });
    execFileSync('ip', ['netns', 'add', SPACE], { stdio: 'ignore' });
    execFileSync('ip', ['netns', 'del', SPACE], { stdio: 'ignore' });
    return null;
  } catch {
    return 'this machine has no nft (Debian package nftables), or makes no namespaces';
  }
}

const why = whyNot();
const whyNotSix = why ?? (existsSync('/proc/net/if_inet6') ? null : 'the kernel has no IPv6');

for (const [family, group, missing] of [
  ['IPv4', '239.192.77.4', why],
  ['IPv6', 'ff15::b177:4', whyNotSix],
] as const)
  test.skipIf(missing !== null)(
    `10 % of the datagrams are lost, and all nodes know all objects, by ${family}${missing === null ? '' : ` (skipped: ${missing})`}`,
    async () => {
      const folder = scratchFolder();
      const { stdin: _, ...build } = PROGRAM_BUILD;
      const driver = join(folder, 'driver.mjs');
      buildSync({ ...build, entryPoints: [SOURCE], outfile: driver });
      execFileSync('ip', ['netns', 'add', SPACE]);
      cleanUp(() => {
        const left = execFileSync('ip', ['netns', 'pids', SPACE], { encoding: 'utf8' }).split('\n');
        for (const pid of left.filter((line) => line !== '')) process.kill(Number(pid), 'SIGKILL');
        execFileSync('ip', ['netns', 'del', SPACE]);
      });
      const words = ['netns', 'exec', SPACE, process.execPath, driver, bundleProgram(folder), group];
      const { stdout } = await promisify(execFile)('ip', words, { timeout: 200_000 });
      const figures = JSON.parse(stdout) as LossFigures;
      expect(figures.dropped).toBeGreaterThan(0);
      expect(figures.repaired).toBeGreaterThanOrEqual(3);
      expect(figures.wrong).toBe(0);
      // A neighbour that misses its deadline on a busy machine is no fault.
      expect(figures.fromNeighbours).toBeGreaterThan(0);
    },
  );
