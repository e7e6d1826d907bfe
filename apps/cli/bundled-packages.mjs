// The npm packages whose code is in the built command. Their licences ask that the notice goes with
// every copy, so the command carries all of them in one file.

import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * The packages of which esbuild took at least one file, by name. `root` is the folder that its
 * paths start from.
 */
export function bundledPackages(root, { inputs }) {
  const folders = new Set();
  for (const path of Object.keys(inputs)) {
    const [folder] = resolve(root, path).match(/^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  return [...folders].map(readPackage).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** One text with the name, version and licence of each package. */
export function licenseNotices(packages) {
  const list = packages.map(({ name, version, license }) => `  ${name} ${version} (${license})`).join('\n');
  const notices = packages.map(
    ({ name, version, text }) => `${'-'.repeat(80)}\n${name} ${version}\n\n${text}\n`,
  );
  return `The command bloomery contains these packages:\n\n${list}\n\nTheir licences:\n\n${notices.join('\n')}`;
}

function readPackage(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const text = licenseText(folder);
  if (text === undefined) {
    throw new Error(`Cannot bundle ${name}: expected a file with its licence, got none (${folder})`);
  }
  return { name, version, license, text };
}

/** The licence: its file, or the last section of a README that has the whole notice in it. */
function licenseText(folder) {
  const entries = readdirSync(folder);
  const file = entries.find((entry) => /^licen[cs]e/i.test(entry));
  if (file !== undefined) return readFileSync(join(folder, file), 'utf8').trim();
  const page = entries.find((entry) => /^readme/i.test(entry));
  if (page === undefined) return undefined;
  const [, section] = /^#+ *licen[cs]e *$([\s\S]*)/im.exec(readFileSync(join(folder, page), 'utf8')) ?? [];
  return section !== undefined && /Copyright[\s\S]*WITHOUT WARRANTY/.test(section)
    ? section.trim()
    : undefined;
}
