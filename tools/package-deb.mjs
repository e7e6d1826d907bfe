// npm run package:deb [-- --node FILE] [-- --output FILE]: a Debian package with the command as a
// single executable, its man pages and its completion for bash, zsh and fish. dpkg-deb builds it,
// so it needs a Debian or Ubuntu. The default output is build/bloomery_VERSION_ARCHITECTURE.deb.

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { buildSingleExecutable } from './packaging/single-executable.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { node: { type: 'string' }, output: { type: 'string' } } });
const { version, description } = JSON.parse(
  readFileSync(join(root, 'packages/bloomery/package.json'), 'utf8'),
);
if (!existsSync(join(root, 'packages/cache/dist'))) {
  console.error('Cannot package the command: expected built packages, got none (npm run build makes them)');
  process.exit(2);
}
const architecture = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim();
const output = resolve(values.output ?? join(root, `build/bloomery_${version}_${architecture}.deb`));
const tree = join(root, 'build/deb');
rmSync(tree, { recursive: true, force: true });
mkdirSync(join(tree, 'usr/bin'), { recursive: true });
mkdirSync(dirname(output), { recursive: true });

const command = join(tree, 'usr/bin/bloomery');
const node = resolve(values.node ?? process.execPath);
await buildSingleExecutable({ root, node, output: command, work: join(root, 'build/single') });

// The pages and scripts come from the command itself, so they are those of this build.
const man = join(tree, 'usr/share/man/man1');
execFileSync(command, ['man', '--into', man]);
for (const name of readdirSync(man)) {
  const page = readFileSync(join(man, name));
  writeFileSync(join(man, `${name}.gz`), gzipSync(page, { level: 9 }));
  rmSync(join(man, name));
}
for (const [shell, place] of Object.entries({
  bash: 'usr/share/bash-completion/completions/bloomery',
  zsh: 'usr/share/zsh/vendor-completions/_bloomery',
  fish: 'usr/share/fish/vendor_completions.d/bloomery.fish',
})) {
  mkdirSync(dirname(join(tree, place)), { recursive: true });
  writeFileSync(join(tree, place), execFileSync(command, ['completion', shell]));
}
const documents = join(tree, 'usr/share/doc/bloomery');
mkdirSync(documents, { recursive: true });
cpSync(join(root, 'LICENSE'), join(documents, 'copyright'));
cpSync(join(root, 'packages/bloomery/bin/THIRD-PARTY-LICENSES.txt'), join(documents, 'third-party-licenses'));

mkdirSync(join(tree, 'DEBIAN'));
writeFileSync(
  join(tree, 'DEBIAN/control'),
  `Package: bloomery
Version: ${version}
Architecture: ${architecture}
Maintainer: The Bloomery authors <bloomery@localhost>
Section: utils
Priority: optional
Installed-Size: ${Math.ceil(treeSize(tree) / 1024)}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6
Suggests: xz-utils, bzip2
Homepage: https://github.com/bloomery/bloomery
Description: ${description.split(':')[0]}
 Builds, asks, combines, sends and inspects Bloom filters and their relatives,
 and runs an HTTP cache whose nodes know what their neighbours hold.
`,
);
// gzip, because every dpkg reads it; root owns the files, also if another user builds it.
execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', tree, output], { stdio: 'pipe' });
console.log(`${output}: ${Math.round(statSync(output).size / 1e6)} MB`);

/**
 * Bytes of all files in a folder.
 * @param {string} folder
 * @returns {number}
 */
function treeSize(folder) {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? treeSize(path) : statSync(path).size);
  }, 0);
}
