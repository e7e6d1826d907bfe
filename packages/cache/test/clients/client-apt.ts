/**
 * apt in a private root, and a Debian repository made on the spot. Nothing of the system's apt is
 * read or written: its configuration comes from one file named by APT_CONFIG, which apt reads
 * before all others and which moves the others away.
 */

import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type ProgramRun, run, sha256 } from '@bloomery/testkit/programs/client-program';

export interface AptRoot {
  /** Folder in which `apt-get download` puts its files. */
  readonly downloads: string;
  get(...args: string[]): Promise<ProgramRun>;
}

/** `source` is a line for sources.list; `options` are more lines of configuration. */
export async function makeAptRoot(
  root: string,
  source: string,
  proxy: string,
  ...options: string[]
): Promise<AptRoot> {
  const downloads = join(root, 'downloads');
  for (const folder of [
    'etc/apt/apt.conf.d',
    'etc/apt/preferences.d',
    'etc/apt/sources.list.d',
    'etc/apt/trusted.gpg.d',
    'etc/apt/auth.conf.d',
    'var/lib/apt/lists/partial',
    'var/cache/apt/archives/partial',
    'var/lib/dpkg',
    'var/log/apt',
    'downloads',
  ])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'var/lib/dpkg/status'), '');
  writeFileSync(join(root, 'etc/apt/sources.list'), `${source}\n`);
  const { stdout } = await run('dpkg', ['--print-architecture']);
  const configuration = join(root, 'apt.conf');
  writeFileSync(
    configuration,
    [
      `Dir "${root}/";`,
      'Dir::Etc "etc/apt/";',
      'Dir::Etc::main "nothing.conf";',
      'Dir::Etc::parts "apt.conf.d";',
      `Dir::State::status "${root}/var/lib/dpkg/status";`,
      `APT::Architecture "${stdout.toString().trim()}";`,
      // Files of root's in a folder of root's: the user that apt changes to could not write there.
      'APT::Sandbox::User "root";',
      'Acquire::Languages "none";',
      'Acquire::Retries "0";',
      `Acquire::http::Proxy "${proxy}";`,
      'Acquire::http::Timeout "20";',
      ...options,
      '',
    ].join('\n'),
  );
  return {
    downloads,
    get: (...args) => run('apt-get', ['-q', ...args], { cwd: downloads, env: { APT_CONFIG: configuration } }),
  };
}

export interface RepositoryFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/** A flat list of what a web server for `deb [trusted=yes] http://… stable main` has to have. */
export async function makeRepository(folder: string, names: readonly string[]): Promise<RepositoryFile[]> {
  const { stdout } = await run('dpkg', ['--print-architecture']);
  const architecture = stdout.toString().trim();
  const files: RepositoryFile[] = [];
  let packages = '';
  for (const [index, name] of names.entries()) {
    const tree = join(folder, name);
    const payload = join(tree, `usr/share/${name}/payload`);
    mkdirSync(join(tree, 'DEBIAN'), { recursive: true });
    mkdirSync(dirname(payload), { recursive: true });
    writeFileSync(payload, `${name}\n`.repeat(1000 * (index + 1)));
    const control = [
      `Package: ${name}`,
      'Version: 1.0',
      'Architecture: all',
      'Maintainer: Nobody <nobody@localhost>',
      'Description: a package for a test',
    ].join('\n');
    writeFileSync(join(tree, 'DEBIAN/control'), `${control}\n`);
    const built = join(folder, `${name}_1.0_all.deb`);
    await run('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, built]);
    const content = readFileSync(built);
    const path = `pool/main/${name}_1.0_all.deb`;
    packages += `${control}\nFilename: ${path}\nSize: ${statSync(built).size}\nSHA256: ${sha256(content)}\n\n`;
    files.push({ path, content });
  }
  const index = Buffer.from(packages);
  const place = `main/binary-${architecture}/Packages`;
  const release = [
    'Origin: test',
    'Suite: stable',
    'Codename: stable',
    `Date: ${new Date().toUTCString().replace('GMT', 'UTC')}`,
    `Architectures: ${architecture}`,
    'Components: main',
    'SHA256:',
    ` ${sha256(index)} ${index.length} ${place}`,
    '',
  ].join('\n');
  files.push({ path: `dists/stable/${place}`, content: index });
  files.push({ path: 'dists/stable/Release', content: Buffer.from(release) });
  return files;
}
