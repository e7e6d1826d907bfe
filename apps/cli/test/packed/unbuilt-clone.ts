/**
 * The repository as a fresh clone has it: the sources, nothing built. It is made in a temporary
 * folder, so that packing can build there while other tests run the built command here. The
 * development packages are links to those of this repository; the links of npm to the workspaces
 * are relative, and lead to the clone.
 */

import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license?: string;
  readonly author?: string;
  readonly sideEffects?: boolean | readonly string[];
  readonly keywords?: readonly string[];
  readonly repository?: { readonly url: string; readonly directory: string };
  readonly publishConfig?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface PublicPackage {
  /** From the root of the repository. */
  readonly folder: string;
  readonly manifest: Manifest;
}

const PARTS = [
  'package.json',
  'tsconfig.base.json',
  'LICENSE',
  '.gitignore',
  '.npmrc',
  'tools',
  'docs/papers',
  'packages',
  'apps',
];

/** Copies the repository into `clone`, which must not exist. */
export function makeUnbuiltClone(clone: string): void {
  mkdirSync(clone, { recursive: true });
  for (const part of PARTS) {
    cpSync(join(REPOSITORY, part), join(clone, part), { recursive: true, filter: isSource });
  }
  linkPackages(join(REPOSITORY, 'node_modules'), join(clone, 'node_modules'));
}

/** Every package that can be published. */
export function publicPackages(): PublicPackage[] {
  return readdirSync(join(REPOSITORY, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => existsSync(join(REPOSITORY, folder, 'package.json')))
    .map((folder) => ({ folder, manifest: readManifest(join(REPOSITORY, folder)) }))
    .filter(({ manifest }) => !manifest.private);
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

function isSource(path: string): boolean {
  if (['node_modules', 'dist', 'coverage'].includes(basename(path))) return false;
  const isBuiltCommand = dirname(path) === join(REPOSITORY, 'packages/bloomery/bin');
  return !isBuiltCommand || basename(path) === 'bloomery.js';
}

function linkPackages(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    const path = join(from, name);
    // Caches and records of this repository stay its own.
    if (name.startsWith('.') && name !== '.bin') continue;
    if (lstatSync(path).isSymbolicLink()) symlinkSync(readlinkSync(path), join(to, name));
    else if (name.startsWith('@')) linkPackages(path, join(to, name));
    else symlinkSync(path, join(to, name));
  }
}
