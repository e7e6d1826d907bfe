// npm run image:check: builds deploy/Containerfile with buildah, and uses the image as a fleet of
// two.
//
// Where no base image can be pulled, the base is made here: the bare Debian of tools/bare-machine,
// with the Node and npm of this machine. An image of node:22-bookworm-slim is the same Debian with
// another Node. Needs root, debootstrap, buildah, iproute2, and about 3 GB of disk; where one is
// missing, it says so and checks nothing.
//
// No container engine starts the image, because an engine wants cgroups and a storage driver that
// a machine for builds often lacks. buildah unpacks it, and `chroot` runs its entry point with its
// user and environment, read-only, in namespaces of mounts, processes and network: what
// `docker run --read-only --tmpfs /tmp -v …:/var/cache/bloomery` does, apart from limits.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {object} ImageConfig
 * @property {string} User
 * @property {string[]} Env
 * @property {string[]} Entrypoint
 * @property {Record<string, object>} Volumes
 * @property {string} StopSignal
 * @property {{ Test: string[] }} Healthcheck
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const missing = [
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...['debootstrap', 'buildah', 'ip', 'unshare'].filter((name) => !hasProgram(name)),
];
if (missing.length > 0) {
  console.log(`skipped: the image, which needs ${missing.join(', ')}`);
  process.exit();
}
const folder = mkdtempSync(join(tmpdir(), 'bloomery-image-'));
try {
  checkImage();
  console.log('image: built from deploy/Containerfile, and two containers of it are a fleet');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function checkImage() {
  const context = join(folder, 'context');
  mkdirSync(context);
  run('npm', ['pack', '--silent', '-w', 'bloomery', '--pack-destination', context]);
  makeBase('localhost/node:base');
  buildah(
    ['bud', '--isolation', 'chroot', '--format', 'docker', '--pull-never'],
    ['--build-arg', 'NODE_IMAGE=localhost/node:base', '-f', join(root, 'deploy/Containerfile')],
    ['-t', 'bloomery-cache', context],
  );
  const { config } = JSON.parse(ask('inspect', '--type', 'image', 'bloomery-cache')).Docker;
  useImage(ask('mount', ask('from', '--pull-never', 'bloomery-cache')), config);
}

/**
 * Makes the base image: a bare Debian with Node and npm where the official images have them.
 * @param {string} name
 */
function makeBase(name) {
  run(join(root, 'tools/bare-machine'), ['--without-node', 'true']);
  const home = process.env.BARE_MACHINE_HOME ?? '/var/tmp/bloomery-bare-machine';
  const npm = dirname(dirname(execFileSync('realpath', [programPath('npm')], { encoding: 'utf8' })));
  const container = ask('from', 'scratch');
  buildah(['copy', '--quiet', container, join(home, 'base'), '/']);
  buildah(['copy', '--quiet', container, process.execPath, '/usr/local/bin/node']);
  buildah(['copy', '--quiet', container, npm, '/usr/local/lib/node_modules/npm']);
  const link = ['ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm'];
  buildah(['run', '--isolation', 'chroot', container, '--', ...link]);
  buildah(['commit', '--quiet', '--rm', container, name]);
}

/**
 * Runs the image twice on one network, as neighbours. The health check must pass, an object must go
 * from one to the other, and the stop signal must end both with exit code 0.
 * @param {string} tree the unpacked image
 * @param {ImageConfig} config
 */
function useImage(tree, config) {
  const secret = join(folder, 'fleet.secret');
  writeFileSync(secret, `${'image-check-'.repeat(4)}\n`);
  chmodSync(secret, 0o644);
  const [volume] = Object.keys(config.Volumes);
  const [user, group] = config.User.split(':');
  const quote = (/** @type {string[]} */ words) =>
    words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const inside = `chroot --userspec=${user}:${group} "$root" env -i ${quote(config.Env)}`;
  const script = `set -euo pipefail
mount --make-rprivate /
ip link set lo up
root=${quote([tree])}
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs tmpfs "$root/dev"
touch "$root/dev/null" && mount --bind /dev/null "$root/dev/null"
mount -t tmpfs -o mode=0700,uid=${user},gid=${group} tmpfs "$root${volume}"
mkdir "$root/tmp/fleet" && cp ${quote([secret])} "$root/tmp/fleet/secret"
mount -o remount,bind,ro "$root"
node -e 'require("http").createServer((q, s) => s.setHeader("Cache-Control", "max-age=600").end("hello\\n")).listen(4100, "127.0.0.1")' &
origin=$!
start() {
  ${inside} "BLOOMERY_CACHE_LISTEN=0.0.0.0:$2" "BLOOMERY_CACHE_DISK=${volume}/$1" \\
    ${quote(config.Entrypoint)} --name "$1" --upstream /=http://127.0.0.1:4100/ --peer-secret /tmp/fleet/secret \\
    --peer-listen "127.0.0.1:$3" --peer http://127.0.0.1:3129 --peer http://127.0.0.1:3139 &
}
health() { ${inside} ${quote(config.Healthcheck.Test.slice(1))}; }
get() { node -e 'fetch(process.argv[1]).then(async (r) => console.log(r.headers.get("cache-status"), (await r.text()).trim()))' "$1"; }
refuse() { if "$@" 2>/dev/null; then echo "must fail: $*" >&2; return 1; fi; }
until_true() { for _ in $(seq 120); do if "$@"; then return 0; fi; sleep 0.5; done; echo "never true: $*" >&2; return 1; }
refuse health
start first 3128 3129; first=$!
start second 3138 3139; second=$!
until_true health
asks() { ${inside} bloomery cache peers --json --node http://127.0.0.1:3138 | grep -q '"masked": *null'; }
until_true asks
get http://127.0.0.1:3128/page
given() { get http://127.0.0.1:3138/"$1" | grep 'first; hit'; }
other() { n=$((n + 1)); get "http://127.0.0.1:3128/page-$n" >/dev/null; sleep 1; given "page-$n"; }
n=0
until_true other
refuse ${inside} touch /usr/escaped
refuse ${inside} touch /opt/bloomery/escaped
kill -s ${config.StopSignal} "$first" "$second"
wait "$first"
wait "$second"
refuse health
kill "$origin"
`;
  run('unshare', ['--mount', '--net', '--pid', '--fork', '--kill-child', 'bash', '-c', script]);
}

/** @param {string[][]} parts */
function buildah(...parts) {
  run('buildah', [...storage(), ...parts.flat()]);
}

/**
 * The one line that a command of buildah prints, or its whole text.
 * @param {string[]} args
 */
function ask(...args) {
  return execFileSync('buildah', [...storage(), ...args], { encoding: 'utf8' }).trim();
}

/** The images of this run alone, in plain folders. */
function storage() {
  return ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
}

/** @param {string} program @param {string[]} args */
function run(program, args) {
  const { status } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    throw new Error(`Cannot accept the image: expected exit code 0, got ${status} (${program} ${args[0]})`);
}

/** @param {string} name */
function hasProgram(name) {
  return programPath(name) !== '';
}

/** @param {string} name */
function programPath(name) {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/sbin'];
  return folders.map((path) => join(path, name)).find((file) => existsSync(file)) ?? '';
}
