/**
 * Compiles what the processes run: the lanes' TypeScript with esbuild, the native yardstick with
 * g++.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/**
 * One file with the harness's own code; peers and the library stay imports. What is measured is not
 * run by tsx, because its loader rewrites every module it loads (function names are kept by a call
 * at each closure), and what is measured here shall be the code that users run.
 */
export async function compileForNode(
  entry: 'lane-process' | 'kernel/parts' | 'compare/build-process',
): Promise<string> {
  if (!existsSync(path('../../packages/bloomery/dist/index.js'))) {
    throw new Error(
      'The library is not built: run `npm install && npm run build` in the root of the repository first',
    );
  }
  // The library's relative path is the same from build/ as from the folders of the subjects.
  const outfile = path(`../build/${entry.replace('/', '-')}.mjs`);
  await build({
    entryPoints: [path(`../${entry}.ts`)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    external: ['../../packages/*'],
  });
  return outfile;
}

export const NATIVE_FLAGS = ['-O3', '-march=native', '-std=c++20'];

/** The compiled yardstick, or why there is none. */
export function compileNative(): { program: string; compiler: string } | { missing: string } {
  mkdirSync(path('../build'), { recursive: true });
  const program = path('../build/yardstick');
  try {
    const compiler = execFileSync('g++', ['--version'], { encoding: 'utf8' }).split('\n')[0];
    execFileSync('g++', [...NATIVE_FLAGS, '-o', program, path('../native/yardstick.cpp')], { stdio: 'pipe' });
    return { program, compiler };
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: Buffer };
    if (code === 'ENOENT') return { missing: 'g++ is not installed' };
    return { missing: `g++ failed: ${String(stderr ?? error).split('\n')[0]}` };
  }
}
