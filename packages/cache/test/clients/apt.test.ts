/**
 * apt through a node as its proxy: a repository made here, whose server counts, and the mirror of
 * this machine's own configuration, with its signatures checked by apt.
 *
 * apt asks for indexes with `Cache-Control: max-age=0`, so that a shared cache checks them with the
 * origin (RFC 9111, 5.2.1.1): one request without a body for each, unless `Acquire::http::Max-Age`
 * allows an age. Packages have no such field.
 */

import { lookup } from 'node:dns/promises';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
import { expect, it, type TestContext } from 'vitest';
import { makeAptRoot, makeRepository } from './client-apt.ts';
import { startClientNode } from './client-node.ts';

const folder = clientFolder();
const NAMES = Array.from({ length: 12 }, (_, i) => `bloomery-probe-${i}`);

it('gets a repository of its own: packages once, indexes checked or not, as apt asks', async (context) => {
  need(context, 'apt-get', 'dpkg-deb');
  await using origin = await startOrigin();
  const files = await makeRepository(join(folder, 'repository'), NAMES);
  for (const { path, content } of files) {
    const tag = `"${sha256(content).slice(0, 16)}"`;
    const headers = ['Cache-Control', 'public, max-age=600', 'ETag', tag, 'Accept-Ranges', 'bytes'];
    headers.push('Last-Modified', 'Mon, 01 Jan 2024 00:00:00 GMT');
    origin.on(`/${path}`, (request) =>
      request.header('if-none-match') === tag ? { status: 304, headers } : { headers, body: content },
    );
  }
  for (const missing of ['InRelease', 'Release.gpg']) {
    const path = `/dists/stable/${missing}`;
    origin.on(path, { status: 404, headers: ['Cache-Control', 'max-age=600'], body: 'none' });
  }
  await using node = await startClientNode('--allow-private');
  const source = `deb [trusted=yes] ${origin.origin} stable main`;
  const counts: number[] = [];
  for (const [time, options] of [[], [], ['Acquire::http::Max-Age "600";']].entries()) {
    const before = origin.requests.length;
    const apt = await makeAptRoot(join(folder, `root-${time}`), source, node.url, ...options);
    await apt.get('update');
    const updated = origin.requests.slice(before);
    counts.push(updated.length);
    if (time === 1) {
      // Nothing but questions whether it has changed, and what has no validator.
      const unconditional = updated.filter(
        (request) =>
          request.header('if-none-match') === undefined && request.header('if-modified-since') === undefined,
      );
      expect(
        unconditional.map(({ url }) => url).filter((url) => !/InRelease|Release\.gpg/.test(url)),
      ).toEqual([]);
    }
    await apt.get('download', ...NAMES);
    counts.push(origin.requests.length - before - updated.length);
    expect(readdirSync(apt.downloads).sort()).toEqual(NAMES.map((name) => `${name}_1.0_all.deb`).sort());
    for (const { path, content } of files.filter((file) => file.path.endsWith('.deb'))) {
      expect(fileSha256(join(apt.downloads, path.split('/').at(-1)!))).toBe(sha256(content));
    }
  }
  expect(counts.slice(1)).toEqual([NAMES.length, expect.any(Number), 0, 0, 0]);
  expect(node.complaints).toEqual([]);
});

it('gets packages once from a mirror that says nothing about freshness, with --rules apt', async (context) => {
  need(context, 'apt-get', 'dpkg-deb');
  await using origin = await startOrigin();
  const names = NAMES.slice(0, 3);
  const files = await makeRepository(join(folder, 'silent'), names);
  // No lifetime, no validator.
  for (const { path, content } of files) origin.on(`/${path}`, { body: content });
  for (const missing of ['InRelease', 'Release.gpg'])
    origin.on(`/dists/stable/${missing}`, { status: 404, body: 'none' });
  const packages = () => origin.requests.filter(({ url }) => url.endsWith('.deb')).length;
  const fetched: number[] = [];
  for (const flags of [[], ['--rules', 'apt']]) {
    await using node = await startClientNode('--allow-private', ...flags);
    const source = `deb [trusted=yes] ${origin.origin} stable main`;
    for (const time of [1, 2]) {
      const before = packages();
      const apt = await makeAptRoot(join(folder, `silent-${flags.length}-${time}`), source, node.url);
      await apt.get('update');
      await apt.get('download', ...names);
      for (const { path, content } of files.filter((file) => file.path.endsWith('.deb')))
        expect(fileSha256(join(apt.downloads, path.split('/').at(-1)!))).toBe(sha256(content));
      fetched.push(packages() - before);
    }
  }
  expect(fetched).toEqual([3, 3, 3, 0]);
});

interface Mirror {
  readonly uri: URL;
  readonly suite: string;
  readonly keyring: string;
  readonly proxy: URL | undefined;
}

it('gets a signed index and a package of the mirror of this machine twice, the second time without it', async (context) => {
  need(context, 'apt-get', 'dpkg-deb', 'curl');
  const mirror = await findMirror(context);
  await using forwarder = await startForwarder({ upstream: mirror.uri, proxy: mirror.proxy });
  await using node = await startClientNode('--allow-private');
  const source = `deb [signed-by=${mirror.keyring}] ${forwarder.origin} ${mirror.suite} main`;
  const sums: string[] = [];
  let asked = 0;
  for (const time of [0, 1]) {
    asked = forwarder.asked.length;
    const apt = await makeAptRoot(
      join(folder, `real-${time}`),
      source,
      node.url,
      'Acquire::http::Max-Age "600";',
      // A mirror that stands still is none the worse for this test.
      'Acquire::Check-Valid-Until "false";',
    );
    await apt.get('update');
    await apt.get('download', await smallestPackage(join(folder, `real-${time}`), context));
    const [file] = readdirSync(apt.downloads);
    sums.push(fileSha256(join(apt.downloads, file!)));
    await run('dpkg-deb', ['--info', join(apt.downloads, file!)]);
  }
  expect(asked).toBeGreaterThanOrEqual(3);
  expect(sums[0]).toBe(sums[1]);
  expect(forwarder.asked.slice(asked)).toEqual([]);
});

it('gets an index of that mirror directly, as often as the mirror wants it asked', async (context) => {
  need(context, 'apt-get', 'curl');
  const mirror = await findMirror(context);
  if (mirror.proxy !== undefined) context.skip('the mirror is reached by another proxy only');
  // Also where the mirror's address is one that the node takes for special: private, or kept for
  // documents.
  const addresses = await lookup(mirror.uri.hostname, { all: true });
  const allowed = addresses.flatMap(({ address }) => ['--allow-address', address]);
  await using node = await startClientNode('--allow-private', ...allowed);
  const url = `${mirror.uri.href.replace(/\/$/, '')}/dists/${mirror.suite}/InRelease`;
  const direct = (await run('curl', ['-sSf', '-m', '30', url])).stdout;
  const args = ['-sSf', '-m', '30', '-x', node.url, url];
  const first = await run('curl', ['-D', join(folder, 'head'), ...args]);
  const second = await run('curl', args);
  expect([sha256(first.stdout), sha256(second.stdout)]).toEqual([sha256(direct), sha256(direct)]);
  const head = readFileSync(join(folder, 'head'), 'latin1');
  const { requests } = await node.status();
  const kept =
    /^(?:cache-control:.*max-age=[1-9]|last-modified:)/im.test(head) && !/no-store|private/i.test(head);
  expect(requests).toMatchObject(kept ? { miss: 1, total: 2 } : { miss: 2, total: 2 });
});

/**
 * The first plain http source of this machine, and of its suites the one with updates: the
 * smallest.
 */
async function findMirror(context: TestContext): Promise<Mirror> {
  const found = readSources().find(({ uri }) => uri.protocol === 'http:');
  if (found === undefined) return context.skip('apt of this machine has no source by plain http');
  const { stdout } = await run('apt-config', ['shell', 'PROXY', 'Acquire::http::Proxy']);
  const configured = /^PROXY='(http:\/\/[^']+)'/.exec(stdout.toString())?.[1];
  const proxy = configured === undefined ? undefined : new URL(configured);
  const url = `${found.uri.href.replace(/\/$/, '')}/dists/${found.suite}/InRelease`;
  const reached = await runAny('curl', [
    ...['-sSf', '-m', '10', '-o', '/dev/null', ...(proxy === undefined ? [] : ['-x', proxy.href])],
    url,
  ]);
  if (reached.code !== 0)
    return context.skip(`the mirror of this machine is not reachable: ${reached.stderr}`);
  return { ...found, proxy };
}

function readSources(): Omit<Mirror, 'proxy'>[] {
  const folders = ['/etc/apt', '/etc/apt/sources.list.d'].filter((path) => existsSync(path));
  const files = folders.flatMap((path) => readdirSync(path).map((name) => join(path, name)));
  const found: Omit<Mirror, 'proxy'>[] = [];
  const add = (uri: string, suites: string[], keyring: string) => {
    const suite = suites.find((name) => name.endsWith('-updates')) ?? suites[0];
    if (suite !== undefined && URL.canParse(uri)) found.push({ uri: new URL(uri), suite, keyring });
  };
  const standard = '/usr/share/keyrings/debian-archive-keyring.gpg';
  for (const file of files.filter((path) => path.endsWith('.list'))) {
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const parts = /^deb\s+(?:\[([^\]]*)\]\s*)?(\S+)\s+(\S+)\s.*\bmain\b/.exec(line);
      if (parts === null) continue;
      add(parts[2]!, [parts[3]!], /signed-by=(\S+)/.exec(parts[1] ?? '')?.[1] ?? standard);
    }
  }
  for (const file of files.filter((path) => path.endsWith('.sources'))) {
    for (const stanza of readFileSync(file, 'utf8').split(/\n\s*\n/)) {
      const field = (name: string) => new RegExp(`^${name}:[ \\t]*(.+)$`, 'im').exec(stanza)?.[1]?.trim();
      if (field('Types')?.includes('deb') !== true || field('Components')?.includes('main') !== true)
        continue;
      for (const uri of field('URIs')?.split(/\s+/) ?? [])
        add(uri, field('Suites')?.split(/\s+/) ?? [], field('Signed-By') ?? standard);
    }
  }
  return found.filter(({ keyring }) => existsSync(keyring));
}

/** The smallest package of the index that apt has just fetched. */
async function smallestPackage(root: string, context: TestContext): Promise<string> {
  const env = { APT_CONFIG: join(root, 'apt.conf') };
  const { stdout } = await run('apt-cache', ['dumpavail'], { env });
  const sizes = stdout
    .toString()
    .split('\n\n')
    .map((stanza) => ({
      name: /^Package: (.+)$/m.exec(stanza)?.[1],
      size: Number(/^Size: (\d+)$/m.exec(stanza)?.[1] ?? Number.POSITIVE_INFINITY),
    }))
    .sort((a, b) => a.size - b.size);
  return sizes[0]?.name ?? context.skip('the suite of the mirror is empty');
}
