/**
 * Decides which programs a machine lacks for `npm test`, whether the set-up may install them, and
 * what message the user gets.
 *
 * Everything here is a pure function of a description of the machine, so that the tests can ask
 * about machines that we do not have: no root, no apt-get, no pip. tools/setup.mjs looks at the
 * real machine and runs the commands. tools/bare-machine tries all of it on a bare Debian.
 */

/** @typedef {{ command?: string, file?: string, package: string, for: string }} Program */

/**
 * A machine, as far as the set-up asks about it.
 * @typedef {object} Machine
 * @property {string | undefined} chromiumPath the value of CHROMIUM_PATH
 * @property {(name: string) => boolean} hasCommand tells whether a program of this name is on the PATH
 * @property {(path: string) => boolean} hasFile tells whether this file exists
 * @property {boolean} isRoot true if this process may install packages
 */

/** @typedef {{ action: 'fail', message: string }} Failure */

/**
 * The next step for a machine.
 * @typedef {{ action: 'ready' } | Failure | { action: 'install', packages: string[] }} Plan
 */

/**
 * Programs that tests start by their name (`command`) and files that tests read (`file`), each with
 * the Debian package that contains it.
 * @type {Program[]}
 */
const PROGRAMS = [
  { command: 'tmux', package: 'tmux', for: 'the tests of the command in a terminal' },
  { command: 'zstd', package: 'zstd', for: 'the tests of packed inputs' },
  { command: 'xz', package: 'xz-utils', for: 'the tests of packed inputs' },
  { command: 'bzip2', package: 'bzip2', for: 'the tests of packed inputs' },
  { command: 'bloom', package: 'golang-github-dcso-bloom-cli', for: "the tests with DCSO's own files" },
  { command: 'hunspell', package: 'hunspell', for: 'the comparison of spelling' },
  { file: '/usr/share/hunspell/en_US.dic', package: 'hunspell-en-us', for: 'the comparison of spelling' },
  { file: '/usr/share/dict/american-english-huge', package: 'wamerican-huge', for: 'the dictionaries' },
  { file: '/usr/share/games/fortunes/fortunes', package: 'fortunes', for: 'the tests with real text' },
  { file: '/usr/share/hyphen/hyph_en_US.dic', package: 'hyphen-en-us', for: 'the tests of hyphenation' },
  { command: 'pip', package: 'python3-pip', for: 'the tests of the cache with clients' },
  { command: 'curl', package: 'curl', for: 'the tests of the cache with clients' },
  { command: 'openssl', package: 'openssl', for: 'the certificates and signatures in tests' },
  { file: '/usr/sbin/squid', package: 'squid', for: 'the tests of the cache with Squid as a neighbour' },
  { command: 'git', package: 'git', for: 'the tests of the cache with clients' },
  { command: 'nats-server', package: 'nats-server', for: 'the tests of fleets over NATS' },
  { file: '/usr/share/doc/postgresql/copyright', package: 'postgresql', for: 'the tests of joins' },
  { command: 'redis-server', package: 'redis-server', for: 'the tests of filters shared through Redis' },
  { command: 'ip', package: 'iproute2', for: 'the tests of fleets in network namespaces' },
  { command: 'tcpdump', package: 'tcpdump', for: 'the tests of captures' },
  { command: 'nfdump', package: 'nfdump', for: 'the comparison of captures and flow exports' },
  { file: '/usr/sbin/softflowd', package: 'softflowd', for: 'the tests of flow exports' },
  { file: '/usr/sbin/pmacctd', package: 'pmacct', for: 'the tests of sFlow' },
  { command: 'nft', package: 'nftables', for: 'the tests of fleets on networks that lose packets' },
  { command: 'perl', package: 'perl-base', for: 'the tests of routers on TUN devices' },
  { command: 'ping', package: 'iputils-ping', for: 'the tests of routers on TUN devices' },
  { command: 'procmail', package: 'procmail', for: 'the tests of contacts in mail filters' },
  { command: 'maildrop', package: 'maildrop', for: 'the tests of contacts in mail filters' },
  { command: 'iperf3', package: 'iperf3', for: 'the tests of routers on TUN devices' },
];

/**
 * The list for one machine. CHROMIUM_PATH replaces Debian's Chromium.
 * @param {string} [chromiumPath]
 * @returns {Program[]}
 */
export function requiredPrograms(chromiumPath) {
  const chromium = {
    file: chromiumPath ?? '/usr/bin/chromium',
    package: 'chromium',
    for: 'the browser tests',
  };
  return [chromium, ...PROGRAMS];
}

/**
 * The next step for a machine: `ready`, `install` with the Debian packages to install, or `fail`
 * with a message.
 *
 * @param {Machine} machine
 * @returns {Plan}
 */
export function planPrograms(machine) {
  const { chromiumPath, hasCommand, hasFile, isRoot } = machine;
  if (chromiumPath !== undefined && !hasFile(chromiumPath)) {
    const message =
      'Cannot run the browser tests: expected CHROMIUM_PATH to name a Chromium or Chrome, ' +
      `got ${JSON.stringify(chromiumPath)}, which does not exist`;
    return { action: 'fail', message };
  }
  const missing = missingPrograms(machine);
  if (missing.length === 0) return { action: 'ready' };
  const packages = missing.map((program) => program.package);
  if (!hasCommand('apt-get')) {
    const how = 'This system has no apt-get: install them with its own package manager.';
    return { action: 'fail', message: describe(missing, how) };
  }
  if (!isRoot) {
    const how = `Install them with: ${aptCommand(packages, 'sudo ')}\n(As root, npm test does this by itself.)`;
    return { action: 'fail', message: describe(missing, how) };
  }
  return { action: 'install', packages };
}

/**
 * The message after an installation, or undefined if nothing is missing now.
 * @param {Machine} machine
 * @param {{ aptFailed: boolean }} outcome
 */
export function problemAfterInstall(machine, { aptFailed }) {
  const missing = missingPrograms(machine);
  if (missing.length === 0) return undefined;
  const packages = missing.map((program) => program.package);
  const how = aptFailed
    ? `apt-get could not install them; its own message is above. Try again with: ${aptCommand(packages)}`
    : 'apt-get reported success, so the packages of this distribution hold other files than those of Debian.';
  return describe(missing, how);
}

/** @param {Machine} machine */
function missingPrograms({ chromiumPath, hasCommand, hasFile }) {
  return requiredPrograms(chromiumPath).filter(({ command, file }) =>
    command === undefined ? !hasFile(file ?? '') : !hasCommand(command),
  );
}

/**
 * @param {Program[]} missing
 * @param {string} how
 */
function describe(missing, how) {
  const lines = missing.map(
    (program) =>
      `  ${program.command ?? program.file} (Debian package ${program.package}), for ${program.for}`,
  );
  return [
    `Cannot run all tests: expected programs and files that are not here (${missing.length}):`,
    ...lines,
    how,
    'CHROMIUM_PATH names a Chromium or Chrome that is installed elsewhere.',
    "To run the library's tests in Node alone: npx vitest run --project node packages/bloomery",
  ].join('\n');
}

/**
 * @param {string[]} packages
 * @param {string} [prefix]
 */
function aptCommand(packages, prefix = '') {
  return `${prefix}apt-get update && ${prefix}apt-get install --no-install-recommends ${packages.join(' ')}`;
}
