/**
 * The packages as npm would publish them, and an empty folder where they are installed. No registry
 * is asked: the packages that ours depend on are packed from this repository's node_modules, and
 * npm installs all tarballs at once with --offline.
 */

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Manifest, type PublicPackage, REPOSITORY, readManifest } from './unbuilt-clone.ts';

/**
 * Packs every package of an unbuilt clone. The first is packed as a maintainer would do it, so its
 * `prepack` builds all of them; building again for each of the others would only take time.
 */
export async function packAll(
  clone: string,
  packages: readonly PublicPackage[],
  destination: string,
): Promise<string[]> {
  mkdirSync(destination, { recursive: true });
  const tarballs: string[] = [];
  for (const { manifest } of packages) {
    const args = ['--workspace', manifest.name, ...(tarballs.length === 0 ? [] : ['--ignore-scripts'])];
    tarballs.push(await pack(clone, args, destination));
  }
  return tarballs;
}

/** Packs what the packages depend on, at the versions that are installed here. */
export async function packDependencies(
  packages: readonly PublicPackage[],
  destination: string,
): Promise<string[]> {
  const own = new Set(packages.map(({ manifest }) => manifest.name));
  const wanted = new Set<string>();
  const visit = ({ dependencies = {} }: Manifest) => {
    for (const name of Object.keys(dependencies)) {
      if (own.has(name) || wanted.has(name)) continue;
      wanted.add(name);
      visit(readManifest(join(REPOSITORY, 'node_modules', name)));
    }
  };
  for (const { manifest } of packages) visit(manifest);
  const tarballs: string[] = [];
  for (const name of wanted) {
    const args = [join(REPOSITORY, 'node_modules', name), '--ignore-scripts'];
    tarballs.push(await pack(destination, args, destination));
  }
  return tarballs;
}

/** Makes a folder with nothing but these tarballs installed. */
export async function installTarballs(folder: string, tarballs: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  await npm(folder, ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts', ...tarballs]);
}

/** Returns what npm printed; throws with its messages if it fails. */
export async function npm(cwd: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', [...args], { cwd, env: cleanEnvironment() });
  return stdout;
}

/**
 * Without what `npm test` tells its scripts: a nested npm would take this repository for its
 * folder.
 */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const inherited = /^(npm_(package|lifecycle|config_(local_prefix|workspace|prefix))|INIT_CWD|NODE_PATH)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !inherited.test(name)));
}

async function pack(cwd: string, args: readonly string[], destination: string): Promise<string> {
  const printed = await npm(cwd, ['pack', ...args, '--pack-destination', destination]);
  // The last line is the name of the tarball.
  return join(destination, printed.trim().split('\n').at(-1)!);
}
