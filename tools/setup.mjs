// Makes a fresh clone ready, with nothing but Node: checks its version, installs the packages, builds the
// packages, and installs what the tests need. Each step is skipped when it is done already.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

export function setUp({ tests = false } = {}) {
  checkNode();
  installPackages();
  step('building the packages', 'npm', ['run', '--silent', 'build']);
  if (tests) installPrograms();
}

export function step(what, command, args, options = {}) {
  console.log(`\n— ${what}`);
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (error) fail(`${what}: cannot run ${command}: ${error.message}`);
  if (status !== 0) fail(`${what} failed: ${command} ${args.join(' ')}`);
}

export function fail(message) {
  console.error(`\n${message}`);
  process.exit(1);
}

function checkNode() {
  const wanted = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).engines.node.replace('>=', '');
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [wantedMajor, wantedMinor] = wanted.split('.').map(Number);
  if (major < wantedMajor || (major === wantedMajor && minor < wantedMinor)) {
    fail(`Bloomery needs Node ${wanted} or later; this is ${process.versions.node}.`);
  }
}

function installPackages() {
  const installed = `${root}node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs)
    return;
  // Not `npm ci`: it refuses a lock file that does not list the optional packages of every other platform, and not
  // every registry has all of them. The versions are those of the lock file all the same.
  step('installing packages', 'npm', ['install', '--no-save', '--no-audit', '--no-fund']);
}

/** What the tests need beside npm's packages: a file or a command that shows it is there, and Debian's package. */
const PROGRAMS = [
  { path: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium', package: 'chromium', for: 'the browser tests' },
  { path: '/usr/bin/tmux', package: 'tmux', for: 'the tests of the command in a terminal' },
  { path: '/usr/bin/zstd', package: 'zstd', for: 'the tests of packed inputs' },
  { path: '/usr/bin/bloom', package: 'golang-github-dcso-bloom-cli', for: "the tests with DCSO's own files" },
  { path: '/usr/bin/hunspell', package: 'hunspell', for: 'the comparison of spelling' },
  { path: '/usr/share/hunspell/en_US.dic', package: 'hunspell-en-us', for: 'the comparison of spelling' },
  { path: '/usr/share/dict/american-english-huge', package: 'wamerican-huge', for: 'the dictionaries' },
  { path: '/usr/share/games/fortunes/fortunes', package: 'fortunes', for: 'the comparison of spelling' },
  { path: '/usr/share/hyphen/hyph_en_US.dic', package: 'hyphen-en-us', for: 'the tests of hyphenation' },
  { command: 'pip', package: 'python3-pip', for: 'the tests of the cache with clients' },
  { path: '/usr/bin/curl', package: 'curl', for: 'the tests of the cache with clients' },
  { path: '/usr/bin/openssl', package: 'openssl', for: 'the certificates in the tests of the cache' },
  { path: '/usr/bin/git', package: 'git', for: 'the tests of the cache with clients' },
];

// Chromium is the distribution's; CHROMIUM_PATH names another one.
function installPrograms() {
  const missing = PROGRAMS.filter(({ path, command }) =>
    command === undefined ? !existsSync(path) : !hasCommand(command),
  );
  if (missing.length === 0) return;
  const names = missing.map((program) => program.package).join(' ');
  const help =
    `Some tests need programs that are not here:\n${missing.map((program) => `  ${program.path}, for ${program.for}`).join('\n')}\n` +
    `Install them (Debian, Ubuntu: apt-get install ${names}); CHROMIUM_PATH names another Chromium or Chrome.\n` +
    "To run the library's tests in Node alone: npx vitest run --project node packages/bloomery";
  if (process.env.CHROMIUM_PATH && !existsSync(process.env.CHROMIUM_PATH)) {
    fail(`CHROMIUM_PATH is ${process.env.CHROMIUM_PATH}, but there is no such file.\n${help}`);
  }
  if (process.getuid?.() !== 0 || !hasCommand('apt-get')) fail(help);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  step('looking for packages', 'apt-get', ['update', '-qq'], { env });
  step(
    `installing ${names}`,
    'apt-get',
    ['install', '-y', '-qq', '--no-install-recommends', ...missing.map((program) => program.package)],
    { env },
  );
  if (!PROGRAMS.every(({ path }) => existsSync(path))) fail(help);
}

function hasCommand(name) {
  try {
    execFileSync('which', [name], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
