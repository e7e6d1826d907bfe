// npm run package:check: builds the single executable and the Debian package, and uses both on a
// bare Debian without Node (tools/bare-machine). Where that cannot be made, because this is no
// Debian or the user is not root, the executable is used here only, and the rest is skipped with a
// word.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const build = join(root, 'build');

/** Uses the command: threads, a pipe, several filters, the pinned bytes of every structure. */
const USE = `set -e
seq 1 200000 > keys.txt
bloomery build keys.txt --threads 2 -o keys.blm
test "$(bloomery check keys.blm keys.txt -c --threads 2)" = 200000
test "$(printf 'a\\nb\\na\\n' | bloomery uniq | wc -l)" = 2
bloomery selftest bytes > /dev/null
bloomery man uniq | grep -q 'bloomery'
bloomery papers survey --trials 20 --jobs 2 > /dev/null
echo used`;

/** Puts the executable into the PATH of a machine that has no Node. */
const EXECUTABLE = `! type node && mkdir -p /tmp/use && cp ../package /usr/local/bin/bloomery && cd /tmp/use && ${USE}`;
const PACKAGE = `! type node && mkdir -p /tmp/use && cp ../package /tmp/bloomery.deb && dpkg -i /tmp/bloomery.deb &&
test -s /usr/share/bash-completion/completions/bloomery && cd /tmp/use && (${USE}) && dpkg -r bloomery && ! test -e /usr/bin/bloomery`;

run('npm', ['run', '--silent', 'package:single']);
useHere();
if (!hasProgram('dpkg-deb')) {
  console.log('skipped: the Debian package, because dpkg-deb is not here');
  process.exit();
}
run('npm', ['run', '--silent', 'package:deb']);
if (process.getuid?.() !== 0 || !hasProgram('debootstrap')) {
  console.log('skipped: the bare machine, which needs root and debootstrap');
  process.exit();
}
const deb = readdirSync(build).find((name) => name.endsWith('.deb'));
for (const [file, command] of [
  ['bloomery', EXECUTABLE],
  [`${deb}`, PACKAGE],
]) {
  run(join(root, 'tools/bare-machine'), ['--without-node', '--file', join(build, file), command]);
}
console.log('packages: the executable and the Debian package work on a bare machine');

/** Uses the executable on this machine, with only its own folder and the system's programs. */
function useHere() {
  const folder = mkdtempSync(join(tmpdir(), 'bloomery-package-'));
  try {
    const script = `bloomery() { '${join(build, 'bloomery')}' "$@"; }\n${USE}`;
    const env = { PATH: '/usr/bin:/bin', HOME: folder };
    execFileSync('bash', ['-c', script], { cwd: folder, env, stdio: 'inherit' });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} program @param {string[]} args */
function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) {
    console.error(`Cannot accept the packages: expected exit code 0, got ${status} (${program} ${args[0]})`);
    process.exit(1);
  }
}

/** @param {string} name */
function hasProgram(name) {
  return (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, name)));
}
