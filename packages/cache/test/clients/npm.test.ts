/**
 * npm through a node in front of its registry: a registry made here, whose server counts, and the
 * one this machine is configured for.
 *
 * A registry's documents name the URLs of tarballs, on the registry's own host. npm leaves those as
 * they are, past the cache, unless `replace-registry-host` says which hosts to replace by the
 * configured one: `npmjs` (its default) is the public registry alone, `always` is every host. The
 * path below which the node serves the registry is put before the tarball's path by npm too.
 */

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startForwarder } from '@bloomery/testkit/origins/forwarder';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import {
  clientFolder,
  fileSha256,
  need,
  run,
  runAny,
  sha256,
} from '@bloomery/testkit/programs/client-program';
import { beforeEach, expect, it } from 'vitest';
import { startClientNode } from './client-node.ts';

const folder = clientFolder();
const SILENT = ['--no-audit', '--no-fund', '--no-update-notifier', '--ignore-scripts'];

beforeEach((context) => need(context, 'npm'));

/** In a new project with a new cache of npm's own; gives the project's folder. */
async function install(name: string, what: string, registry: string, ...args: string[]): Promise<string> {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "name": "project", "version": "1.0.0", "private": true }');
  for (const configuration of ['user', 'global']) writeFileSync(join(project, configuration), '');
  await run(
    'npm',
    [
      ...['install', what, '--registry', registry, '--cache', join(project, 'cache'), ...SILENT],
      ...['--userconfig', join(project, 'user'), '--globalconfig', join(project, 'global'), ...args],
    ],
    { cwd: project },
  );
  return project;
}

/** Checksums of the files of an installed package, by their paths. */
function sumsOf(project: string, name: string): Record<string, string> {
  const root = join(project, 'node_modules', name);
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort();
  return Object.fromEntries(paths.map((path) => [path.slice(root.length), fileSha256(path)]));
}

it('installs from a registry of its own: once from it, then from the node alone', async () => {
  const source = join(folder, 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'package.json'), '{ "name": "bloomery-probe", "version": "1.2.3" }');
  writeFileSync(join(source, 'index.js'), `module.exports = ${JSON.stringify('x'.repeat(100_000))};\n`);
  const packed = await run('npm', ['pack', '--json', '--cache', join(folder, 'pack-cache')], { cwd: source });
  const { filename, integrity, shasum } = JSON.parse(packed.stdout.toString())[0];
  const tarball = readFileSync(join(source, filename));

  await using origin = await startOrigin();
  const headers = ['Cache-Control', 'public, max-age=300', 'Vary', 'Accept-Encoding, Accept'];
  const dist = { integrity, shasum, tarball: origin.url(`/bloomery-probe/-/${filename}`) };
  const document = JSON.stringify({
    name: 'bloomery-probe',
    'dist-tags': { latest: '1.2.3' },
    versions: { '1.2.3': { name: 'bloomery-probe', version: '1.2.3', dist } },
  });
  origin.on('/bloomery-probe', {
    headers: [...headers, 'Content-Type', 'application/json', 'ETag', '"d1"'],
    body: document,
  });
  origin.on(`/bloomery-probe/-/${filename}`, {
    headers: ['Cache-Control', 'public, immutable, max-age=31557600', 'ETag', '"t1"'],
    body: tarball,
  });
  await using node = await startClientNode('--upstream', `/npm/=${origin.origin}/`);
  const registry = `${node.url}/npm/`;
  const always = ['--replace-registry-host', 'always'];
  const first = await install('own-1', 'bloomery-probe', registry, ...always);
  const asked = ['/bloomery-probe', `/bloomery-probe/-/${filename}`];
  expect(origin.requests.map(({ url }) => url)).toEqual(asked);
  const second = await install('own-2', 'bloomery-probe', registry, ...always);
  expect(origin.requests.map(({ url }) => url)).toEqual(asked);
  const sums = sumsOf(first, 'bloomery-probe');
  expect(sums['/index.js']).toBe(fileSha256(join(source, 'index.js')));
  expect(sumsOf(second, 'bloomery-probe')).toEqual(sums);
  // Without it the tarball comes from where the document says: right, but past the node.
  const past = await install('own-3', 'bloomery-probe', registry);
  expect(sumsOf(past, 'bloomery-probe')).toEqual(sums);
  expect(origin.requests.map(({ url }) => url)).toEqual([...asked, asked[1]]);
  expect(await node.status()).toMatchObject({ requests: { total: 5, miss: 2, hit: 3 } });
});

it('installs a package of the registry of this machine twice, the second time without it', async (context) => {
  need(context, 'curl');
  const name = 'is-number';
  // In the user's own environment: this is what the machine is configured for.
  const environment = process.env as Record<string, string>;
  const configured = await run('npm', ['config', 'get', 'registry', 'cafile'], { env: environment });
  const [, registry = ''] = /^registry=(.+)$/m.exec(configured.stdout.toString()) ?? [];
  const [, cafile = ''] = /^cafile=(.+)$/m.exec(configured.stdout.toString()) ?? [];
  const authorities = cafile === 'null' || cafile === '' ? undefined : cafile;
  const trust = authorities === undefined ? [] : ['--cacert', authorities];
  const direct = await runAny('curl', ['-sSf', '-m', '15', ...trust, `${registry}${name}`]);
  if (direct.code !== 0) context.skip(`the registry of this machine is not reachable: ${direct.stderr}`);

  const ca = authorities === undefined ? undefined : readFileSync(authorities, 'utf8');
  await using forwarder = await startForwarder({ upstream: new URL(registry), ca });
  await using node = await startClientNode(
    ...['--upstream', `/npm/=${forwarder.origin}/`, '--upstream', `/direct/=${registry}`],
    ...(authorities === undefined ? [] : ['--origin-ca', authorities]),
  );
  const always = ['--replace-registry-host', 'always'];
  const first = await install('real-1', `${name}@7.0.0`, `${node.url}/npm/`, ...always);
  const asked = [...forwarder.asked];
  expect(asked).toEqual([`GET /${name}`, `GET /${name}/-/${name}-7.0.0.tgz`]);
  const second = await install('real-2', `${name}@7.0.0`, `${node.url}/npm/`, ...always);
  expect(sumsOf(second, name)).toEqual(sumsOf(first, name));
  expect(Object.keys(sumsOf(first, name))).toContain('/index.js');
  expect(forwarder.asked).toEqual(asked);
  // And the node speaks to the registry itself, by TLS.
  const through = await run('curl', ['-sSf', '-m', '15', `${node.url}/direct/${name}`]);
  expect(sha256(through.stdout)).toBe(sha256(direct.stdout));
});
